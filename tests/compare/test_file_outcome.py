"""The outcome of a package with one build per release, like torch_c_dlpack_ext 0.1.5."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.compare.file_outcome import (
    FileOutcome,
    after_upgrade,
    find_file_outcome,
    find_package_outcome,
    loads_on,
)
from abiscan.compare.run_time_libraries import with_openers
from abiscan.filesystem import HERE
from abiscan.model.cause import CauseGroup, CauseId, Confidence
from abiscan.model.environment_report import PackageState
from abiscan.model.finding import Finding, Severity
from abiscan.model.loading import NeededLibrary
from abiscan.model.release import ReleaseState
from abiscan.model.report import ArtifactVerdict
from tests.compare.typed import distribution, report
from tests.fixtures.tiny_elf import OTHER, Library, build

LOADS, FAILS = ArtifactVerdict.LOADS, ArtifactVerdict.FAILS


def built_for(release: str, verdict: ArtifactVerdict, *, for_another: bool) -> FileOutcome:
    """The build for one release; files that are checked against a new torch have no outcomes for every release."""
    states = {True: ReleaseState.LOADS, False: ReleaseState.FAILS}
    releases = tuple((each, states[each == release]) for each in ("2.8.0", "2.9.0")) if for_another else ()
    why = "" if verdict is LOADS else "symbols added later"
    place = f"x/torch-{release}/x.so"
    return FileOutcome(place, place, f"/site/{place}", verdict, why, True, for_another, False, releases, ())


@pytest.mark.parametrize(
    ("later", "state", "why"),
    [
        ({"2.8.0": FAILS, "2.9.0": LOADS}, PackageState.LOADS, ""),
        (
            {"2.8.0": FAILS, "2.9.0": FAILS},
            PackageState.UNDECIDED,
            "none of its builds is for this torch: they load on torch 2.8.0-2.9.0",
        ),
    ],
)
def test_builds_for_other_releases_do_not_fail_the_package(
    later: dict[str, ArtifactVerdict], state: PackageState, why: str
) -> None:
    now = [built_for(release, LOADS, for_another=True) for release in later]
    then = [built_for(release, verdict, for_another=verdict is FAILS) for release, verdict in later.items()]
    outcome = find_package_outcome(after_upgrade(then, now))
    assert (outcome.state, outcome.reason) == (state, why)


def test_a_build_counts_for_the_release_that_its_path_names() -> None:
    """vesin-torch 0.6.2 loads only the folder of the installed release (vesin_torch/_c_lib.py), though the symbols of
    the file for 2.9 resolve on 2.10, too."""
    both = tuple((each, ReleaseState.LOADS) for each in ("2.8.0", "2.9.0", "2.9.1", "2.10.0"))
    files = [replace(built_for(each, LOADS, for_another=True), module="x", releases=both) for each in ("2.8", "2.9")]
    assert loads_on(files) == "2.8.0-2.9.1"
    assert loads_on([replace(files[0], package_path="x/x.so")]) == "2.8.0-2.10.0"


def test_only_a_library_that_was_searched_here_is_missing() -> None:
    """metatensor-torch needs libmetatensor.so of metatensor-core, which its RUNPATH finds. No library is searched for a
    build that is not for the installed torch."""
    lacks, found = (NeededLibrary("libmetatensor.so", where) for where in (None, "/site/metatensor/lib"))
    here, other = built_for("2.8.0", LOADS, for_another=False), built_for("2.9.0", LOADS, for_another=True)
    then = [replace(here, for_another=True, needed=(lacks,)), replace(other, for_another=False, needed=(lacks,))]
    now = [replace(here, needed=(found,)), replace(other, needed=(lacks,))]
    assert find_package_outcome(after_upgrade(then, now)).state is PackageState.LOADS
    now = [replace(here, needed=(lacks,)), replace(other, needed=(lacks,))]
    assert find_package_outcome(after_upgrade(then, now)).absent == ("libmetatensor.so",)


def test_a_gpu_library_that_is_opened_at_run_time_does_not_fail_its_package(tmp_path: Path) -> None:
    """libsphericart_torch.so of sphericart-torch 2.0.4 contains the name of libsphericart_torch_cuda_stream.so, and the
    package works on a CPU build of torch. Nothing contains the name of `_scatter_cuda.so` of torch-scatter, which
    Python code opens and needs."""
    cuda = replace(built_for("2.9.0", FAILS, for_another=False), package_path="p/libpart_cuda.so", lacks_gpu=True)
    main = replace(built_for("2.9.0", LOADS, for_another=False), package_path="p/libpart.so")
    paths = tuple(str(tmp_path / each.package_path) for each in (cuda, main))
    package = replace(distribution("p", "torch"), shared_objects=paths)
    (tmp_path / "p").mkdir()
    for text, state in (
        (b"\0libpart_cuda.so\0", PackageState.PARTLY),
        (b"\0./libpart_cuda.so\0", PackageState.PARTLY),
        (b"\0no libpart_cuda.so\0", PackageState.FAILS),
        (b"", PackageState.FAILS),
    ):
        (tmp_path / main.package_path).write_bytes(build(Library(code={OTHER: text})))
        files = with_openers({"p": [cuda, main]}, [package], HERE)["p"]
        assert find_package_outcome(files).state is state
        # Without a file that loads, there is no package that works in part.
        alone = with_openers({"p": [cuda, replace(main, verdict=FAILS)]}, [package], HERE)["p"]
        assert find_package_outcome(alone).state is PackageState.FAILS


@pytest.mark.parametrize(
    ("causes", "lacks_gpu"),
    [
        (("cuda-build-required",), True),
        (("cuda-library-mismatch",), True),
        (("cuda-build-required", "built-for-older-torch"), False),
        ((), False),
    ],
)
def test_a_file_that_lacks_only_a_gpu_library(causes: tuple[str, ...], lacks_gpu: bool) -> None:
    groups = tuple(CauseGroup(CauseId(each), Confidence.HIGH, "why", (), "fix", ()) for each in causes)
    found = find_file_outcome(replace(report("p/x.so", FAILS), causes=groups), installed=True)
    assert found.lacks_gpu is lacks_gpu


def test_the_build_for_the_new_release_may_fail() -> None:
    """sphericart-torch 2.0.4 on torch 2.14.1: the file of its folder torch-2.14 needs libnvrtc.so.12."""
    now = [built_for("2.8.0", LOADS, for_another=False), built_for("2.9.0", FAILS, for_another=True)]
    then = [built_for("2.8.0", LOADS, for_another=True), built_for("2.9.0", FAILS, for_another=False)]
    assert find_package_outcome(after_upgrade(then, now)).state is PackageState.FAILS


def test_a_file_that_was_for_the_installed_torch_fails_the_package() -> None:
    now = [built_for("2.9.0", LOADS, for_another=False)]
    then = [built_for("2.9.0", FAILS, for_another=False)]
    assert find_package_outcome(after_upgrade(then, now)).state is PackageState.FAILS


@pytest.mark.parametrize(("severity", "state"), [("error", PackageState.FAILS), ("warning", PackageState.LOADS)])
def test_a_file_compiled_for_another_layout_fails_the_package(severity: str, state: PackageState) -> None:
    """torchcodec 0.7.0 on torch 2.9: all symbols resolve, and torch::CppFunction has 8 bytes more."""
    message = "`torch::CppFunction` has 96 bytes in torch 2.8.0 and 104 in torch 2.9.0; the file imports ..."
    layout = Finding("layout-drift", Severity(severity), Confidence.HIGH, None, message, "", "0")
    found = find_file_outcome(replace(report("p/x.so", LOADS), findings=(layout,)), installed=True)
    outcome = find_package_outcome([found])
    assert outcome.state is state
    assert outcome.absent == ()
    assert not found.why or found.why == message.partition(";")[0]
