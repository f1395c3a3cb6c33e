"""GPUs that device code supports: tables of NVIDIA's and AMD's documentation, and of torch."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from abiscan.model.device_code import DeviceCode, DeviceImages, GpuImage, GpuModule
from abiscan.model.gpu_architecture import Runs, code_runs, module_runs, parse_architecture, runs_on
from tests.tables import table_rows


def on(gpu: str, *images: str) -> Runs:
    parsed = parse_architecture(gpu)
    assert parsed is not None
    return module_runs(GpuModule(images, 1), parsed)


# CUDA C++ Programming Guide: "Binary Compatibility", "PTX Compatibility", "Family-Specific Features".
@table_rows
def test_nvidia(image: str, runs: str, fails: str) -> None:
    for gpus, expected in ((runs, Runs.YES), (fails, Runs.NO)):
        for gpu in gpus.split():
            assert on(f"sm_{gpu}", image) is expected, gpu


DEVICES = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121)


@pytest.mark.torch
def test_machine_code_runs_on_the_gpus_of_torch() -> None:
    told = "{code: [d for d in devices if d in rule] for code, rule in torch.cuda.DEVICE_REQUIREMENT.items()}"
    script = f"import json, torch.cuda; devices = {DEVICES}; print(json.dumps({told}))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    for code, devices in json.loads(done.stdout).items():
        assert [device for device in DEVICES if on(f"sm_{device}", f"sm_{code}") is Runs.YES] == devices, code


# AMDGPUUsage, "Target ID" and the table of generic processors.
@table_rows
def test_amd(gpu: str, images: tuple[str, ...], answer: Runs) -> None:
    assert on(gpu, *images) is answer


def code(*modules: GpuModule, unread: str | None = None) -> DeviceImages:
    return DeviceImages((GpuImage("sm_80", DeviceCode.MACHINE_CODE, 1),), modules, unread)


@pytest.mark.parametrize(
    ("images", "answer"),
    [
        (code(GpuModule(("sm_80",), 1), GpuModule(("sm_90a",), 3)), Runs.YES),
        (code(GpuModule(("sm_80",), 1)), Runs.NO),
        (code(GpuModule(("sm_80",), 1), unread="damaged"), Runs.UNKNOWN),
        # nvcc's documentation, "JIT Object Linking": the driver links all parts again that have PTX or code for the
        # GPU.
        (code(GpuModule(("sm_80",), 1), GpuModule(("sm_80", "compute_80"), 1, relocatable=True)), Runs.YES),
        (
            code(
                GpuModule(("sm_80",), 1),
                GpuModule(("sm_80", "compute_80"), 1, relocatable=True),
                GpuModule(("sm_80",), 1, relocatable=True),
            ),
            Runs.NO,
        ),
    ],
)
def test_a_file_of_several_modules(images: DeviceImages, answer: Runs) -> None:
    h100 = parse_architecture("9.0")
    assert h100 is not None
    assert code_runs(images, h100) is answer


@table_rows
def test_names(text: str, shown: str) -> None:
    assert str(parse_architecture(text)) == shown


@pytest.mark.parametrize("text", ["", "sm_", "sm_9", "hopper", "gfx", "gfx90a:xnack", "sm_90b", "9", "sm_90 "])
def test_invalid_names(text: str) -> None:
    assert parse_architecture(text) is None


def test_an_unknown_architecture_may_run() -> None:
    h100 = parse_architecture("sm_90")
    assert h100 is not None
    assert runs_on("sm_90z", h100) is Runs.UNKNOWN
