"""`--gpu`: predictions for fixtures whose images are listed by cuobjdump and clang-offload-bundler."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from abiscan.environment.gpus_here import gpus_here, processor_of
from tests.fixtures.wheels import make_wheel
from tests.programs import run_abiscan
from tests.tables import table_rows

pytestmark = pytest.mark.slow


def abiscan(*args: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ) if path is None else {**os.environ, "PATH": path}
    return run_abiscan("scan", "--torch", "2.13.0", *args, env=environment)


@table_rows
def test_exit_status(gpu: str, name: str, status: int, fixtures_dir: Path) -> None:
    done = abiscan("--gpu", gpu, str(fixtures_dir / name))
    assert done.returncode == status, done.stdout + done.stderr
    assert ("no kernel image is available" in done.stdout) == (status == 1)


@table_rows
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
def test_an_invalid_driver_is_a_usage_error(arguments: tuple[str, ...], fixtures_dir: Path) -> None:
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
    assert "is unknown" in done.stdout


@pytest.mark.parametrize(("members", "status"), [(("rocm", "cuda"), 0), (("rocm",), 1)])
def test_a_build_for_another_gpu_does_not_fail_its_wheel(
    members: tuple[str, ...], status: int, fixtures_dir: Path, tmp_path: Path
) -> None:
    built = {"rocm": "gpu-hip.so", "cuda": "gpu-cuda.so"}
    wheel = make_wheel(tmp_path, {f"x/{folder}/ops.so": built[folder] for folder in members}, name="x")
    done = abiscan("--gpu", "sm_80", str(wheel))
    assert done.returncode == status, done.stdout


@pytest.mark.parametrize("gpu", ["hopper", "compute_90", "gfx9-generic", "amdgcnspirv", "", "sm_90;sm_80"])
def test_an_invalid_gpu_is_a_usage_error(gpu: str, fixtures_dir: Path) -> None:
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
    # Nodes of the kernel: a CPU, an MI210, an MI300X (values of rocminfo on such machines).
    for number, version in enumerate((0, 90010, 90402)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "properties").write_text(
            f"cpu_cores_count 0\ngfx_target_version {version}\nvendor_id 4098\n"
        )
    assert [str(gpu) for gpu in gpus_here("", str(tmp_path))] == ["gfx90a", "gfx942"]
    assert processor_of(110501) == "gfx1151"


def test_the_kernels_of_the_target_torch_are_checked_too(fixtures_dir: Path) -> None:
    """Once per run, and only for files of torch; `torch.cuda.get_arch_list()` of 2.13.0+cu130 begins with sm_75."""
    files = [str(fixtures_dir / name) for name in ("good-extension.so", "stable-abi.so", "empty-library.so")]
    for named, told in ((files, 1), (files[2:], 0)):
        notes = json.loads(abiscan("--gpu", "sm_70", "-f", "json", *named).stdout)["notes"]
        assert len([n for n in notes if "torch 2.13.0 (cu130) itself has no kernel image for sm_70" in n]) == told


@pytest.mark.parametrize(("gpu", "told"), [("sm_90", 0), ("sm_101", 0), ("sm_35", 0), ("gfx942", 0), ("sm_900", 1)])
def test_a_gpu_in_no_list_is_reported(gpu: str, told: int, fixtures_dir: Path) -> None:
    notes = json.loads(abiscan("--gpu", gpu, "-f", "json", str(fixtures_dir / "gpu-cuda.so")).stdout)["notes"]
    assert len([n for n in notes if "no GPU sm_900 (compute capability 90.0) is known" in n]) == told
