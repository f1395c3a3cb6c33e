"""Notes on released sources with device code that does not compile with every HIP."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from abiscan.model.report import ArtifactReport

# Below the root of an archive of sources: `torch_scatter-2.1.2/csrc/cuda/utils.cuh`.
_OF_RELEASE = r"(?:^|[/!])([A-Za-z]\w{0,63})-(\d[\w.]{0,31})/(?:[^/]{1,255}/){0,8}[^/]{1,255}$"


def hip_notes(artifacts: Iterable[ArtifactReport]) -> Iterator[str]:
    """A note for each release with known device code: which sources to build with HIP instead."""
    paths = (artifact.member or artifact.path for artifact in artifacts)
    found = (re.search(_OF_RELEASE, path) for path in paths if path.endswith((".cu", ".cuh")))
    releases = {each.groups() for each in found if each is not None}
    if not releases:
        return
    from abiscan.diagnosis.fixes.hip_sources import hip_note

    for name, version in sorted(releases):
        note = hip_note(name.replace("_", "-").lower(), version)
        if note is not None:
            yield note
