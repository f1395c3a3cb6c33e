"""The note on a torch that has no kernels for a GPU; its library is a fixture whose images cuobjdump lists."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from abiscan.analysis.kernels_on import torchs_own
from abiscan.environment.installed_torch import InstalledTorch
from abiscan.model.gpu_architecture import parse_architecture


@pytest.mark.parametrize(("gpu", "told"), [("sm_75", True), ("sm_80", False), ("gfx942", True)])
def test_a_torch_without_kernels_for_the_gpu(gpu: str, told: bool, fixtures_dir: Path, tmp_path: Path) -> None:
    library = tmp_path / "libtorch_cuda.so"
    shutil.copyfile(fixtures_dir / "gpu-cuda.so", library)
    torch = InstalledTorch(
        root=str(tmp_path),
        library_dir=str(tmp_path),
        libraries=(str(tmp_path / "libtorch.so"), str(library)),
        extension=None,
        version="2.13.0+cu130",
        torch="2.13.0",
        variant="cu130",
        cuda="13.0",
        hip=None,
        git_revision=None,
        cxx11_abi=True,
        machine="x86_64",
        python=None,
    )
    parsed = parse_architecture(gpu)
    assert parsed is not None
    notes = list(torchs_own(torch, [parsed]))
    assert [f"no kernel image for {gpu}" in note for note in notes] == ([True] if told else [])
