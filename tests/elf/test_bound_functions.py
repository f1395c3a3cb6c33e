"""Names of functions that pybind11 binds, in code of GCC: inlined, and through several functions. Oracle: names and
signatures in the source; `test_a_real_module` compiles pybind11's own headers."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from abiscan.binary import open_binary
from tests import torch_here
from tests.tables import data_text

COMPILER = shutil.which("g++")
pytestmark = pytest.mark.skipif(
    COMPILER is None or not sysconfig.get_platform().endswith("x86_64"), reason="no g++ for x86-64 here"
)

# pybind11 passes names in objects (`pybind11::name`), and the signature as an argument of `initialize_generic`.
_LIKE_PYBIND = data_text(__file__, "like_pybind.cpp")


def _compiled(directory: Path, source: str, *options: str) -> Path:
    file = directory / "m.cpp"
    file.write_text(source)
    made = directory / "m.so"
    command = [str(COMPILER), "-shared", "-fPIC", "-fvisibility=hidden", *options, str(file), "-o", str(made)]
    subprocess.run(command, check=True)
    return made


@pytest.mark.parametrize("stripped", [(), ("-s",)])
def test_names_with_tensors(tmp_path: Path, stripped: tuple[str, ...]) -> None:
    made = _compiled(tmp_path, _LIKE_PYBIND, "-O0", *stripped)
    assert set(open_binary(str(made)).bound_functions()) == {"forward", "gemm", "ck_moe"}


def test_a_file_without_signatures_has_none(tmp_path: Path) -> None:
    made = _compiled(tmp_path, 'extern "C" const char* f() { return "forward"; }')
    assert open_binary(str(made)).bound_functions() == ()


_MODULE = data_text(__file__, "bound_functions.cpp")


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_a_real_module(tmp_path: Path, optimised: str) -> None:
    options = [f"-I{torch_here.directory()}/include", f"-I{sysconfig.get_path('include')}"]
    made = _compiled(tmp_path, _MODULE, optimised, "-std=c++20", "-w", *options)
    assert set(open_binary(str(made)).bound_functions()) == {"gemm", "ck_moe", "rms_norm"}
