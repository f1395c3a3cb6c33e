"""The builds for Windows and macOS: separate files, opened with the first file of their system."""

from __future__ import annotations

import pytest

from abiscan.errors import UnknownBuild
from abiscan.model.platforms import OperatingSystem
from abiscan.releases import ReleaseIndex, open_index
from abiscan.releases.index import EARLIER_OTHER_SYSTEMS, OTHER_SYSTEMS, with_earlier
from abiscan.releases.read_build import RawBuild, RawLibrary
from abiscan.releases.table import ReleaseTable
from tools.build_release_index import with_exports_of

SYSTEMS = sorted(OTHER_SYSTEMS)


def test_a_question_about_linux_opens_no_other_file() -> None:
    index = ReleaseIndex(open_index().tables, dict.fromkeys(OTHER_SYSTEMS, ("/no/such/file",)))
    assert index.builds("x86_64")
    assert index.builds()
    assert index.resolve("2.8.0", "aarch64").machine == "aarch64"
    assert index.prefix("_ZN3c10")


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_files_are_undamaged(system: OperatingSystem) -> None:
    for file in (OTHER_SYSTEMS[system], EARLIER_OTHER_SYSTEMS[system]):
        table = ReleaseTable(file)
        assert table.verify() == table.statistics["names"]


def test_windows_has_every_release_since_1_13() -> None:
    index = open_index()
    linux = dict.fromkeys(build.torch for build in index.builds("x86_64"))
    assert list(dict.fromkeys(build.torch for build in index.builds("win_amd64"))) == list(linux)
    assert {build.variant for build in index.builds("win_amd64")} == {"cpu"}


def test_the_earlier_releases_of_a_system_are_read_with_those_of_linux() -> None:
    index = open_index()
    for machine, first in (("win_amd64", "1.7.1"), ("macosx_arm64", "1.8.0"), ("macosx_x86_64", "1.7.0")):
        assert index.builds(machine)[0].torch == "1.13.0"
        assert with_earlier(index).builds(machine)[0].torch == first


def test_operators_of_torch_are_names_of_its_earlier_builds() -> None:
    """llvm-readobj --coff-exports of c10.dll of torch 1.9.1; torchvision 0.10.1 imports both."""
    stream = "??6c10@@YAAEAV?$basic_ostream@DU?$char_traits@D@std@@@std@@AEAV12@"
    history = with_earlier(open_index()).lookup((f"{stream}AEBUDevice@0@@Z", f"{stream}W4DeviceType@0@@Z"), "win_amd64")
    assert [each.exported_in.text() for each in history.values()] == ["1.7.1-2.15.0"] * 2


def test_macos_has_the_wheels_of_the_package_index() -> None:
    index = open_index()
    linux = list(dict.fromkeys(build.torch for build in index.builds("x86_64")))
    assert [build.torch for build in index.builds("macosx_arm64")] == linux
    # The last release for x86-64 is 2.2.2.
    intel = [build.torch for build in index.builds("macosx_x86_64")]
    assert intel == linux[: len(intel)]
    assert intel[-1] == "2.2.2"


def test_macos_has_the_symbols_of_the_wheels_for_all_pythons() -> None:
    """Config.h of the wheels of 1.11.0: AT_PARALLEL_OPENMP is 1 for cp310 and 0 for cp39, of which libtorch_cpu exports
    invoke_parallel (strings). torchvision 0.12.0 for cp39 imports it."""
    name = "_ZN2at8internal15invoke_parallelExxxRKNSt3__18functionIFvxxEEE"
    history = with_earlier(open_index()).lookup((name,), "macosx_x86_64")[name]
    assert history.exported_in.contains("1.11.0")
    assert history.exported_in.contains("2.2.2")


def test_builds_for_several_pythons_are_one() -> None:
    def raw(python: str, *names: str) -> RawBuild:
        symbols = tuple((name, "function", "global", 0, "") for name in names)
        library = RawLibrary("libc10.dylib", (), symbols, {})
        return RawBuild(f"torch-{python}.whl", None, "macosx_x86_64", "", {"torch/lib/libc10.dylib": library}, ())

    merged = with_exports_of([raw("cp310", "f", "g"), raw("cp39", "g", "h")])
    assert merged.source == "torch-cp310.whl"
    (library,) = merged.libraries.values()
    assert [symbol[0] for symbol in library.symbols] == ["f", "g", "h"]


@pytest.mark.parametrize(
    ("name", "first", "library"),
    [
        # llvm-readobj --coff-exports of the DLLs of torch 2.7.1 and 2.8.0.
        ("?toScalarType@TypeMeta@caffe2@@QEBA?AW4ScalarType@c10@@XZ", "2.8.0", "c10.dll"),
        ("?tls_local_dispatch_key_set@impl@c10@@YA?AULocalDispatchKeySet@12@XZ", "1.13.0", "c10.dll"),
    ],
)
def test_the_history_of_a_name_of_windows(name: str, first: str, library: str) -> None:
    history = open_index().history(name, "win_amd64")
    assert history is not None
    assert history.exporting_builds[0].torch == first
    export = history.export(history.exporting_builds[0])
    assert export is not None
    assert export.library == library


def test_a_release_of_one_system_is_found_by_its_version_and_by_its_key() -> None:
    index = open_index()
    assert index.resolve("2.8.0", "win_amd64").key == "2.8.0+cpu-win_amd64"
    assert index.resolve("2.8.0+cpu-win_amd64", "win_amd64").wheel.endswith("win_amd64.whl")
    with pytest.raises(UnknownBuild):
        index.resolve("2.8.0", "win_arm64")


def test_cpu_builds_of_windows_stand_for_those_with_cuda() -> None:
    index = open_index()
    assert all(map(index.stands_for_cuda, index.builds("win_amd64")))
    assert not any(map(index.stands_for_cuda, index.builds("x86_64")))
