"""The backend of docs/how-to/library.md with scikit-build-core and meson-python, called by `python -m build` with its
isolated environments. What loads where is from the release index: torch 2.4-2.8 exports `data_ptr<float>()`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.programs import run_program

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "how-to" / "library.md").read_text(encoding="utf-8")
GOOD, BAD = "t.data_ptr<float>()", "t.never_released()"
HEADER = """
namespace at { struct TensorBase { template <class T> T* data_ptr() const; float* never_released() const; }; }
"""
SOURCE = '#include "torch.h"\nextern "C" float* f(at::TensorBase& t) {{ return {}; }}\n'
# In place of torch's, to link with.
LIBRARY = """
#include "torch.h"
template <> float* at::TensorBase::data_ptr<float>() const { return nullptr; }
float* at::TensorBase::never_released() const { return nullptr; }
"""
CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(pkg CXX)
add_library(torch_cpu SHARED torch.cpp)
add_library(_C MODULE ext.cpp)
set_target_properties(_C PROPERTIES PREFIX "")
target_link_libraries(_C PRIVATE torch_cpu)
install(TARGETS _C DESTINATION pkg)
"""
MESON = """
project('pkg', 'cpp', version: '1')
py = import('python').find_installation(pure: false)
torch = shared_library('torch_cpu', 'torch.cpp')
shared_module('_C', 'ext.cpp', name_prefix: '', link_with: torch, install: true,
  install_dir: py.get_install_dir() / 'pkg')
"""
BACKENDS = {
    "scikit-build-core": ("scikit_build_core.build", "CMakeLists.txt", CMAKE),
    "meson-python": ("mesonpy", "meson.build", MESON),
}


def example(name: str, language: str) -> str:
    (found,) = re.findall(rf"<!-- example: {name} -->\n```{language}\n(.*?)```", PAGE, re.DOTALL)
    text: str = found
    return text


@pytest.mark.packaging
@pytest.mark.parametrize("expression", [GOOD, BAD], ids=["loads", "fails"])
@pytest.mark.parametrize("name", BACKENDS)
def test_a_wheel_that_does_not_load_is_not_built(tmp_path: Path, name: str, expression: str) -> None:
    module, build_file, build = BACKENDS[name]
    backend = example("backend", "python")
    assert backend.count("setuptools.build_meta") == 2
    (tmp_path / "_backend.py").write_text(backend.replace("setuptools.build_meta", module))
    # The library has the name of torch's, so the build needs no torch.
    system = example(name, "toml").replace('"torch>=2.4,<2.9", "abiscan"', f'"abiscan @ {ROOT.as_uri()}"')
    project = '[project]\nname = "pkg"\nversion = "1"\ndependencies = ["torch>=2.4,<2.9"]\n'
    (tmp_path / "pyproject.toml").write_text(f"{system}{project}")
    (tmp_path / build_file).write_text(build)
    (tmp_path / "torch.h").write_text(HEADER)
    (tmp_path / "torch.cpp").write_text(LIBRARY)
    (tmp_path / "ext.cpp").write_text(SOURCE.format(expression))
    frontend = shutil.which("pyproject-build")
    assert frontend is not None, "pip install build"
    done = run_program([frontend, "--wheel", "--outdir", "dist", "."], cwd=tmp_path)
    said = done.stdout + done.stderr
    assert (done.returncode == 0) == (expression == GOOD), said
    assert ("FAILS" in said) == (expression == BAD), said
    assert ("never_released" in said) == (expression == BAD)
