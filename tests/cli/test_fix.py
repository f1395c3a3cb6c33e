"""`abiscan fix` as a user runs it. Oracles: `git apply` for diffs, `git status` for committed files."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.programs import run_abiscan

SOURCE = 'void f(at::Tensor t) {\n  const float* p = t.const_data_ptr<float>();\n  AT_ERROR("\xe9");\n}'.encode(
    "latin-1"
)
AFTER = SOURCE.replace(b"const_data_ptr", b"data_ptr").replace(b"AT_ERROR(", b"TORCH_CHECK(false, ")


def run(*args: str, cwd: Path, path: str | None = None) -> subprocess.CompletedProcess[bytes]:
    done = run_abiscan("fix", *args, cwd=cwd, env=os.environ | ({} if path is None else {"PATH": path}))
    output, error = (text.encode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, output, error)


def git(*args: str, cwd: Path, stdin: bytes = b"") -> bytes:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *args], cwd=cwd, input=stdin, capture_output=True, check=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "a.cpp").write_bytes(SOURCE)
    (tmp_path / "csrc" / "clean.cpp").write_text("int main() {}\n")
    git("init", "-q", cwd=tmp_path)
    git("add", "-A", cwd=tmp_path)
    git("commit", "-q", "-m", "x", cwd=tmp_path)
    return tmp_path


def test_diff_is_what_git_applies(repository: Path) -> None:
    done = run("csrc", cwd=repository)
    assert done.returncode == 0
    assert (repository / "csrc" / "a.cpp").read_bytes() == SOURCE
    assert b"1 file would change" in done.stderr
    git("apply", cwd=repository, stdin=done.stdout)
    assert (repository / "csrc" / "a.cpp").read_bytes() == AFTER


@pytest.mark.parametrize(
    ("cwd", "paths", "folder"),
    [
        ("elsewhere", ["../csrc"], "../csrc"),
        ("elsewhere", ["../csrc/a.cpp"], "../csrc"),
        ("elsewhere", ["../csrc/a.cpp", "../other dir"], ".."),
        ("csrc", ["../csrc", "../other dir"], ".."),
        (".", ["csrc/../csrc", "other dir"], "."),
    ],
)
def test_a_diff_of_files_elsewhere_names_its_directory(
    repository: Path, cwd: str, paths: list[str], folder: str
) -> None:
    (repository / "elsewhere").mkdir()
    (repository / "other dir").mkdir()
    (repository / "other dir" / "b.cpp").write_bytes(SOURCE)
    done = run(*paths, cwd=repository / cwd)
    assert b"../" not in done.stdout
    told = f"git -C {folder} apply" in done.stderr.decode()
    assert told == (folder != ".")
    # GNU patch with the printed command, and git.
    at = (repository / cwd / folder).resolve()
    git("apply", "--check", cwd=at, stdin=done.stdout)
    subprocess.run(["patch", "-s", "-d", str(at), "-p1"], input=done.stdout, check=True)
    for path in paths:
        for name in ("a.cpp", "b.cpp"):
            file = (repository / cwd / path).resolve()
            file = file / name if file.is_dir() else file
            assert not file.exists() or file.read_bytes() == AFTER


def test_apply_writes_what_is_committed(repository: Path) -> None:
    assert run("--apply", "csrc", cwd=repository).returncode == 0
    assert (repository / "csrc" / "a.cpp").read_bytes() == AFTER
    assert git("status", "--porcelain", cwd=repository) == b" M csrc/a.cpp\n"


def test_apply_spares_what_is_not_committed(repository: Path) -> None:
    changed = SOURCE + b"\n// mine"
    (repository / "csrc" / "a.cpp").write_bytes(changed)
    done = run("--apply", "csrc", cwd=repository)
    assert done.returncode == 2
    assert b"neither staged nor committed" in done.stderr
    assert (repository / "csrc" / "a.cpp").read_bytes() == changed
    assert run("--apply", "--force", "csrc", cwd=repository).returncode == 0
    assert (repository / "csrc" / "a.cpp").read_bytes() == AFTER + b"\n// mine"


@pytest.mark.parametrize("name", ["new.cpp", "csrc/../new.cpp"])
def test_apply_spares_what_git_does_not_have(repository: Path, name: str) -> None:
    (repository / "new.cpp").write_bytes(SOURCE)
    done = run("--apply", name, cwd=repository)
    assert done.returncode == 2
    assert b"git does not track it" in done.stderr


def test_outside_of_git(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_bytes(SOURCE)
    assert b"not in a git repository" in run("--apply", "a.cpp", cwd=tmp_path).stderr
    assert b"not in a git repository" in run("--apply", "a.cpp", cwd=tmp_path, path="/nowhere").stderr
    assert (tmp_path / "a.cpp").read_bytes() == SOURCE


def test_repository_runs_nothing(repository: Path) -> None:
    """The repository of another user names programs that git would run: a file monitor, a filter."""
    trap = repository / "trap.sh"
    trap.write_text("#!/bin/sh\ntouch sprung\ncat\n")
    trap.chmod(0o755)
    git("config", "core.fsmonitor", str(trap), cwd=repository)
    git("config", "filter.trap.clean", str(trap), cwd=repository)
    (repository / ".gitattributes").write_text("*.cpp filter=trap\n")
    (repository / "csrc" / "a.cpp").write_bytes(SOURCE + b" ")
    assert run("--apply", "csrc", cwd=repository).returncode == 2
    assert not list(repository.rglob("sprung"))


def test_registration_is_a_new_file(tmp_path: Path) -> None:
    text = 'at::Tensor f(at::Tensor x);\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }\n'
    (tmp_path / "bind.cpp").write_text(text)
    (tmp_path / "setup.py").write_text("CppExtension('pkg._C', ['bind.cpp'])")
    done = run("--select", "op-not-registered", "bind.cpp", cwd=tmp_path)
    assert b"--- /dev/null\n+++ b/bind_operators.py\n" in done.stdout
    assert b"+import pkg._C as _bound\n" in done.stdout
    git("init", "-q", cwd=tmp_path)
    git("apply", cwd=tmp_path, stdin=done.stdout)
    again = run("--select", "op-not-registered", "bind.cpp", cwd=tmp_path)
    assert again.stdout == b""
    assert b"bind_operators.py: exists; not overwritten" in again.stderr


TWO_FUNCTIONS = """#include <torch/extension.h>
at::Tensor f(at::Tensor x);
at::Tensor g(at::Tensor x, double scale);
#define BINDINGS m.def("f", &f); m.def("g", &g, py::arg("data"), py::arg("factor") = 1.0);
"""


def test_registration_of_one_function(tmp_path: Path) -> None:
    """Two sources bind it, one for all kernels and one for a few: one draft, with the names of the binding."""
    (tmp_path / "all.cpp").write_text(TWO_FUNCTIONS + "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { BINDINGS }\n")
    (tmp_path / "one.cpp").write_text(TWO_FUNCTIONS + "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { BINDINGS }\n")
    done = run("--function", "pkg.kernels.g", ".", cwd=tmp_path)
    assert done.stdout.count(b"--- /dev/null\n+++ b/g_operators.py\n") == 1
    assert b"+import pkg.kernels as _bound\n" in done.stdout
    assert b'+@torch.library.custom_op("pkg_kernels::g", ' in done.stdout
    assert b"+def g(data: torch.Tensor, factor: float = 1.0) -> torch.Tensor:\n" in done.stdout
    assert b"def f(" not in done.stdout
    unnamed = run("--function", "g", ".", cwd=tmp_path)
    assert unnamed.stdout.count(b"import MODULE_NAME as _bound") == 1
    assert b"binds `h`" in run("--function", "h", ".", cwd=tmp_path).stderr


def test_two_modules_of_one_folder_bind_a_function(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.cpp").write_text(TWO_FUNCTIONS + f"PYBIND11_MODULE({name}, m) {{ BINDINGS }}\n")
    done = run("--function", "g", ".", cwd=tmp_path)
    drafts = done.stdout.split(b"--- /dev/null\n")[1:]
    assert [re.search(rb"b/(\w+)\.py", draft)[1] for draft in drafts] == [b"g_operators", b"g_operators_2"]  # type: ignore[index]
    assert [re.search(rb"import (\w+) as _bound", draft)[1] for draft in drafts] == [b"one", b"two"]  # type: ignore[index]
    assert b"from g_operators_2 import g\n" in drafts[1]
    assert b"several modules have g" in done.stderr
    (only,) = run("--function", "two.g", ".", cwd=tmp_path).stdout.split(b"--- /dev/null\n")[1:]
    assert b"+++ b/g_operators.py" in only
    assert b"import two as _bound" in only


def test_numbered_draft_that_exists(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.cpp").write_text(TWO_FUNCTIONS + f"PYBIND11_MODULE({name}, m) {{ BINDINGS }}\n")
    assert run("--apply", "--function", "g", ".", cwd=tmp_path).returncode == 0
    for deleted, kept in (("g_operators.py", "g_operators_2.py"), ("g_operators_2.py", "g_operators.py")):
        text = (tmp_path / deleted).read_text()
        (tmp_path / deleted).unlink()
        again = run("--apply", "--function", "g", ".", cwd=tmp_path)
        assert again.returncode == 0
        assert f"{kept}: exists; not overwritten".encode() in again.stderr
        assert (tmp_path / deleted).read_text() == text


def test_equal_sources_are_all_rewritten(tmp_path: Path) -> None:
    """Only drafts of one function may be copies of each other."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.cpp").write_bytes(SOURCE)
    done = run("--function", "f", "--select", "const-data-ptr", ".", cwd=tmp_path)
    assert done.stdout.count(b"\n+++ b/a/k.cpp\n") == done.stdout.count(b"\n+++ b/b/k.cpp\n") == 1
    assert b"several modules" not in done.stderr
    assert b"no PYBIND11_MODULE" not in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("absent.cpp",), b"no such file"),
        (("--function", "a b", "."), b"is no name of a Python function"),
        (("--function", "class", "."), b"is no name of a Python function"),
        (("--function", "pkg.class.f", "."), b"is no name of a Python function"),
        (("--select", "removed-macro", "."), b"did you mean removed-macros?"),
        (("--select", "unstable-abi", "."), b"has no mechanical rewrite"),
    ],
)
def test_usage(tmp_path: Path, args: tuple[str, ...], said: bytes) -> None:
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("int x;")
    done = run("a.cpp", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"abiscan: nothing to rewrite\n")


# As in csrc/cuda/segment_csr_cuda.cu of torch-scatter 2.0.9, where HIP compiles it with the overload for Half.
MASKED = """#include <c10/util/Half.h>
__device__ at::Half __shfl_down_sync(const unsigned mask, const at::Half x, const unsigned n);
template <typename scalar_t> __global__ void k(const scalar_t* p, scalar_t* o) {
  scalar_t x = __ldg(p);
  o[0] = __shfl_down_sync(0xffffffff, x, 1);
}
"""


def test_a_rewrite_that_leaves_masked_functions_warns(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(MASKED)
    done = run("a.cu", cwd=tmp_path)
    assert b"*p;" in done.stdout
    assert (
        b"a.cu: not complete for HIP: it calls __shfl_down_sync, with which it may compile and compute" in done.stderr
    )
    (tmp_path / "b.cu").write_text(MASKED.replace("__shfl_down_sync", "shuffle"))
    assert b"not complete" not in run("b.cu", cwd=tmp_path).stderr
