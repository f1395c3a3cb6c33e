"""The shipped release index, compared with earlier measurements and with nm. The ranges and vtable sizes below were
read with `nm -D -S` from the wheels on the package index, independently of the index reader."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from abiscan.errors import UnknownBuild
from abiscan.ownership.gpu_libraries import unfit_gpu
from abiscan.releases import Omission, ReleaseIndex, omission, open_index
from abiscan.releases.index import SHIPPED
from abiscan.releases.omission import recorded
from tests import torch_here
from tests.tables import table_rows

NEW_STRING = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
EVERY = (("1.13.0", "2.15.0"),)


@pytest.fixture(scope="module")
def index() -> ReleaseIndex:
    return open_index()


# --- ranges ------------------------------------------------------------------------------------------------------

RANGES = [
    ("_ZNK2at10TensorBase8data_ptrIfEEPT_v", EVERY),
    ("_ZNK2at10TensorBase8data_ptrIlEEPT_v", EVERY),
    ("_ZNK2at10TensorBase16mutable_data_ptrIfEEPT_v", (("2.1.0", "2.15.0"),)),
    ("_ZNK2at10TensorBase14const_data_ptrIfLi0EEEPKT_v", (("2.3.0", "2.11.0"),)),
    ("_ZNK2at10TensorBase14const_data_ptrIfEEPKT_v", (("2.1.0", "2.2.2"), ("2.12.0", "2.15.0"))),
    ("_ZN3c104impl3cow23materialize_cow_storageERNS_11StorageImplE", (("2.3.0", "2.12.1"),)),
    ("_ZN3c104cuda9SetDeviceEi", (("2.1.0", "2.2.2"),)),
    ("_ZN3c104cuda9SetDeviceEa", (("2.3.0", "2.7.1"),)),
    ("_ZN3c104cuda9SetDeviceEab", (("2.8.0", "2.15.0"),)),
    ("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs", (("1.13.0", "2.6.0"),)),
    (f"_ZN3c106detail14torchCheckFailEPKcS2_jRK{NEW_STRING}", (("2.7.0", "2.15.0"),)),
    ("_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib", (("2.0.0", "2.9.1"),)),
    ("_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb", (("2.10.0", "2.13.0"),)),
    ("_ZN3c1017RegisterOperatorsC1Ev", (("1.13.0", "2.1.2"),)),
]


@pytest.mark.parametrize(("name", "ranges"), RANGES, ids=[name for name, _ in RANGES])
def test_ranges(index: ReleaseIndex, name: str, ranges: tuple[tuple[str, str], ...]) -> None:
    history = index.history(name)
    assert history is not None
    assert history.exported_in == ranges


def test_the_clang_spelling_of_const_data_ptr_is_in_no_build(index: ReleaseIndex) -> None:
    name = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"
    assert index.history(name) is None
    # It is absent, and the rule does not omit it: so it is known to be missing.
    assert index.known_omitted(name) is None


def test_a_parameter_was_added_to_the_cuda_check_in_2_14(index: ReleaseIndex) -> None:
    found = index.prefix("_ZN3c104cuda29c10_cuda_check_implementation")
    since = [name for name, history in found.items() if history.exported_in == (("2.14.0", "2.15.0"),)]
    assert len(since) == 1
    assert since[0].startswith("_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb")
    assert len(found) == 4


def test_libtorch_python_hides_its_names_from_2_7_on(index: ReleaseIndex) -> None:
    """3,623 names of torch, at, c10 and THP in 2.6.0, some 240 in 2.7 (nm with demangled names)."""
    wrap = index.history("_Z16THPVariable_WrapN2at6TensorE") or index.history("_Z16THPVariable_WrapRKN2at10TensorBaseE")
    assert wrap is not None
    table = index.tables[0]
    counts = {}
    for version in ("2.6.0", "2.7.0"):
        position = table.builds.index(index.resolve(version))
        own = ("_ZN5torch", "_ZNK5torch", "_ZN2at", "_ZNK2at", "_ZN3c10", "_ZNK3c10", "THP")
        counts[version] = 0
        for name, number in table.names():
            export = table.record(number)[position] if name.startswith(own) else None
            counts[version] += export is not None and export.library == "libtorch_python.so"
    assert counts["2.6.0"] > 2000
    assert counts["2.7.0"] < 300


# --- variants -----------------------------------------------------------------------------------------------------


def test_thirty_releases_of_each_architecture_in_version_order(index: ReleaseIndex) -> None:
    x86 = [build.torch for build in index.builds("x86_64")]
    assert [build.torch for build in index.builds("aarch64")] == x86
    assert x86[0] == "1.13.0"
    assert x86[-1] == "2.15.0"
    assert x86.index("2.9.1") < x86.index("2.10.0")
    assert len(x86) == len(set(x86)) == 30


def test_string_abi_of_the_builds(index: ReleaseIndex) -> None:
    """Old until 2.6.0 on x86_64; aarch64 changed one release earlier."""
    x86 = {build.torch: build.cxx11_abi for build in index.builds("x86_64")}
    arm = {build.torch: build.cxx11_abi for build in index.builds("aarch64")}
    assert (x86["2.6.0"], x86["2.7.0"]) == (False, True)
    assert (arm["2.5.1"], arm["2.6.0"]) == (False, True)
    assert None not in {*x86.values(), *arm.values()}


def test_a_cpu_build_has_no_cuda_library(index: ReleaseIndex) -> None:
    arm = index.resolve("2.10.0", "aarch64")
    assert (arm.variant, arm.cuda) == ("cpu", None)
    assert not arm.ships("libc10_cuda.so")
    assert index.exports(arm, "_ZN3c104cuda9SetDeviceEab") is None
    assert index.resolve("2.11.0", "aarch64").ships("libc10_cuda.so")


@table_rows
def test_resolve(index: ReleaseIndex, spec: str, key: str) -> None:
    assert index.resolve(spec).key == key


@table_rows
def test_an_unknown_build_lists_what_is_known(index: ReleaseIndex, spec: str, says: str) -> None:
    with pytest.raises(UnknownBuild, match=says) as caught:
        index.resolve(spec)
    assert "\n" not in str(caught.value)


def test_newest(index: ReleaseIndex) -> None:
    assert index.newest().torch == "2.15.0"
    with pytest.raises(UnknownBuild, match="aarch64, x86_64"):
        index.newest("riscv64")


# --- data objects -------------------------------------------------------------------------------------------------

VTABLE_SIZES = [
    ("N5torch8autograd4NodeE", 0x70, 0x78, 0x98),
    ("N3c1010TensorImplE", 0xF8, 0xF8, 0x110),
    ("N3c1011StorageImplE", 0x28, 0x28, 0x40),
    ("N4c10d7BackendE", 0x120, 0x160, 0x1C8),
    ("N4c10d12ProcessGroupE", 0xF0, 0x130, 0x188),
]


@pytest.mark.parametrize(
    ("cls", "in_2_4_1", "in_2_8_0", "in_2_13_0"), VTABLE_SIZES, ids=[row[0] for row in VTABLE_SIZES]
)
def test_vtables(index: ReleaseIndex, cls: str, in_2_4_1: int, in_2_8_0: int, in_2_13_0: int) -> None:
    for version, size in (("2.4.1", in_2_4_1), ("2.8.0", in_2_8_0), ("2.13.0", in_2_13_0)):
        build = index.resolve(version)
        export = index.exports(build, f"_ZTV{cls}")
        assert export is not None
        assert export.size == size
        words = index.vtable(cls, build)
        assert words is not None
        assert len(words) * 8 == size
        assert words[:2] == (0, f"_ZTI{cls}")
        assert None not in words


def test_which_virtual_functions_came_to_node(index: ReleaseIndex) -> None:
    """The reference counting of Python objects moved to intrusive_ptr_target: torch/csrc/autograd/function.h."""
    old, new = (index.vtable("_ZTVN5torch8autograd4NodeE", index.resolve(v)) for v in ("2.8.0", "2.13.0"))
    assert old is not None
    assert new is not None
    came = set(new) - set(old)
    assert {
        "_ZNK5torch8autograd4Node15incref_pyobjectEv",
        "_ZNK5torch8autograd4Node15decref_pyobjectEv",
        "_ZNK5torch8autograd4Node19try_incref_pyobjectEv",
    } <= came


@pytest.mark.parametrize(
    ("name", "weak"),
    [
        ("_ZNK2at10TensorBase8data_ptrIfEEPT_v", True),
        ("_ZN2at4_ops9randn_out4callEN3c108ArrayRefINS2_6SymIntEEERNS_6TensorE", False),
    ],
)
def test_a_function_has_no_size(index: ReleaseIndex, name: str, weak: bool) -> None:
    """nm marks the explicit instantiation W and the operator T."""
    export = index.exports(index.resolve("2.13.0"), name)
    assert export is not None
    assert (export.library, export.size, export.weak) == ("libtorch_cpu.so", None, weak)


# --- omitted names ------------------------------------------------------------------------------------------------


@table_rows
def test_rule_of_omission(index: ReleaseIndex, name: str, reason: Omission | None) -> None:
    assert index.known_omitted(name) == reason


def test_names_that_no_other_file_can_ask_for_are_not_in_the_index(index: ReleaseIndex) -> None:
    assert not [name for name, _number in index.tables[0].names() if not recorded(name)]


def test_symbols_of_other_owners_are_looked_up_separately(index: ReleaseIndex) -> None:
    """nm -D libc10.so of 2.13.0 lists this function of libstdc++ 13; a file's releases are computed without it."""
    name = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm"
    assert index.history(name) is None
    assert not index.prefix(name)
    assert index.known_omitted(name) is not None
    assert index.exports(index.resolve("2.13.0"), name) is not None
    assert index.exports(index.resolve("2.0.0"), name) is None


