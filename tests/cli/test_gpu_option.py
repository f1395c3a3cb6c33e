"""`--gpu`: what is foretold of the fixtures, whose images are those that cuobjdump and clang-offload-bundler list."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from abiscan.environment.gpus_here import gpus_here, processor_of

pytestmark = pytest.mark.slow


def abiscan(*args: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ) if path is None else {**os.environ, "PATH": path}
    return subprocess.run(
        [sys.executable, "-m", "abiscan", "scan", "--torch", "2.13.0", *args],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


@pytest.mark.parametrize(
    ("gpu", "name", "status"),
    [
        ("sm_80", "gpu-cuda.so", 0),
        ("sm_75", "gpu-cuda.so", 1),
        ("9.0", "gpu-cuda.so", 0),
        ("sm_100", "gpu-cuda-compressed.so", 0),
        ("sm_70", "gpu-cuda-compressed.so", 1),
        ("sm_90", "gpu-cuda-relocatable.so", 0),
        ("sm_75", "gpu-cuda-relocatable.so", 1),
        ("gfx942", "gpu-cuda.so", 1),
        ("gfx942", "gpu-hip.so", 0),
        ("gfx942", "gpu-hip-compressed.so", 0),
        ("gfx1151", "gpu-hip-compressed.so", 0),
        ("gfx908", "gpu-hip-compressed.so", 1),
        ("gfx90a:xnack+", "gpu-hip.so", 0),
        # Without the feature that an image of it is for, nobody knows.
        ("gfx90a:sramecc-", "gpu-hip.so", 3),
        ("sm_90", "gpu-hip.so", 1),
        # One of several that nothing serves suffices.
        ("sm_80,sm_75", "gpu-cuda.so", 1),
        # No device code at all.
        ("sm_90", "empty-library.so", 0),
    ],
)
def test_exit_status(gpu: str, name: str, status: int, fixtures_dir: Path) -> None:
    done = abiscan("--gpu", gpu, str(fixtures_dir / name))
    assert done.returncode == status, done.stdout + done.stderr
    assert ("no kernel image is available" in done.stdout) == (status == 1)


@pytest.mark.parametrize(
    ("gpu", "driver", "name", "status", "text"),
    [
        # nvcc 13.0 wrote the fixture: PTX ISA 9.0, of CUDA 13.0 and driver 580 ("PTX Release History"). On 11.0 nothing
        # but PTX runs, on 8.0 there is machine code.
        ("sm_110", "575.57.08", "gpu-cuda.so", 1, "PTX ISA 9.0, written by CUDA 13.0, and driver 575 ends at 8.8"),
        ("sm_110", "580", "gpu-cuda.so", 0, "as PTX, which driver 580 compiles at the first use"),
        ("sm_80", "575", "gpu-cuda.so", 0, "asks for driver 580 or newer"),
        # A driver never decides of AMD's GPUs, nor what has no image at all.
        ("gfx942", "470", "gpu-hip.so", 0, ""),
        ("sm_75", "575", "gpu-cuda.so", 1, "no kernel image is available on sm_75"),
    ],
)
def test_a_driver_counts_where_it_is_named(
    gpu: str, driver: str, name: str, *, status: int, text: str, fixtures_dir: Path
) -> None:
    done = abiscan("--gpu", gpu, "--driver", driver, "-v", str(fixtures_dir / name))
    assert done.returncode == status, done.stdout + done.stderr
    assert text in " ".join(done.stdout.split())
    without = abiscan("--gpu", gpu, str(fixtures_dir / name))
    assert (without.returncode == 0) == (gpu != "sm_75")
    assert "driver 5" not in without.stdout


@pytest.mark.parametrize(
    "arguments", [("--driver", "535"), ("--driver", "5", "--gpu", "sm_90"), ("--driver", "", "--gpu", "sm_90")]
)
def test_what_is_no_driver_is_a_usage_error(arguments: tuple[str, ...], fixtures_dir: Path) -> None:
    done = abiscan(*arguments, str(fixtures_dir / "gpu-cuda.so"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("abiscan: error: --driver")


def test_device_code_that_cannot_be_read_is_undecided(fixtures_dir: Path, tmp_path: Path) -> None:
    data = (fixtures_dir / "gpu-cuda-compressed.so").read_bytes()
    at = data.index(b"\x50\xed\x55\xba")
    damaged = tmp_path / "x.so"
    damaged.write_bytes(data[: at + 4] + b"\x09" + data[at + 5 :])
    done = abiscan("--gpu", "sm_70", str(damaged))
    assert done.returncode == 3
    assert "cannot be known" in done.stdout


@pytest.mark.parametrize(("members", "status"), [(("rocm", "cuda"), 0), (("rocm",), 1)])
def test_a_build_for_another_gpu_does_not_fail_its_wheel(
    members: tuple[str, ...], status: int, fixtures_dir: Path, tmp_path: Path
) -> None:
    wheel = tmp_path / "x-1-cp311-cp311-linux_x86_64.whl"
    built = {"rocm": "gpu-hip.so", "cuda": "gpu-cuda.so"}
    with zipfile.ZipFile(wheel, "w") as file:
        for folder in members:
            file.writestr(f"x/{folder}/ops.so", (fixtures_dir / built[folder]).read_bytes())
        file.writestr("x-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
        file.writestr("x-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: x\nVersion: 1\n")
    done = abiscan("--gpu", "sm_80", str(wheel))
    assert done.returncode == status, done.stdout


@pytest.mark.parametrize("gpu", ["hopper", "compute_90", "gfx9-generic", "amdgcnspirv", "", "sm_90;sm_80"])
def test_what_is_no_gpu_is_a_usage_error(gpu: str, fixtures_dir: Path) -> None:
    done = abiscan("--gpu", gpu, str(fixtures_dir / "gpu-cuda.so"))
    assert done.returncode == 2
    assert done.stderr.startswith("abiscan: error: --gpu")


def test_the_gpu_that_is_here(fixtures_dir: Path, tmp_path: Path) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 9.0\necho 9.0\necho 12.0\n")
    tool.chmod(0o755)
    done = abiscan(
        "--gpu", "here", "-f", "json", "-q", str(fixtures_dir / "gpu-cuda.so"), path=f"{tmp_path}:/bin:/usr/bin"
    )
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["artifacts"][0]["target"]["device"]["value"] == "sm_90, sm_120"
    assert done.returncode == 0


def test_amds_are_those_of_the_kernel(tmp_path: Path) -> None:
    # Nodes as the kernel has them: a CPU, an MI210, an MI300X (values of rocminfo on such machines).
    for number, version in enumerate((0, 90010, 90402)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "properties").write_text(
            f"cpu_cores_count 0\ngfx_target_version {version}\nvendor_id 4098\n"
        )
    assert [str(gpu) for gpu in gpus_here("", str(tmp_path))] == ["gfx90a", "gfx942"]
    assert processor_of(110501) == "gfx1151"


def test_the_torch_that_a_file_is_judged_against_is_asked_too(fixtures_dir: Path) -> None:
    """Once a run, and for files of torch alone; `torch.cuda.get_arch_list()` of 2.13.0+cu130 begins with sm_75."""
    files = [str(fixtures_dir / name) for name in ("good-extension.so", "stable-abi.so", "empty-library.so")]
    for named, told in ((files, 1), (files[2:], 0)):
        notes = json.loads(abiscan("--gpu", "sm_70", "-f", "json", *named).stdout)["notes"]
        assert len([n for n in notes if "torch 2.13.0 (cu130) itself has no kernel image for sm_70" in n]) == told


@pytest.mark.parametrize(("gpu", "told"), [("sm_90", 0), ("sm_101", 0), ("sm_35", 0), ("gfx942", 0), ("sm_900", 1)])
def test_a_gpu_that_is_in_no_list_is_said(gpu: str, told: int, fixtures_dir: Path) -> None:
    notes = json.loads(abiscan("--gpu", gpu, "-f", "json", str(fixtures_dir / "gpu-cuda.so")).stdout)["notes"]
    assert len([n for n in notes if "no GPU sm_900 (compute capability 90.0) is known" in n]) == told
