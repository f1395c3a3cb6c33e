"""The command of `env --fix`, from literal outcomes. Expected wheels are those of the package catalogue, whose rows
name their sources; which options belong together is from `pip install --help`."""

from __future__ import annotations

import shlex

import pytest
from msgspec.structs import replace

from abiscan.compare.environment import InspectedEnvironment, environment_report
from abiscan.compare.environment_fix import environment_fix
from abiscan.compare.file_outcome import FileOutcome
from abiscan.compare.pip_command import PipInstall, one_line
from abiscan.inputs.distributions import Distribution
from abiscan.model.loading import NeededLibrary
from abiscan.model.python_version import PythonVersion
from abiscan.model.release import ReleaseState
from abiscan.model.report import ArtifactVerdict
from abiscan.report.environment_sheet import sheet
from abiscan.wheel.tags import torch_requirements
from tests.compare.typed import distribution

KNOWN = ("2.7.0", "2.8.0", "2.9.0", "2.10.0")


def loads_on(*releases: str, now: str = "2.10.0", needed: tuple[str, ...] = ()) -> FileOutcome:
    states = tuple((each, ReleaseState.LOADS if each in releases else ReleaseState.FAILS) for each in KNOWN)
    verdict = ArtifactVerdict.LOADS if now in releases else ArtifactVerdict.FAILS
    why = "" if now in releases else "a name is gone"
    libraries = tuple(NeededLibrary(each, None) for each in needed)
    return FileOutcome("p/_C.so", "p/_C.so", "/p/_C.so", verdict, why, True, False, False, states, libraries)


def environment(
    *packages: tuple[Distribution, FileOutcome], torch: str | None = "2.10.0+cpu", pure: tuple[str, ...] = ()
) -> InspectedEnvironment:
    return InspectedEnvironment(
        "Python 3.12 at /v",
        torch,
        None,
        tuple(package for package, _file in packages),
        0,
        {package.name: [file] for package, file in packages},
        {},
        (),
        pip="/v/bin/python -m pip install",
        installable=KNOWN,
        version=PythonVersion(3, 12),
        builds=dict.fromkeys(KNOWN, "cu128"),
        markers={"python_version": "3.12"},
        pure_requirements={"pure": torch_requirements(pure)} if pure else {},
    )


def requirements_of(command: str) -> list[list[str]]:
    """The requirements of each pip command."""
    prefix = "/v/bin/python -m pip install "
    parts = command.split(" && ")
    assert all(part.startswith(prefix) for part in parts)
    return [list(PipInstall.parse(part.removeprefix(prefix)).requirements) for part in parts]


def test_nothing_is_installed_where_everything_loads() -> None:
    fix = environment_fix(environment((distribution("x"), loads_on(*KNOWN))))
    assert (fix.torch, fix.command, fix.replaced, fix.kept, fix.conflicts) == ("2.10.0+cpu", "", (), 1, ())


def test_a_published_wheel_for_the_installed_torch_comes_first() -> None:
    scatter = replace(distribution("torch-scatter"), version="2.1.2+pt28cpu")
    fix = environment_fix(environment((scatter, loads_on("2.8.0")), (distribution("x"), loads_on(*KNOWN))))
    assert fix.torch == "2.10.0+cpu"
    assert fix.replaced == ("torch-scatter",)
    assert requirements_of(fix.command) == [["torch-scatter"]]
    # The page of the catalogue (pyg-team's installation guide); the version alone satisfies pip.
    assert "https://data.pyg.org/whl/torch-2.10.0+cpu.html" in fix.command
    assert "--force-reinstall --no-deps" in fix.command


def test_another_torch_if_a_package_has_no_wheel_with_its_companions_in_one_command() -> None:
    vision = replace(distribution("torchvision", "torch==2.10.0"), version="0.25.0")
    fix = environment_fix(environment((distribution("own"), loads_on("2.7.0", "2.8.0")), (vision, loads_on("2.10.0"))))
    # torchvision 0.23 is for torch 2.8 (pytorch/vision, README).
    assert (fix.torch, fix.replaced, fix.kept) == ("2.8.0+cpu", ("torch", "torchvision"), 1)
    assert requirements_of(fix.command) == [["torch==2.8.0", "torchvision==0.23.*"]]
    assert fix.command.count("pip install") == 1
    assert "--index-url https://download.pytorch.org/whl/cpu" in fix.command


def test_packages_without_a_common_release_are_the_conflicts() -> None:
    old, new = (distribution("old"), loads_on("2.7.0")), (distribution("new"), loads_on("2.9.0", "2.10.0"))
    fix = environment_fix(environment(old, new))
    assert (fix.torch, fix.command) == (None, "")
    assert [(each.package, each.text.partition(";")[0]) for each in fix.conflicts] == [
        ("old", "loads on torch 2.7.0"),
        ("new", "loads on torch 2.9.0-2.10.0"),
    ]


def test_a_package_that_loads_nowhere_does_not_prevent_the_command_for_the_others() -> None:
    lost, own = (distribution("lost"), loads_on()), (distribution("own"), loads_on("2.9.0"))
    fix = environment_fix(environment(lost, own))
    assert fix.torch == "2.9.0+cpu"
    assert requirements_of(fix.command) == [["torch==2.9.0"]]
    assert [each.package for each in fix.conflicts] == ["lost"]
    ((line, _command),) = sheet(replace(environment_report(environment(lost, own)), fix=fix)).commands
    assert line.endswith("; not fixed: lost:")


