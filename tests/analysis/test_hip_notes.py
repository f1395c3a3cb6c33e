"""Notes on released sources that compile with some releases of HIP only.

Oracle: pytorch_scatter pull request 411 and the compiled sources in the package catalogue: shuffles of c10::Half in
torch-scatter 2.1.2 are ambiguous from HIP 5.6 on."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.analysis.merge import hip_notes
from abiscan.model.report import ArtifactReport
from tests.report.samples import failing


def _artifact(path: Path) -> ArtifactReport:
    return replace(failing(), path=str(path), member=None)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("torch_scatter-2.1.2/csrc/cuda/a.cu", ("2.1.2 compiles with HIP before 5.6", "pytorch_scatter.git")),
        ("torch_scatter-2.0.9/csrc/cuda/a.cuh", ("2.0.9 is not known", "torch-scatter==2.1.2")),
        ("torch_scatter-2.1.2/csrc/cpu/a.cpp", ()),
        ("other-2.1.2/csrc/cuda/a.cu", ()),
        ("csrc/cuda/a.cu", ()),
    ],
)
def test_sources_of_a_release(path: str, words: tuple[str, ...]) -> None:
    notes = " ".join(hip_notes([_artifact(Path(path))]))
    assert bool(notes) is bool(words)
    assert all(word in notes for word in words)
