"""The public names, and the examples of docs/how-to/library.md, run unchanged."""

from __future__ import annotations

import ast
import html
import io
import os
import re
import shutil
import sys
import tempfile
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

import abiscan
from abiscan.report import html as page
from tests.fixtures.wheels import make_wheel
from tests.programs import output_of, run_program
from tests.report import samples

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
DOC = (ROOT / "docs" / "how-to" / "library.md").read_text(encoding="utf-8")
LOADS = [*("2.4.0", "2.4.1", "2.5.0", "2.5.1", "2.6.0", "2.7.0", "2.7.1", "2.8.0")]


def example(name: str) -> str:
    found = re.search(rf"<!-- example: {name} -->\n```python\n(.*?)^```", DOC, re.DOTALL | re.MULTILINE)
    assert found is not None
    assert len([line for line in found[1].splitlines() if line]) <= 10
    return found[1]


def wheel(folder: Path, fixture: str) -> Path:
    folder.mkdir(exist_ok=True)
    return make_wheel(folder, {"pkg/_C.so": fixture}, requires="torch>=2.4,<2.9")


def test_every_public_name_is_there_documented_and_typed() -> None:
    (imported,) = re.findall(r"^from abiscan import (AbiscanError.*)$", DOC, re.MULTILINE)
    assert imported.split(", ") == abiscan.__all__
    for name in abiscan.__all__:
        assert getattr(abiscan, name).__doc__, name
    assert set(abiscan.__all__) <= set(dir(abiscan))
    assert (Path(abiscan.__file__).parent / "py.typed").is_file()
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = abiscan.Nothing


def test_a_program_that_uses_it_is_checked(tmp_path: Path) -> None:
    """mypy, as in a user's project, has the types."""
    (tmp_path / "uses.py").write_text(
        "from abiscan import ScanOptions, explain, scan\n"
        "report = scan('a.so', ScanOptions(torch='2.8.0', matrix=True))\n"
        "reveal_type(report.verdict)\n"
        "reveal_type(explain('x')[0].causes)\n"
        "scan(1)\n"
    )
    shown = run_program(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "uses.py"],
        cwd=tmp_path,
        env={"MYPYPATH": "", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
    ).stdout
    assert 'Revealed type is "abiscan.model.report.Verdict"' in shown, shown
    assert 'Revealed type is "tuple[abiscan.model.cause.Cause, ...]"' in shown
    assert "uses.py:5: error: " in shown
    assert shown.endswith("Found 1 error in 1 file (checked 1 source file)\n")


def test_importing_it_costs_nothing() -> None:
    code = (
        "import abiscan, sys; print(sorted(m for m in sys.modules if m.startswith(('abiscan', 'msgspec', 'elftools'))))"
    )
    shown = output_of([sys.executable, "-c", code], cwd=ROOT)
    assert shown == "['abiscan']\n"


@pytest.mark.parametrize(
    ("fixture", "wanted", "verdict"),
    [
        ("gcc-const-data-ptr.so", ">=2.4,<2.9", "pass"),
        ("gcc-const-data-ptr.so", None, "fail"),
        ("clang-const-data-ptr.so", ">=2.4,<2.9", "fail"),
    ],
)
def test_the_verdict_is_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fixture: str, wanted: str | None, verdict: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = wheel(tmp_path, fixture)
    report = abiscan.scan(path, abiscan.ScanOptions(torch=None if wanted else "2.15.0"), require_torch=wanted)
    assert report.verdict == verdict
    words = ["--require-torch", wanted] if wanted else ["--torch", "2.15.0"]
    command = [sys.executable, "-m", "abiscan", "-f", "json", *words, str(path)]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = run_program(command, env=environment)
    assert report.render("json") == done.stdout


