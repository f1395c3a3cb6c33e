"""Notes on released sources that compile with some releases of HIP only.

Oracle: pytorch_scatter pull request 411 and the compiled sources in the package catalogue: shuffles of c10::Half in
torch-scatter 2.1.2 are ambiguous from HIP 5.6 on."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from abiscan.analysis.merge import hip_notes
from abiscan.model.report import ArtifactReport
from tests.report.samples import failing
from tests.tables import table_rows


def _artifact(path: Path) -> ArtifactReport:
    return replace(failing(), path=str(path), member=None)


@table_rows
def test_sources_of_a_release(path: str, words: tuple[str, ...]) -> None:
    notes = " ".join(hip_notes([_artifact(Path(path))]))
    assert bool(notes) is bool(words)
    assert all(word in notes for word in words)