def test_the_wheel_that_does_not_load_is_not_installed_again() -> None:
    """The check of an installed wheel refutes the same wheel of the catalogue (names as in NATTEN's guide)."""
    fixes = {}
    for version in ("0.21.0+torch270cu126", "0.21.1+torch280cu126"):
        natten = replace(distribution("natten"), version=version)
        fixes[version] = environment_fix(environment((natten, loads_on("2.9.0", now="2.8.0")), torch="2.8.0+cu126"))
    other, same = fixes.values()
    assert (other.torch, requirements_of(other.command)) == ("2.8.0+cu126", [["natten==0.21.1+torch280cu126"]])
    assert (same.torch, requirements_of(same.command)) == ("2.9.0+cu126", [["torch==2.9.0"]])


def test_pure_packages_limit_another_torch() -> None:
    own = (distribution("own"), loads_on("2.8.0", "2.9.0"))
    assert (environment_fix(environment(own)).torch) == "2.9.0+cpu"
    assert environment_fix(environment(own, pure=("torch<2.9",))).torch == "2.8.0+cpu"
    none = environment_fix(environment(own, pure=("torch>=2.10",)))
    assert (none.torch, [each.package for each in none.conflicts]) == (None, ["own", "pure"])
    assert none.conflicts[1].text == "requires torch>=2.10"


def test_nothing_is_advised_for_an_unknown_python() -> None:
    unknown = replace(environment((distribution("x"), loads_on("2.9.0")), torch=None), installable=())
    fix = environment_fix(unknown)
    assert (fix.torch, fix.command, fix.conflicts) == (None, "", ())


def test_files_that_need_cuda_get_the_build_that_they_were_checked_against() -> None:
    gpu = (distribution("gpu"), loads_on("2.9.0", needed=("libc10_cuda.so",)))
    fix = environment_fix(environment(gpu))
    assert (fix.torch, fix.conflicts) == ("2.9.0+cu128", ())


def test_what_cannot_be_decided_is_not_counted_as_loading() -> None:
    open_file = replace(loads_on("2.10.0"), verdict=ArtifactVerdict.UNDECIDED)
    fix = environment_fix(environment((distribution("unsure"), open_file), (distribution("x"), loads_on(*KNOWN))))
    assert (fix.kept, fix.undecided) == (1, ("unsure",))


@pytest.mark.parametrize("now", ["2.10.0", "2.9.0"])
def test_a_library_that_pip_does_not_install_is_named_with_any_torch(now: str) -> None:
    """No torch installs FFmpeg, and each with CUDA has libc10_cuda (its RECORD)."""
    file = loads_on("2.9.0", now=now, needed=("libavutil.so.59", "libc10_cuda.so"))
    video = (distribution("video"), replace(file, why=file.why or "libavutil.so.59 is not found"))
    mine = (distribution("mine"), loads_on("2.9.0", now=now))
    fix = environment_fix(environment(mine, video, torch=f"{now}+cu128"))
    assert (fix.torch, fix.kept) == ("2.9.0+cu128", 1)
    assert [each.package for each in fix.conflicts] == ["video"]
    assert fix.conflicts[0].text.endswith(", which pip does not install")
    assert "FFmpeg" in fix.conflicts[0].text


def test_without_torch_the_newest_that_all_load_on() -> None:
    fix = environment_fix(environment((distribution("x"), loads_on("2.8.0", "2.9.0")), torch=None))
    assert (fix.torch, fix.replaced) == ("2.9.0+cu128", ())
    assert requirements_of(fix.command) == [["torch==2.9.0"]]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a -f P", "b -f Q"], "pip install a b -f P -f Q"),
        (["a", "a"], "pip install a"),
        # Two indexes that each replace the default one, and two sets of flags, cannot be in one command.
        (["a --index-url I", "b"], "pip install a --index-url I && pip install b"),
        (["--no-deps a", "b"], "pip install b && pip install --no-deps a"),
        (['"x>=13,<14"'], "pip install 'x>=13,<14'"),
    ],
)
def test_commands_are_merged_where_pip_can(lines: list[str], expected: str) -> None:
    command = one_line("pip install", [PipInstall.parse(line) for line in lines])
    assert command == expected
    assert shlex.split(command)


@pytest.mark.parametrize(
    ("after", "requirements"),
    [("2.10.0+cu128", [["torch==2.10.0"]]), ("2.10.0+cpu", []), ("2.9.0+cpu", [["torch==2.9.0"]])],
)
def test_another_build_of_the_installed_release_replaces_it(after: str, requirements: list[list[str]]) -> None:
    """Oracle: `pip install torch==2.10.0` where 2.10.0+cpu is installed: "Requirement already satisfied" (PEP 440)."""
    found = replace(environment((distribution("x"), loads_on(*KNOWN))), after=after)
    fix = environment_fix(found)
    assert fix.torch == after
    assert ([] if not fix.command else requirements_of(fix.command)) == requirements
    assert ("--force-reinstall" in fix.command) is after.startswith("2.10.0+cu")
