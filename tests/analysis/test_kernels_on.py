"""The note on a torch without kernels for a GPU; its library is a fixture with images listed by cuobjdump."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.analysis.kernels_on import check_kernels, notes_on_installed_torch, notes_on_released_torch
from abiscan.environment.installed_torch import InstalledTorch
from abiscan.model.device_code import DeviceCode, DeviceImages, GpuImage, GpuModule
from abiscan.model.gpu_architecture import parse_architecture
from abiscan.releases import open_index


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
    notes = list(notes_on_installed_torch(torch, [parsed]))
    assert [f"no kernel image for {gpu}" in note for note in notes] == ([True] if told else [])


@pytest.mark.parametrize(
    ("torch", "gpu", "told"),
    [
        # torch.cuda.get_arch_list() of 2.5.1+cu124 ends with sm_90 (pytorch issue 145949); 2.13.0 begins with sm_75.
        *(("2.5.1", "sm_120", True), ("2.5.1", "sm_90", False), ("2.13.0", "sm_70", True), ("2.13.0", "sm_121", False)),
        ("2.13.0", "gfx942", True),
    ],
)
def test_a_released_torch_without_kernels_for_the_gpu(torch: str, gpu: str, told: bool) -> None:
    parsed = parse_architecture(gpu)
    assert parsed is not None
    (build,) = [b for b in open_index().builds("x86_64") if b.torch == torch]
    notes = list(notes_on_released_torch(build, [parsed]))
    assert [f"no kernel image for {gpu}" in note for note in notes] == ([True] if told else [])
    # The list of a build in the user's own index is unknown.
    (note,) = notes_on_released_torch(replace(build, user=True), [parsed])
    assert "is unknown" in note


def test_a_torch_for_the_cpu_has_no_kernels_to_ask_for() -> None:
    (build,) = [b for b in open_index().builds("aarch64") if b.torch == "2.8.0"]
    parsed = parse_architecture("sm_90")
    assert parsed is not None
    assert list(notes_on_released_torch(build, [parsed])) == []


@pytest.mark.parametrize(
    ("image", "ptx", "driver"),
    [
        # PTX ISA, "PTX Release History"; CUDA 12.5 and 12.6 write 8.5.
        *(
            ("compute_80", "9.0", "a driver for CUDA 13.0 or newer"),
            ("compute_80", "8.5", "a driver for CUDA 12.5 or newer"),
        ),
        *(("compute_80", "99.0", "the driver"), ("compute_80", None, "the driver"), ("sm_80", None, None)),
    ],
)
def test_which_driver_compiles_the_ptx(image: str, ptx: str | None, driver: str | None) -> None:
    code = DeviceCode.MACHINE_CODE if driver is None else DeviceCode.PTX
    newer = GpuImage("compute_90", DeviceCode.PTX, 1, ptx_version="9.1")  # not supported there
    device = DeviceImages((GpuImage(image, code, 1, ptx_version=ptx), newer), (GpuModule((image, "compute_90"), 1),))
    gpu = parse_architecture("sm_86")
    assert gpu is not None
    notes = check_kernels(device, [gpu], "x").notes
    expected = (
        [] if driver is None else [f"its device code runs on sm_86 as PTX, which {driver} compiles at the first use"]
    )
    assert list(notes) == expected
