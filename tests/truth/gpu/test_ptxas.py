"""PTX and the GPUs that it is compiled for, compared with NVIDIA's assembler (`ptxas` of the toolkit on PATH, or
ABISCAN_PTXAS): every target and every GPU that it accepts. The driver contains the same compiler. Its errors
"Unsupported .target" and "Unsupported .version" depend on its age, not on compatibility."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from abiscan.model.cuda_driver import toolkit_of_ptx
from abiscan.model.gpu_architecture import Runs, parse_architecture, runs_on
from tests.programs import output_of, run_program

pytestmark = pytest.mark.ptxas

NUMBERS = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121)
# The first GPU with a suffix, and the first CUDA that supports it.
_ARCHITECTURE, _FAMILY, _FAMILY_SINCE = 90, 100, "8.8"
_TOO_NEW = re.compile(r"Unsupported \.(?:target|version)")


@pytest.fixture(scope="module")
def ptxas() -> str:
    found = os.environ.get("ABISCAN_PTXAS") or shutil.which("ptxas")
    if found is None:
        pytest.fail("this test needs ptxas, of a CUDA toolkit")
    return found


@pytest.fixture(scope="module")
def newest(ptxas: str) -> str:
    """The PTX version of this ptxas."""
    told = output_of([ptxas, "--version"])
    release = re.search(r"release (\d+\.\d+)", told)
    assert release is not None
    versions = (f"{major}.{minor}" for major in range(6, 12) for minor in range(10))
    return next(v for v in versions if release[1] in (toolkit_of_ptx(v) or "").split(" or "))


def suffixes(number: int, newest: str) -> list[str]:
    """Suffixes of a GPU number for a compiler of this age; before families, `f` was ignored."""
    family = number >= _FAMILY and float(newest) >= float(_FAMILY_SINCE)
    return ["", *(["a"] if number >= _ARCHITECTURE else []), *(["f"] if family else [])]


def assemble(ptxas: str, directory: Path, version: str, target: str, gpu: str) -> str | None:
    """None if it is assembled, else ptxas' error."""
    source = directory / "kernel.ptx"
    source.write_text(f".version {version}\n.target sm_{target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n")
    command = [ptxas, f"-arch=sm_{gpu}", str(source), "-o", str(directory / "kernel.cubin")]
    done = run_program(command)
    return None if done.returncode == 0 else done.stdout + done.stderr


def test_every_target_for_every_gpu(ptxas: str, newest: str, tmp_path: Path) -> None:
    compared, different = 0, []
    for number in NUMBERS:
        gpu = parse_architecture(f"sm_{number}")
        assert gpu is not None
        for target in (f"{each}{suffix}" for each in NUMBERS for suffix in suffixes(each, newest)):
            errors = [assemble(ptxas, tmp_path, newest, target, f"{number}{s}") for s in suffixes(number, newest)]
            if errors[0] is not None and ("not defined for option" in errors[0] or _TOO_NEW.search(errors[0])):
                continue
            compared += 1
            # Code for one architecture or family needs that name of the GPU.
            if (None in errors) != (runs_on(f"compute_{target}", gpu) is Runs.YES):
                different.append(f"compute_{target} on sm_{number}: ptxas says {errors[0] or 'yes'}")
    assert different == []
    assert compared > 300


def test_it_takes_no_newer_version_than_its_own(ptxas: str, newest: str, tmp_path: Path) -> None:
    """The table of driver branches is the table of their compilers."""
    major, minor = map(int, newest.split("."))
    assert assemble(ptxas, tmp_path, newest, "80", "80") is None
    error = assemble(ptxas, tmp_path, f"{major}.{minor + 1}", "80", "80")
    assert error is not None
    assert "Unsupported .version" in error
