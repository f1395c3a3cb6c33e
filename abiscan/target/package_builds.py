"""Releases of torch that a package with several builds of a module supports."""

from __future__ import annotations

from collections.abc import Iterable

from abiscan.model.finding import Severity
from abiscan.model.report import ArtifactReport
from abiscan.target.build_names import without_build


def covered(members: Iterable[tuple[str, frozenset[str]]]) -> tuple[frozenset[str], bool]:
    """The releases that a package supports, and whether it ships alternative builds. Alternative builds are builds of
    one module that load on different releases (`libx_torch24.so`, `libx_torch25.so`), or members without a common
    release. Otherwise all members must load.

    Args:
        members: (module name by `without_build`, releases that the build loads on).
    """
    builds: dict[str, set[frozenset[str]]] = {}
    for module, releases in members:
        builds.setdefault(module, set()).add(releases)
    if not builds:
        return frozenset(), False
    each = [frozenset[str]().union(*found) for found in builds.values()]
    together = frozenset.intersection(*each)
    return together or frozenset.union(*each), not together or any(len(found) > 1 for found in builds.values())


def verified_releases(members: Iterable[ArtifactReport]) -> frozenset[str] | None:
    """The releases that advice may name: one build of each module loads, with the CUDA of that torch build and the
    layouts that the file was compiled with. Empty if a member loads on no release; None if nothing is known about any
    member."""
    modules: dict[str, set[str]] = {}
    known = False
    for member in members:
        if member.loads_on is not None and member.replaced_by is None:
            known = True
            wrong = {release for release, severity in member.drifting if severity is Severity.ERROR}
            module = without_build(member.member or member.path, member.provenance.cuda)
            modules.setdefault(module, set()).update(set(member.loads_on) - wrong)
    if not known:
        return None
    return frozenset(set.intersection(*modules.values())) if modules else frozenset()