def test_in_a_notebook_it_shows_the_page() -> None:
    """The frame's document, parsed from its attribute, is the page; no name can leave it."""
    for sample in (samples.mixed(), samples.hostile(), samples.empty()):
        report = abiscan.Report(**{name: getattr(sample, name) for name in sample.__struct_fields__})
        found: list[tuple[str, dict[str, str | None]]] = []

        class Reader(HTMLParser):
            def handle_starttag(
                self,
                tag: str,
                attrs: list[tuple[str, str | None]],
                found: list[tuple[str, dict[str, str | None]]] = found,
            ) -> None:
                found.append((tag, dict(attrs)))

            def handle_data(self, data: str) -> None:
                raise AssertionError(f"text beside the frame: {data!r}")

        reader = Reader()
        reader.feed(report._repr_html_())
        reader.close()
        ((tag, attributes),) = found
        assert tag == "iframe"
        assert attributes["srcdoc"] == report.render("html")
        assert "allow-same-origin" not in (attributes["sandbox"] or "")
        assert len(repr(report)) < 300
    assert html.unescape(html.escape(page.render(samples.mixed()))) == page.render(samples.mixed())


def test_the_build_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Called by a frontend (PEP 517), in its own process, in a project with a prebuilt module."""
    (tmp_path / "_backend.py").write_text(example("backend"))
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='pkg', version='1', packages=['pkg'], package_data={'pkg': ['*.so']},"
        " install_requires=['torch>=2.4,<2.9'])\n"
    )
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    for fixture, status in (("gcc-const-data-ptr.so", 0), ("clang-const-data-ptr.so", 1)):
        (tmp_path / "pkg" / "_C.so").write_bytes((FIXTURES / fixture).read_bytes())
        done = run_program(
            [sys.executable, "-c", "import _backend; print('built', _backend.build_wheel('.'))"],
            cwd=tmp_path,
            env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "/usr/bin:/bin"},
        )
        assert done.returncode == status, done.stderr
        assert ("built pkg-1-" in done.stdout) == (status == 0)
        assert ("cause: " in done.stderr) == (status == 1)


@pytest.mark.parametrize(
    ("fixture", "outcome"), [("gcc-const-data-ptr.so", "passed"), ("clang-const-data-ptr.so", "failed")]
)
def test_the_pytest_run(tmp_path: Path, fixture: str, outcome: str) -> None:
    (tmp_path / "test_wheels.py").write_text(example("pytest"))
    wheel(tmp_path / "dist", fixture)
    shown = run_program(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    ).stdout
    assert f"1 {outcome}" in shown, shown
    assert ("cause: " in shown) == (outcome == "failed")


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A cell, as in IPython: all statements, and the last expression shown by its `_repr_html_`."""
    path = wheel(tmp_path / "dist", "gcc-const-data-ptr.so")
    monkeypatch.chdir(tmp_path)
    tree = ast.parse(example("notebook"))
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    names: dict[str, object] = {}
    exec(compile(tree, "cell", "exec"), names)
    shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    assert "const_data_ptr" in shown._repr_html_()
    printed = capsys.readouterr().out
    assert printed.startswith(f"dist/{path.name}!pkg/_C.so ['2.3.0'")
    for version in LOADS:
        assert f"'{version}'" in printed


