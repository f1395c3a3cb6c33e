"""Rewrites, compiled and run for every type: the same output before and after, and no flagged import afterwards.

Oracles: the compiler, the linker (`nm -D`), and the program's own output. torch's headers and libraries are those of
the environment that runs the tests. There is no HIP compiler: a host compiler compiles the kernel in HIP's form, with
`hip_stub` instead of HIP's headers, whose `__ldg` has the same overloads. nvcc compiles it if available."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from abiscan.rules import load_rules
from abiscan.source import FileSet, SourceRules
from abiscan.source.match import places_in
from abiscan.source.rewrites import rewrite_source
from tests.programs import output_of, run_program

SOURCES = Path(__file__).parent / "compiled"
COMPILER = shutil.which("g++")
NVCC = shutil.which("nvcc")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="no g++ here: the rewritten text is tested elsewhere"),
]


def torch_folder() -> Path:
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def rewritten(name: str) -> str:
    made = rewrite_source((SOURCES / name).read_text(), name, SourceRules(load_rules()), FileSet())
    assert made.unchanged == ()
    return made.after


def compiled(source: Path, *options: str) -> subprocess.CompletedProcess[str]:
    include = f"-I{torch_folder()}/include"
    command = [str(COMPILER), "-std=c++20", "-w", include, source, "-o", source.with_suffix(""), *options]
    return run_program(command)


def printed_by(program: Path) -> str:
    done = run_program([str(program)])
    assert done.returncode == 0, done.stderr
    return done.stdout


def imports_of(program: Path) -> str:
    return output_of(["nm", "-D", "-u", str(program)])


@pytest.mark.torch
def test_accessors_and_error_macros(tmp_path: Path) -> None:
    libraries = torch_folder() / "lib"
    options = (f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-ltorch_cpu", "-lc10")
    outputs, imports = [], []
    for name, text in (("before", (SOURCES / "accessors.cpp").read_text()), ("after", rewritten("accessors.cpp"))):
        source = tmp_path / f"{name}.cpp"
        source.write_text(text)
        done = compiled(source, *options)
        assert done.returncode == 0, done.stderr
        outputs.append(printed_by(tmp_path / name))
        imports.append(imports_of(tmp_path / name))
    assert outputs[0] == outputs[1]
    assert "ComplexDouble" in outputs[0]
    assert "14const_data_ptr" in imports[0]
    assert "14const_data_ptr" not in imports[1]


@pytest.mark.torch
def test_members_in_another_form(tmp_path: Path) -> None:
    """The flagged lines are those that the compiler rejects, and it accepts every line after the rewrite."""
    source = tmp_path / "storages.cpp"
    text = (SOURCES / source.name).read_text()
    source.write_text(text)
    said = compiled(source, "-fsyntax-only").stderr
    rejected = {int(line) for line in re.findall(r"(?m)^\S*storages\.cpp:(\d+):\d+: error", said)}
    flagged = places_in(text, source.name, SourceRules(load_rules()), FileSet(), "2.13.0")
    assert {text.count("\n", 0, place.at) + 1 for place in flagged} == rejected
    assert {place.rule.id for place in flagged} == {"removed-name"}
    source.write_text(rewritten(source.name))
    done = compiled(source, "-fsyntax-only")
    assert done.returncode == 0, done.stderr


@pytest.mark.torch
def test_load_of_half_under_hip(tmp_path: Path) -> None:
    shutil.copy(SOURCES / "load_main.cpp", tmp_path / "load_main.cpp")
    options = ("-x", "c++", "-DUSE_ROCM", f"-I{SOURCES / 'hip_stub'}", "-include", "hip/hip_runtime.h")
    shutil.copy(SOURCES / "load.cu", tmp_path / "load.cu")
    before = compiled(tmp_path / "load_main.cpp", *options)
    assert "no matching function for call to" in before.stderr
    assert "__ldg" in before.stderr
    (tmp_path / "load.cu").write_text(rewritten("load.cu"))
    after = compiled(tmp_path / "load_main.cpp", *options)
    assert after.returncode == 0, after.stderr
    assert printed_by(tmp_path / "load_main").split() == [
        *("float", "double", "int", "int64", "int16", "int8", "uint8", "bfloat16", "half")
    ]


@pytest.mark.torch
@pytest.mark.skipif(NVCC is None, reason="no nvcc here")
def test_load_of_half_under_cuda(tmp_path: Path) -> None:
    """For the host and a device, with a launch for each type."""
    launches = "".join(
        f"template <> void launch<{name}>() {{ copy_kernel<{name}><<<1, 1>>>(nullptr, nullptr, 0); }}\n"
        for name in ("float", "double", "int", "int64_t", "short", "unsigned char", "c10::BFloat16", "c10::Half")
    )
    source = tmp_path / "load.cu"
    source.write_text(rewritten("load.cu") + "template <typename T> void launch();\n" + launches)
    include = f"-I{torch_folder()}/include"
    done = run_program([str(NVCC), "-std=c++20", "-w", "-c", include, source, "-o", tmp_path / "load.o"])
    assert done.returncode == 0, done.stderr


@pytest.mark.torch
def test_a_whole_project(tmp_path: Path) -> None:
    """It compiles before and after, then without a flagged import, and no rewrite is left."""
    project = tmp_path / "project"
    shutil.copytree(SOURCES / "project", project)
    for command in (("init", "-q"), ("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")):
        subprocess.run(["git", *command], cwd=project, check=True)
    whole = tmp_path / "whole.cpp"
    whole.write_text("".join(f'#include "{source}"\n' for source in project.rglob("*.cpp")))
    assert object_of(whole).count("14const_data_ptr") == 2  # of float and of int64_t

    fix = [sys.executable, "-m", "abiscan", "fix", "--apply", "."]
    done = subprocess.run(fix, cwd=project, capture_output=True, text=True, check=True)
    assert "wrote 4 files (const-data-ptr, half-intrinsic, removed-macros, tensor-data)" in done.stderr

    assert "14const_data_ptr" not in object_of(whole)
    # The kernel in the header reads scalar_t, which includes Half, and int64_t.
    kernel = (project / "csrc/cuda/gather.cuh").read_text()
    assert "out[at] = *(src + __ldg(index + at));" in kernel
    again = subprocess.run(fix, cwd=project, capture_output=True, text=True, check=True)
    assert "nothing to rewrite" in again.stderr


def object_of(source: Path) -> str:
    """The imports of a source's object file."""
    made = compiled(source, "-c", "-fPIC")
    assert made.returncode == 0, made.stderr
    return output_of(["nm", "-u", source.with_suffix("")])
