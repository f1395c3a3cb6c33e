"""Guarantees of tags and metadata compared with needs, as literal values. Expected values are from the PEPs that define
tags."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from packaging.tags import mac_platforms

from abiscan.environment.python_names import stable_abi
from abiscan.model.facts import VersionNeed
from abiscan.model.module_name import module_name
from abiscan.model.platforms import OperatingSystem
from abiscan.model.python_version import PythonVersion
from abiscan.wheel.markers import marker_environment
from abiscan.wheel.tags import (
    PlatformTag,
    System,
    TorchRequirement,
    applicable,
    beyond_stable_abi,
    differing_tags,
    list_platforms,
    machine_fits,
    module_fits,
    platform_tag,
    read_declared_tags,
    systems_of_wheel,
    torch_allowed,
    torch_requirements,
    versions_exceed,
)
from tests.tables import table_rows


@table_rows
def test_platform_tags(tag: str, system: System, oldest: tuple[int, int] | None, machine: str | None) -> None:
    assert platform_tag(tag) == PlatformTag(tag, system, oldest, machine)


@pytest.mark.parametrize(
    ("tag", "families"),
    [
        # PEP 571 and PEP 599, "The manylinux... policy".
        ("manylinux2010_x86_64", {"GLIBC": "2.12", "CXXABI": "1.3.3", "GLIBCXX": "3.4.13", "GCC": "4.3.0"}),
        ("manylinux2014_x86_64", {"GLIBC": "2.17", "CXXABI": "1.3.7", "GLIBCXX": "3.4.19", "GCC": "4.8.0"}),
        # `readelf -V` of libc.so.6, libstdc++.so.6 and libgcc_s.so.1 of Debian 12 (glibc 2.36, GCC 12.2) on x86_64; the
        # libstdc++ of Ubuntu 24.04 (glibc 2.39, GCC 14) by GCC's manual, "ABI Policy and Guidelines".
        ("manylinux_2_36_x86_64", {"GLIBC": "2.36", "CXXABI": "1.3.13", "GLIBCXX": "3.4.30", "GCC": "12.0.0"}),
        ("manylinux_2_39_x86_64", {"GLIBC": "2.39", "CXXABI": "1.3.15", "GLIBCXX": "3.4.33", "GCC": "14.0.0"}),
        # An unknown newer tag guarantees its glibc; nothing is known about other libraries.
        ("manylinux_2_99_x86_64", {"GLIBC": "2.99"}),
    ],
)
def test_what_the_systems_of_a_tag_have(tag: str, families: dict[str, str]) -> None:
    declared = read_declared_tags([f"py3-none-{tag}"])
    for family, newest in families.items():
        major, last = newest.rpartition(".")[::2]
        assert versions_exceed(declared, needs(f"{family}_{newest}")) == ()
        (beyond,) = versions_exceed(declared, needs(f"{family}_{major}.{int(last) + 1}"))
        assert beyond.guaranteed == f"{family}_{newest}"


def test_the_table_is_each_machines_own() -> None:
    """CentOS 7's libc for aarch64 defines GLIBC_2.18, that for x86_64 does not (auditwheel's policy)."""
    for machine, fits in (("aarch64", True), ("x86_64", False)):
        assert (
            versions_exceed(read_declared_tags([f"py3-none-manylinux2014_{machine}"]), needs("GLIBC_2.18")) == ()
        ) is fits


def test_platforms_that_a_wheel_may_carry() -> None:
    """From `packaging.tags` on such a machine, down to manylinux1."""
    found = list_platforms("x86_64")
    assert {"manylinux_2_41_x86_64", "manylinux_2_5_x86_64", "manylinux1_x86_64", "linux_x86_64"} < set(found)
    assert all(platform_tag(tag).machine == "x86_64" for tag in found)
    assert found.index("manylinux_2_28_x86_64") < found.index("manylinux_2_17_x86_64")
    assert list_platforms("win_amd64") == ("win_amd64",)


@pytest.mark.parametrize(("version", "machine"), [((26, 0), "arm64"), ((14, 0), "x86_64"), ((10, 15), "x86_64")])
def test_platforms_of_macos_are_those_of_packaging(version: tuple[int, int], machine: str) -> None:
    """What pip would install there, without the tags of PowerPC and 32 bits, and macOS 10.9 as the oldest."""
    theirs = [tag for tag in mac_platforms(version, machine) if tag.endswith((machine, "universal2"))]
    ours = list_platforms(f"macosx_{machine}")
    assert [tag for tag in theirs if int(tag.split("_")[1]) > 10 or int(tag.split("_")[2]) >= 9] == [
        tag for tag in ours if tag in theirs
    ]


def needs(*names: str, library: str = "libc.so.6", weak: bool = False) -> list[VersionNeed]:
    return [VersionNeed(library, name, weak) for name in names]


@pytest.mark.parametrize(
    ("tags", "wanted", "expected"),
    [
        (["manylinux_2_28_x86_64"], needs("GLIBC_2.28", "GLIBC_2.2.5"), []),
        (["manylinux_2_28_x86_64"], needs("GLIBC_2.34", "GLIBC_2.32"), ["GLIBC_2.34", "GLIBC_2.32"]),
        (["manylinux2014_x86_64"], needs("GLIBC_2.18"), ["GLIBC_2.18"]),
        (["manylinux2014_x86_64"], needs("GLIBC_2.17.1", "GLIBC_2.9"), ["GLIBC_2.17.1"]),
        # The oldest counts: pip installs the wheel on a system with glibc 2.17 by its second tag.
        (["manylinux_2_28_x86_64", "manylinux2014_x86_64"], needs("GLIBC_2.27"), ["GLIBC_2.27"]),
        (["linux_x86_64"], needs("GLIBC_2.39"), []),
        (["musllinux_1_2_x86_64"], needs("GLIBC_2.39"), []),
        (["manylinux_2_17_x86_64"], needs("GLIBCXX_3.4.20", library="libstdc++.so.6"), ["GLIBCXX_3.4.20"]),
        (["manylinux_2_28_x86_64"], needs("GLIBCXX_3.4.24", library="libstdc++.so.6"), []),
        # The libstdc++ of this tag is unknown, so there is no finding.
        (["manylinux_2_60_x86_64"], needs("GLIBCXX_3.4.99", library="libstdc++.so.6"), []),
        (["manylinux1_x86_64"], needs("GLIBC_2.9", weak=True), []),
        (["manylinux1_x86_64"], needs("GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "OMP_1.0"), []),
        ([], needs("GLIBC_2.39"), []),
    ],
)
def test_versions(tags: list[str], wanted: list[VersionNeed], expected: list[str]) -> None:
    declared = read_declared_tags(f"cp311-cp311-{tag}" for tag in tags)
    assert [e.version for e in versions_exceed(declared, wanted)] == expected


def test_a_bundled_libstdcxx_is_not_the_systems() -> None:
    declared = read_declared_tags(["cp311-cp311-manylinux2014_x86_64"])
    wanted = needs("GLIBCXX_3.4.30", library="libstdc++-abc.so.6")
    assert versions_exceed(declared, wanted)
    assert not versions_exceed(declared, wanted, bundled=["libstdc++-abc.so.6"])


@pytest.mark.parametrize(
    ("tags", "machine", "fits"),
    [
        (["cp311-cp311-manylinux_2_28_x86_64"], "x86_64", True),
        (["cp311-cp311-manylinux_2_28_x86_64"], "aarch64", False),
        (["cp311-cp311-linux_i686"], "i386", True),
        (["py3-none-any"], "x86_64", False),
        (["py3-none-win_amd64"], "x86_64", False),
        ([], "x86_64", True),
    ],
)
def test_machines(tags: list[str], machine: str, fits: bool) -> None:
    assert machine_fits(read_declared_tags(tags), machine) is fits


@table_rows
def test_module_names(file: str, tag: str, fits: bool) -> None:
    module = module_name(file)
    assert module is not None
    assert module.name == "_C"
    assert module_fits(read_declared_tags([f"{tag}-linux_x86_64"]), module) is fits


@pytest.mark.parametrize("file", ["libx.so.1", "lib-x.so", "x.txt", ".so", "a.b.so"])
def test_no_module_names(file: str) -> None:
    assert module_name(file) is None


@pytest.mark.parametrize(
    ("tag", "file", "expected"),
    [
        ("cp39-abi3", "_C.abi3.so", ("PyFrame_GetBack", "PyType_GetName", "_PyThreadState_UncheckedGet")),
        ("cp312-abi3", "_C.abi3.so", ("PyFrame_GetBack", "_PyThreadState_UncheckedGet")),
        ("cp311-cp311", "_C.abi3.so", ()),
        ("cp39-abi3", "_C.cpython-39-x86_64-linux-gnu.so", ()),
        ("py3-none", "libx.so", ("PyFrame_GetBack", "_PyThreadState_UncheckedGet")),
    ],
)
def test_beyond_the_stable_abi(tag: str, file: str, expected: tuple[str, ...]) -> None:
    """PyType_GetName was added in 3.11, PyFrame_GetBack never (Misc/stable_abi.toml of CPython)."""
    imports = [
        "PyType_GetName",
        "PyFrame_GetBack",
        "PyLong_FromLong",
        "_Py_Dealloc",
        "_PyThreadState_UncheckedGet",
        "malloc",
    ]
    declared = read_declared_tags([f"{tag}-linux_x86_64"])
    assert beyond_stable_abi(declared, module_name(file), imports, stable_abi()) == expected


def test_tags_of_name_and_metadata() -> None:
    name = ["py2-none-any", "py3-none-any"]
    assert differing_tags(name, ["py2-none-any", "py3-none-any"]) == ()
    assert differing_tags(name, ["py2.py3-none-any"]) == ()
    assert differing_tags(name, ["py3-none-any"]) == ("py2-none-any",)
    assert differing_tags(name, []) == ()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch==2.4.0", ("==2.4.0", "")),
        ("torch (>=2.4)", (">=2.4", "")),
        ("Torch", ("", "")),
        ('torch>=2; extra == "gpu"', (">=2", 'extra == "gpu"')),
        ('torch==2.1 ; python_version < "3.9"', ("==2.1", 'python_version < "3.9"')),
        ("pytorch >=2.4,<2.5.0a0", ("<2.5.0a0,>=2.4", "")),
        ("pytorch 2.4.0 cpu_py311_0", ("2.4.0", "")),
        ("torch @ https://example.org/torch.whl", ("", "")),
    ],
)
def test_requirements_on_torch(line: str, expected: tuple[str, str]) -> None:
    (found,) = torch_requirements([line])
    assert SpecifierSet(found.specifier if "=" in found.specifier else "") is not None
    assert (",".join(sorted(found.specifier.split(","))), found.marker) == expected


@pytest.mark.parametrize(
    "line", ["torchvision==0.19", "torch-geometric", "torch_scatter", "pytorch-lightning", "numpy", "torch ==", ""]
)
def test_no_requirements_on_torch(line: str) -> None:
    assert torch_requirements([line]) == ()


def test_versions_that_are_allowed() -> None:
    versions = ["2.3.1", "2.4.0", "2.4.1", "2.5.0"]
    here = [marker_environment("x86_64", PythonVersion(3, 11))]
    both = [TorchRequirement(">=2.4", ""), TorchRequirement("<2.5", "")]
    assert torch_allowed([TorchRequirement("==2.4.0", "")], versions, here) == ("2.4.0",)
    assert torch_allowed(both, versions, here) == ("2.4.0", "2.4.1")
    assert torch_allowed([TorchRequirement("", "")], versions, here) == tuple(versions)
    assert torch_allowed([TorchRequirement("==2.4.0", 'extra == "x"')], versions, here) is None
    assert torch_allowed([], versions, here) is None


def test_only_requirements_whose_marker_holds_count() -> None:
    """Markers as evaluated by `packaging` (dependency specifiers specification), for the wheel's own Pythons."""
    versions = ["2.3.1", "2.4.0", "2.5.0"]
    old = TorchRequirement("==2.3.1", 'python_version < "3.12"')
    new = TorchRequirement(">=2.5", 'python_version >= "3.12"')
    elsewhere = TorchRequirement("==2.4.0", 'sys_platform == "win32" or platform_machine == "aarch64"')
    asked = [old, new, elsewhere]
    places = {minor: marker_environment("x86_64", PythonVersion(3, minor)) for minor in (11, 13)}
    assert torch_allowed(asked, versions, [places[11]]) == ("2.3.1",)
    assert torch_allowed(asked, versions, [places[13]]) == ("2.5.0",)
    assert torch_allowed(asked, versions, places.values()) == ("2.3.1", "2.5.0")
    assert applicable(asked, [places[13]]) == (new,)
    assert torch_allowed([elsewhere], versions, places.values()) is None
    arm = [marker_environment("aarch64", PythonVersion(3, 11))]
    assert torch_allowed([elsewhere], versions, arm) == ("2.4.0",)


@pytest.mark.parametrize(
    ("file", "systems"),
    [
        ("a-1-cp311-cp311-win_amd64.whl", {OperatingSystem.WINDOWS}),
        ("a-1-cp311-cp311-macosx_11_0_universal2.whl", {OperatingSystem.MACOS}),
        ("a-1-cp311-cp311-musllinux_1_2_x86_64.whl", {OperatingSystem.LINUX}),
        ("a-1-py3-none-manylinux_2_28_x86_64.win_amd64.whl", {OperatingSystem.LINUX, OperatingSystem.WINDOWS}),
        ("a-1-py3-none-any.whl", set(OperatingSystem)),
        ("a-1-cp311-cp311-ios_13_0_arm64_iphoneos.whl", set()),
        ("archive.tar.gz", set(OperatingSystem)),
    ],
)
def test_the_systems_of_a_wheel(file: str, systems: set[OperatingSystem]) -> None:
    """By its platform tags (PyPA, "Platform compatibility tags")."""
    assert systems_of_wheel(file) == systems