def test_explaining(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    name = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    (tmp_path / "build.log").write_text(f"ImportError: /x/_C.so: undefined symbol: {name}\n")
    monkeypatch.chdir(tmp_path)
    exec(example("explain"), {})
    assert "cxx11-abi-mismatch" in capsys.readouterr().out.splitlines()


def test_bytes_and_open_files_are_scanned_like_paths(tmp_path: Path) -> None:
    made = wheel(tmp_path / "dist", "good-extension.so")
    options = abiscan.ScanOptions(torch="2.8.0")
    by_path = abiscan.scan(made, options)
    with made.open("rb") as file:
        by_file = abiscan.scan(file, options)
    assert by_file.render("json").replace(str(made), "") == by_path.render("json").replace(str(made), "")
    data = (FIXTURES / "missing-library.so").read_bytes()
    several = abiscan.scan([data, io.BytesIO(data), FIXTURES / "good-extension.so"], options)
    assert [each.display for each in several.artifacts][:2] == ["(bytes)", "(bytes)"]
    assert not list(Path(tempfile.gettempdir()).glob("abiscan-*/(bytes)"))


IMPORT = """
import sys
sys.path.insert(0, {folder!r})
import abiscan
abiscan.enable()
abiscan.enable()
engine = [name for name in sys.modules if name.startswith("abiscan.")]
assert engine == ["abiscan.library", "abiscan.library.import_errors"], engine
try:
    import {module}
except ImportError as error:
    print(type(error).__name__, error.__notes__[0] if hasattr(error, "__notes__") else "no note", sep="\\n")
"""


@pytest.mark.parametrize(
    ("fixture", "printed"),
    [
        # The real loader's message, by the import system of this Python.
        ("missing-library.so", ["ImportError", "abiscan:", "library-missing", "libdoesnotexist.so.7"]),
        ("malformed-name.so", ["ImportError", "abiscan:", "_ZN99at5emptyEv"]),
        (None, ["ModuleNotFoundError", "no note"]),
    ],
)
def test_an_import_error_is_explained_in_its_process(fixture: str | None, printed: list[str], tmp_path: Path) -> None:
    if fixture:
        shutil.copy(FIXTURES / fixture, tmp_path / "some_module.so")
    code = IMPORT.format(folder=str(tmp_path), module="some_module")
    done = run_program([sys.executable, "-c", code])
    assert all(each in done.stdout for each in printed), done
    assert done.returncode == 0


def test_a_package_explains_its_own_import_error(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "missing-library.so", tmp_path / "some_module.so")
    done = run_program([sys.executable, "-c", example("import")], cwd=tmp_path)
    assert "[library-missing, high confidence]" in done.stderr, done
    assert done.returncode == 1


def test_an_error_of_abiscan_does_not_hide_the_error_of_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object, **named: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("abiscan.library.api.explain", broken)
    explained = abiscan.explain_import_error(ImportError("x.so: undefined symbol: a"))
    assert explained == "abiscan: internal error: RuntimeError: a defect"


PROJECT = """
[project]
name = "pkg"
version = "1"
dependencies = ["torch>=2.4,<2.9"]
[tool.pytest.ini_options]
{settings}
"""


@pytest.mark.parametrize(
    ("settings", "arguments", "printed", "status"),
    [
        ('abiscan_targets = ["pkg"]', ["--abiscan"], "fails on 8 of 8 known builds of torch", 1),
        ('abiscan_targets = ["pkg"]', [], "1 passed", 0),
        ('abiscan_targets = ["pkg"]', ["--abiscan", "-o", "abiscan_require_torch=>=2.13"], "2 passed", 0),
        ('abiscan_targets = ["none"]', ["--abiscan"], "none", 1),
        ("", ["--abiscan"], "pkg", 1),
    ],
)
def test_the_pytest_plugin_fails_the_run_of_a_project(
    settings: str, arguments: list[str], printed: str, status: int, tmp_path: Path
) -> None:
    (tmp_path / "pkg").mkdir()
    shutil.copy(FIXTURES / "good-extension.so", tmp_path / "pkg" / "_C.so")
    (tmp_path / "pyproject.toml").write_text(PROJECT.format(settings=settings), encoding="utf-8")
    (tmp_path / "test_it.py").write_text("def test_a():\n    pass\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "abiscan.library.pytest_plugin",
        *arguments,
    ]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # installed by its entry point, or not yet
    done = run_program(command, cwd=tmp_path, env=environment)
    assert printed in done.stdout, done
    assert done.returncode == status


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    """https://docs.pytest.org/en/stable/how-to/writing_plugins.html: the group is `pytest11`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"abiscan": "abiscan.library.pytest_plugin"}
