"""Actions for the packages of an environment, from literal values."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from abiscan.compare.environment import InspectedEnvironment, environment_report
from abiscan.compare.environment_fix import environment_fix
from abiscan.compare.environment_problems import absent_requirements, failing_torch, missing_requirements, pip_command
from abiscan.compare.file_outcome import FileOutcome
from abiscan.environment.python import PythonEnvironment
from abiscan.model.environment_report import Action, PackageState, Problem, ProblemKind
from abiscan.model.loading import LoaderStop, NeededLibrary, StopKind
from abiscan.model.release import ReleaseState
from abiscan.model.report import ArtifactVerdict
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.report import sheet
from abiscan.report.environment_sheet import sheet as page_of
from abiscan.report.style import Style
from tests.compare.typed import distribution

LOADS = FileOutcome(
    "p/_C.so",
    "p/_C.so",
    "/p/_C.so",
    ArtifactVerdict.LOADS,
    "",
    True,
    False,
    False,
    (("2.13.0", ReleaseState.LOADS),),
    (),
)
FAILS = replace(LOADS, verdict=ArtifactVerdict.FAILS, why="a name is gone", releases=(("2.13.0", ReleaseState.FAILS),))
REFUSED = replace(LOADS, package_path="p/video.so", path="/p/video.so", why="libavutil.so.56 is not found")
REFUSED = replace(REFUSED, needed=(NeededLibrary("libavutil.so.56", None),))
OTHERWISE = replace(REFUSED, why="GLIBC_2.99 not found", needed=())
PLAIN = replace(LOADS, uses_torch=False, verdict=ArtifactVerdict.NOT_TORCH, releases=())


TORCH_FAILS = (Problem(ProblemKind.TORCH_FAILS, "`import torch` itself fails: libc10.so", "pip install torch==2.13.0"),)


def inspected(
    *files: FileOutcome,
    torch: str | None = "2.13.0+cpu",
    later: tuple[FileOutcome, ...] | None = None,
    problems: tuple[Problem, ...] = (),
    installable: tuple[str, ...] = (),
) -> InspectedEnvironment:
    package = distribution("p", "torch")
    after = None if later is None else "2.14.1"
    then = {} if later is None else {"p": later}
    return InspectedEnvironment(
        "Python 3.11 at /v", torch, after, (package,), 0, {"p": files}, then, problems, installable=installable
    )


@pytest.mark.parametrize("version", ["2.13.0a0", "2.13.0"])
def test_a_source_build_is_never_replaced_and_its_packages_are_built(version: str) -> None:
    """Oracle: pip has no torch 2.13.0a0, and data.pyg.org no wheels for one (its pages are named after releases). With
    PYTORCH_BUILD_VERSION a source build has the number of a release; its commit shows that it is none."""
    torch = TorchBuild(TorchKind.INSTALLED, version, "cpu", None, None, True, "/v/torch", None)
    fails = replace(
        inspected(FAILS, torch=version, installable=("2.12.0", "2.13.0")),
        packages=(distribution("torch-scatter", "torch"),),
        now={"torch-scatter": (FAILS,)},
        source_build=torch,
        builds={"2.13.0": "cu130"},
        pip="/v/bin/python -m pip install",
    )
    row = environment_report(fails).packages[0]
    assert row.action is Action.REBUILD
    assert row.command.endswith('--no-binary torch-scatter "torch-scatter>=1.0"')
    fix = environment_fix(fails)
    assert (fix.torch, fix.command, fix.replaced) == (version, "", ())
    assert fix.conflicts[0].command == row.command
    problems = [
        *failing_torch("libc10.so", version, "pip install", torch),
        *missing_requirements(
            absent_requirements((distribution("torch", "filelock", "sympy>=1.13.3"),)), version, "pip install"
        ),
    ]
    assert [each.command for each in problems] == ["", "pip install filelock 'sympy>=1.13.3'"]


@pytest.mark.parametrize(
    ("kind", "strangers", "command"),
    [
        (
            StopKind.LIBRARY_NOT_FOUND,
            (),
            "pip install --force-reinstall torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu",
        ),
        # torch is as before, and the library of the system as old.
        (StopKind.VERSION_NOT_FOUND, (), ""),
        (StopKind.VERSION_NOT_FOUND, ("/x/libstdc++.so.6",), "unset LD_LIBRARY_PATH LD_PRELOAD"),
    ],
)
def test_a_torch_that_cannot_be_imported_is_installed_if_that_helps(
    kind: StopKind, strangers: tuple[str, ...], command: str
) -> None:
    (problem,) = failing_torch(
        "it fails", "2.13.0+cpu", "pip install", None, stop=LoaderStop(kind, "/x/a.so"), strangers=strangers
    )
    assert problem.command == command
    (row,) = environment_report(inspected(LOADS, problems=(problem,))).packages
    expected = (Action.INSTALL, command) if command.startswith("pip") else (Action.CHECK, "")
    assert (row.action, row.command) == expected


@pytest.mark.parametrize(
    ("version", "index"),
    [
        ("2.14.0.dev20260101+cu128", " --index-url https://download.pytorch.org/whl/nightly/cu128"),
        ("2.13.0+cpu.cxx11.abi", ""),
    ],
)
def test_a_torch_is_installed_again_from_its_index(version: str, index: str) -> None:
    (problem,) = failing_torch("it fails", version, "pip install", None)
    assert problem.command == f"pip install --force-reinstall torch=={version.partition('+')[0]}{index}"


def test_packages_in_a_folder_without_an_interpreter_are_replaced() -> None:
    """Oracle: `pip install --target D --force-reinstall` keeps `D/torch` ("Specify --upgrade to force replacement")."""
    assert pip_command(PythonEnvironment(None, None, None, "/d", ("/d",), None), ()) == (
        "pip install --upgrade --target /d"
    )


@pytest.mark.parametrize(
    ("absent", "arguments"),
    [
        ({"sympy": "'sympy>=1.13.3'", "typing-extensions": "typing-extensions"}, "'sympy>=1.13.3' typing-extensions"),
        ({"sympy": "sympy"}, "--force-reinstall typing_extensions"),
    ],
)
def test_what_torch_requires_is_installed_at_once(absent: dict[str, str], arguments: str) -> None:
    """`import torch` names the first module only."""
    stop = LoaderStop(StopKind.MODULE_NOT_FOUND, "", detail="typing_extensions")
    (problem,) = failing_torch("it fails", "2.13.0+cpu", "pip install", None, stop=stop, absent=absent)
    assert problem.command == f"pip install {arguments}"
    fix = environment_fix(inspected(LOADS, problems=(problem,)))
    assert (fix.command, fix.replaced) == (f"pip install {arguments}", ())


@pytest.mark.parametrize(
    ("found", "state", "action"),
    [
        (inspected(LOADS), PackageState.LOADS, Action.KEEP),
        (inspected(FAILS), PackageState.FAILS, Action.REPLACE),
        (inspected(LOADS, REFUSED), PackageState.PARTLY, Action.INSTALL),
        # The upgrade changes nothing, and its library is still missing.
        (inspected(LOADS, REFUSED, later=(LOADS, REFUSED)), PackageState.PARTLY, Action.INSTALL),
        (inspected(FAILS, later=(FAILS,)), PackageState.FAILS, Action.REPLACE),
        # No torch helps a package if all its files need a missing library.
        (inspected(REFUSED, later=(REFUSED, REFUSED)), PackageState.FAILS, Action.INSTALL),
        (inspected(FAILS, REFUSED), PackageState.FAILS, Action.REPLACE),
        (inspected(LOADS, OTHERWISE), PackageState.PARTLY, Action.CHECK),
        # A torch that cannot be imported fails all packages; other reasons of failure stay.
        (inspected(LOADS, problems=TORCH_FAILS), PackageState.FAILS, Action.INSTALL),
        (inspected(FAILS, problems=TORCH_FAILS), PackageState.FAILS, Action.REPLACE),
        (inspected(PLAIN, problems=TORCH_FAILS), PackageState.NOT_TORCH, Action.KEEP),
        (inspected(LOADS, torch=None), PackageState.FAILS, Action.INSTALL),
        (inspected(LOADS, torch=None, later=(LOADS,)), PackageState.LOADS, Action.KEEP),
        (inspected(PLAIN, torch=None), PackageState.NOT_TORCH, Action.KEEP),
    ],
)
def test_what_to_do(found: InspectedEnvironment, state: PackageState, action: Action) -> None:
    (row,) = environment_report(found).packages
    assert ((row.after or row.now).state, row.action) == (state, action)
    assert (row.step is None) == (action is Action.KEEP)
    shown = sheet.text(page_of(environment_report(found)), Style(verbose=True))
    assert (f"1. {action.value}" if row.step else action.value) in shown


def test_a_package_that_loads_nowhere_is_reported() -> None:
    (row,) = page_of(environment_report(inspected(FAILS))).tables[0].rows
    assert row.cells[-1] == "p/_C.so: a name is gone; loads on no known release of torch"


@pytest.mark.parametrize(
    ("from_source", "words"),
    [(True, "requires torch<2.12: change this in its sources first; "), (False, "requires torch<2.12; ")],
)
def test_a_build_of_the_same_sources_excludes_the_torch_again(from_source: bool, words: str) -> None:
    package = distribution("p", "torch<2.12", from_source=from_source)
    (row,) = page_of(environment_report(replace(inspected(FAILS), packages=(package,)))).tables[0].rows
    assert row.cells[-1].startswith(words)


def test_a_torch_that_cannot_be_imported_is_reported_first_with_the_command() -> None:
    found = environment_report(inspected(LOADS, problems=TORCH_FAILS))
    page = page_of(found)
    assert (page.word, found.fails) == ("FAILS", True)
    assert "`import torch` itself fails: libc10.so; run `pip install torch==2.13.0`; 1 of 1" in page.headline
    assert not any("import torch" in note for note in page.notes)
    # The other torch replaces it.
    assert not environment_report(inspected(LOADS, later=(LOADS,), problems=TORCH_FAILS)).fails


def test_what_is_to_be_installed_is_named() -> None:
    """The newest release with wheels for the interpreter that loads the package; the distribution of the library."""
    old = replace(
        LOADS,
        releases=(
            ("2.12.0", ReleaseState.LOADS),
            ("2.13.0", ReleaseState.LOADS),
            ("2.14.0", ReleaseState.LOADS),
            ("2.15.0", ReleaseState.FAILS),
        ),
    )
    (row,) = environment_report(inspected(old, torch=None, installable=("2.12.0", "2.13.0", "2.15.0"))).packages
    assert row.command == "pip install torch==2.13.0"
    (row,) = environment_report(inspected(FAILS, torch=None, installable=("2.13.0",))).packages
    assert row.command == ""
    runtime = replace(REFUSED, needed=(NeededLibrary("libcudart.so.12", None), NeededLibrary("libavutil.so.56", None)))
    found = environment_report(inspected(LOADS, runtime))
    assert found.packages[0].command == "pip install nvidia-cuda-runtime-cu12"
    page = page_of(found)
    assert (page.word, page.headline.rpartition(": ")[2]) == (
        "PARTLY",
        "0 of 1 package with shared objects fail, 1 loads in part",
    )
    (shown,) = page.tables[0].rows
    assert shown.cells[-1] == (
        "1 of 2 files: not found on this machine: libcudart.so.12, libavutil.so.56; "
        "run `pip install nvidia-cuda-runtime-cu12`"
    )
    codec = replace(REFUSED, needed=(NeededLibrary("libavutil.so.56", None), NeededLibrary("libx.so.1", None)))
    found = environment_report(inspected(LOADS, codec))
    assert (found.packages[0].action, found.packages[0].command) == (Action.INSTALL, "")
    assert page_of(found).tables[0].rows[0].cells[2] == "1. install FFmpeg, libx.so.1"


def test_a_package_that_requires_another_torch_does_not_count_as_failing() -> None:
    found = replace(inspected(LOADS), packages=(distribution("p", "torch==2.14.*"),))
    headline = page_of(environment_report(found)).headline
    assert headline.endswith(": 0 of 1 package with shared objects fail, 1 requires another torch")
