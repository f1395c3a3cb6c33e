"""abiscan run by CPython for Windows, under Wine (`pytest -m wine`; see tests/truth/wine.py)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.fetch import corpus_dir, download
from tests.corpus.wheels import WINDOWS_EXTENSIONS
from tests.environment.windows_tree import install_torch
from tests.programs import run_abiscan
from tests.truth.wine import install, run, windows_path, windows_python

pytestmark = pytest.mark.wine

_REPOSITORY = Path(__file__).resolve().parents[2]
# The dependencies of abiscan (pyproject.toml) and of its tests; pip evaluates markers for this system, and click needs
# colorama on Windows.
_PACKAGES = (
    *("click", "colorama", "cxxfilt", "isal", "jinja2", "msgspec", "packaging", "pycxxfilt", "pyelftools", "tqdm"),
)
_TEST_PACKAGES = ("pytest", "hypothesis")
# Those that need Linux or another program say so below.
_TESTS = (
    *("binary", "gate", "macho", "model", "ownership", "pe", "releases", "wheel"),
    *("analysis/test_platforms.py", "environment/test_windows_environment.py", "loader/test_resolve_by_library.py"),
    "mangling/test_microsoft.py",
)
_OF_LINUX = (
    # Files of /proc and /usr/lib.
    "tests/model/test_cuda_driver.py::test_the_library_comes_before_the_kernel",
)
_MESSAGE = "ImportError: DLL load failed while importing _C: The specified procedure could not be found."


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter with abiscan's dependencies."""
    folder = windows_python()
    if not (folder / "Lib/site-packages/hypothesis").exists():
        install(*_PACKAGES, *_TEST_PACKAGES)
    return folder


def abiscan(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command, on Windows."""
    arguments = [windows_path(word) if isinstance(word, Path) else word for word in words]
    return run(["-m", "abiscan", *arguments], variables={"PYTHONPATH": windows_path(_REPOSITORY)})


def _verdicts(output: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """(member or file name, verdict, unresolved imports) of each file."""
    report: dict[str, Any] = json.loads(output)
    return [
        (
            each["member"] or each["path"].rpartition("/")[2],
            each["verdict"],
            [(found["mangled"], found["status"]) for found in each["imports"] if found["status"] != "resolved"],
        )
        for each in report["artifacts"]
    ]


def _here(*words: str | Path) -> str:
    return run_abiscan(*words, cwd="/").stdout


@pytest.mark.parametrize("torch", ["2.7.1", "2.8.0"])
@pytest.mark.parametrize("name", ["windows/demo/_C.cp311-win_amd64.pyd", "windows", "good-extension.so"])
@pytest.mark.usefixtures("python")
def test_files_have_the_verdicts_that_they_have_on_linux(fixtures_dir: Path, name: str, torch: str) -> None:
    words = (fixtures_dir / name, "--torch", torch, "-f", "json")
    done = abiscan(*words)
    assert "Traceback" not in done.stderr, done.stderr
    assert _verdicts(done.stdout) == _verdicts(_here(*words))


@pytest.mark.usefixtures("python")
def test_a_wheel_has_the_verdicts_that_it_has_on_linux() -> None:
    wheel = next(each for each in WINDOWS_EXTENSIONS if each.file.startswith("torchvision-0.23"))
    words = (download(wheel, corpus_dir()), "--torch", "2.7.1", "-f", "json")
    done = abiscan(*words)
    assert done.returncode == 1, done.stderr
    assert _verdicts(done.stdout) == _verdicts(_here(*words))


@pytest.mark.usefixtures("python")
def test_a_message_is_explained(fixtures_dir: Path) -> None:
    file = fixtures_dir / "windows/demo/_C.cp311-win_amd64.pyd"
    done = abiscan("explain", _MESSAGE, "--needed-by", file, "--torch", "2.7.1")
    assert "torch 2.7.1 does not export 1 of its symbols" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("name", "demangled"),
    [
        ("_ZN3c106SymInt19promote_to_negativeEv", "c10::SymInt::promote_to_negative()"),
        ("__ZN3c106SymInt19promote_to_negativeEv", "c10::SymInt::promote_to_negative()"),
        ("??1SymInt@c10@@QEAA@XZ", "public: __cdecl c10::SymInt::~SymInt(void)"),
    ],
)
@pytest.mark.usefixtures("python")
def test_names_are_demangled_without_a_cxx_runtime(name: str, demangled: str) -> None:
    """cxxfilt finds no libstdc++ on Windows; pycxxfilt contains LLVM's demanglers. Expected: llvm-cxxfilt-19 and
    llvm-undname-19."""
    done = abiscan("explain", name, "-f", "json")
    (subject,) = json.loads(done.stdout)["subjects"]
    assert (subject["demangled"], subject["demangled_by"]) == (demangled, "llvm"), done.stderr
    assert "Traceback" not in done.stderr


def test_the_torch_of_the_interpreter_is_found(python: Path, fixtures_dir: Path) -> None:
    """In `Lib\\\\site-packages`; a module and the environment are checked against it."""
    site = python / "Lib/site-packages"
    installed = [site / "torch", site / "torch-2.8.0+cu128.dist-info"]
    for path in installed:
        shutil.rmtree(path, ignore_errors=True)
    install_torch(site)
    try:
        report = json.loads(abiscan(fixtures_dir / "windows/linked", "-f", "json").stdout)
        assert {each["target"]["torch"]["value"] for each in report["artifacts"]} == {"2.8.0+cu128"}
        assert {each["verdict"] for each in report["artifacts"]} == {"loads"}
        assert "torch 2.8.0+cu128" in abiscan("env").stdout
    finally:
        for path in installed:
            shutil.rmtree(path)


@pytest.mark.usefixtures("python")
def test_the_tests_that_need_no_linux_pass() -> None:
    tests = [f"tests/{name}" for name in _TESTS]
    deselected = [word for name in _OF_LINUX for word in ("--deselect", name)]
    root = windows_path(_REPOSITORY)
    script = (
        f"import os, sys, pytest; os.chdir({root!r}); sys.path.insert(0, {root!r}); sys.exit(pytest.main(sys.argv[1:]))"
    )
    done = run(["-c", script, "-q", "-p", "no:cacheprovider", "--without-torch", *tests, *deselected])
    print(done.stdout[-200:])
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("words", [("registry", "runs", "."), ("run", "--", "python")])
@pytest.mark.usefixtures("python")
def test_commands_of_posix_say_so(words: tuple[str, ...]) -> None:
    done = abiscan(*words)
    assert done.returncode == 2
    assert "needs Linux or macOS" in done.stderr
    assert "Traceback" not in done.stderr