def test_further_libraries_of_a_build(index: ReleaseIndex) -> None:
    """DT_NEEDED of the libraries in torch's wheels (readelf)."""
    assert {"libcudart.so.12", "libcudnn.so.9", "libnccl.so.2"} <= set(index.resolve("2.8.0").brings)
    assert "libcudart.so.13" in index.resolve("2.15.0").brings
    assert not any(name.startswith("libcu") for name in index.resolve("2.4.1", "aarch64").brings)


# --- the installed torch, compared with nm ------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize(("library", "allowed"), [("libc10.so", 0), ("libtorch_python.so", 1), ("libtorch_cpu.so", 1)])
def test_every_name_that_nm_lists_is_in_build_2_13(index: ReleaseIndex, library: str, allowed: int) -> None:
    """The index has the CUDA build of 2.13.0 for one CPython. These libraries of the CPU build, and libtorch_python for
    another CPython (_torch_PyOpcode_Jump, only for 3.12), differ from it in one name each."""
    assert torch_here.version()[0] == "2.13.0"
    build = index.resolve("2.13.0")
    same_python = build.python == f"cp3{sys.version_info.minor}"
    allowed = 0 if torch_here.version()[1] != "cpu" and same_python else allowed
    path = torch_here.library(library)
    done = subprocess.run(
        ["nm", "-D", "--defined-only", "-S", "--format=posix", path], capture_output=True, text=True, check=True
    )
    sizes = {}
    for line in done.stdout.splitlines():
        name, _kind, _value, *size = line.split()
        if omission(name) is None:
            sizes[name] = int(size[0], 16) if size else 0
    assert len(sizes) > 900
    found = {name: history.export(build) for name, history in index.lookup(sizes).items()}
    missing = [name for name in sizes if found.get(name) is None]
    assert len(missing) <= allowed
    for name, export in found.items():
        if export is not None:
            assert library in export.libraries
            # CPython types that libtorch_python defines have the size in the CPython of the wheel.
            if library != "libtorch_python.so" or same_python:
                assert export.size in (None, sizes[name])


# --- budget -------------------------------------------------------------------------------------------------------


def test_the_index_fits_in_the_package() -> None:
    assert os.path.getsize(SHIPPED) <= 4 * 1024 * 1024


def test_a_cuda_library_that_a_build_ships_under_a_name_of_its_own_is_served(index: ReleaseIndex) -> None:
    """torch 1.13.1's wheel has libcudart-e409450e.so.11.0 in torch/lib, and its METADATA requires
    nvidia-cuda-runtime-cu11==11.7.99, whose wheel has libcudart.so.11.0."""
    (build,) = [build for build in index.builds("x86_64") if build.torch == "1.13.1"]
    assert "libcudart-e409450e.so.11.0" in build.libraries
    assert "libcudart.so.11.0" in build.provided_libraries
    assert unfit_gpu(["libcudart.so.11.0"], build.provided_libraries) is None
    assert unfit_gpu(["libcudart.so.12"], build.provided_libraries) == "CUDA 11"
