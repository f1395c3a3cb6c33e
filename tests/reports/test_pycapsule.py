"""A pybind11 module under `torch.compile(fullgraph=True)`, as in docs/tutorials/pycapsule.md.

The oracles are Dynamo, which prints the error and traces the registered functions, the values of the eager functions,
and `torch.library.opcheck`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from abiscan.binary import open_binary
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.model.cause import CauseId
from tests import torch_here
from tests.diagnosis.explained import explain
from tests.programs import run_program

SOURCE = Path(__file__).parents[2] / "docs/tutorials/files/lltm.cpp"
COMPILER = shutil.which("g++")
# What the module needs of this header: all of it takes three times as long.
EXTENSION = """
#define AT_PER_OPERATOR_HEADERS
#include <ATen/TensorOperators.h>
#include <torch/csrc/utils/pybind.h>
namespace torch { using at::Tensor; }
"""
CALL = """
import torch
import {module}
def f(x):
    out = torch.empty_like(x)
    {module}.rms_norm(out, x)
    return {module}.forward(x, 1.0) + out
x = torch.arange(4.0)
print(f(x).tolist(), torch.compile(f, fullgraph=True, backend="eager")(x).tolist())
"""
CHECK = """
torch.library.opcheck({module}.forward, (x, 1.0))
torch.library.opcheck({module}.rms_norm, (torch.empty_like(x), x))
"""

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.skipif(COMPILER is None, reason="no g++ here")]


def python(text: str, directory: Path) -> subprocess.CompletedProcess[str]:
    libraries = {"LD_LIBRARY_PATH": str(torch_here.directory() / "lib")}
    return run_program([sys.executable, "-W", "ignore", "-c", text], cwd=directory, env={**os.environ, **libraries})


def _follow_template(fix: str, directory: Path) -> None:
    """Fill in the places of the printed lines with what the printed command prints."""
    lines = fix.splitlines()
    command = next(line for line in lines if line.startswith("python -c '"))
    printed = python(command.split("'")[1], directory).stdout
    parameters = printed.partition("(")[2].partition(") -> ")[0]
    parameters = re.sub(r"typing\.SupportsFloat[^,]*", "float", parameters)
    names = ", ".join(each.partition(":")[0] for each in parameters.split(", "))
    first = next(at for at, line in enumerate(lines) if line.startswith("from typing import"))
    written = "\n".join(lines[first : first + 5]).replace("RESULT:", "None:", 1)
    written = written.replace("torch.empty_like(TENSOR)", "None")
    text = written.replace("PARAMETERS", parameters).replace("ARGUMENTS", names)
    check = "\nx = torch.arange(4.0)\ntorch.library.opcheck(rms_norm, (torch.empty_like(x), x))"
    done = python(text + check, directory)
    assert done.returncode == 0, done.stderr


def test_a_function_of_pybind11_is_registered(tmp_path: Path) -> None:
    source = tmp_path / "lltm.cpp"
    source.write_text(SOURCE.read_text())
    torch = torch_here.directory()
    header = tmp_path / "include/torch/extension.h"
    header.parent.mkdir(parents=True)
    header.write_text(EXTENSION)
    folders = (tmp_path / "include", torch / "include", sysconfig.get_path("include"))
    command = [str(COMPILER), "-shared", "-fPIC", "-O1", "-std=c++20", "-w", "-fvisibility=hidden"]
    command += [*(f"-I{folder}" for folder in folders), "-DTORCH_EXTENSION_NAME=lltm", str(source)]
    command += [f"-L{torch}/lib", "-lc10", "-ltorch", "-ltorch_cpu", "-ltorch_python", "-o", str(tmp_path / "lltm.so")]
    subprocess.run(command, check=True)
    assert set(open_binary(str(tmp_path / "lltm.so")).bound_functions()) == {"forward", "rms_norm"}

    refused = python(CALL.format(module="lltm"), tmp_path)
    assert refused.returncode == 1
    (subject,) = explain(refused.stderr, Knowledge())
    assert subject.causes[0].cause is CauseId.OP_NOT_REGISTERED
    assert "lltm::rms_norm" in subject.causes[0].fix
    _follow_template(subject.causes[0].fix, tmp_path)

    fix = [sys.executable, "-m", "abiscan", "fix", "--apply", "--force", "lltm.cpp"]
    root = {"PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run(fix, cwd=tmp_path, check=True, capture_output=True, env={**os.environ, **root})
    written = tmp_path / "lltm_operators.py"
    text = written.read_text().replace("MODULE_NAME", "lltm")
    # What the module asks its reader to fill in.
    made, _, rest = text.partition("    raise NotImplementedError")
    written.write_text(f"{made}    return torch.empty_like(x){rest[rest.index(chr(10)) :]}")

    traced = python(CALL.format(module="lltm_operators") + CHECK.format(module="lltm_operators"), tmp_path)
    assert traced.returncode == 0, traced.stderr
    # forward(x, 1.0) is 2x + 1, rms_norm is 3x.
    assert traced.stdout.strip() == "[1.0, 6.0, 11.0, 16.0] [1.0, 6.0, 11.0, 16.0]"
