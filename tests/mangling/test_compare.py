"""Differences, the std::string ABI, and search prefixes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pytest

from abiscan.mangling import (
    DifferenceKind,
    NameKind,
    classify,
    differences,
    parse,
    search_prefixes,
    string_abi,
    string_abis,
)
from abiscan.mangling.cxxname import CxxName
from tests.mangling.compiled import rows
from tests.mangling.test_canonical import GCC, NVCC, parsed
from tests.mangling.test_cxxname import CLANG
from tests.torch_here import exported

NEW = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("_Z1fv", "_Z1fv", []),
        (CLANG, GCC, [("template-mangling", None)]),
        (CLANG, NVCC, [("template-mangling", None)]),
        ("_ZN1a1fEPKcRKSs", f"_ZN1a1fEPKcRK{NEW}", [("string-abi", 1)]),
        ("_ZNK1a4nameEv", "_ZNK1a4nameB5cxx11Ev", [("abi-tag", None)]),
        ("_ZN3c104cuda9SetDeviceEa", "_ZN3c104cuda9SetDeviceEab", [("parameters", 1)]),
        ("_ZN3c104cuda9SetDeviceEi", "_ZN3c104cuda9SetDeviceEa", [("parameters", 0)]),
        # One parameter was inserted: the others are unchanged.
        ("_Z1fibd", "_Z1ficbd", [("parameters", 1)]),
        # Entries that are repeated: the fewest differences.
        ("_Z1fiii", "_Z1ficii", [("parameters", 1)]),
        ("_Z1fici", "_Z1fiii", [("parameters", 1)]),
        ("_Z1fibcdi", "_Z1fibcii", [("parameters", 3)]),
        # Found by fuzzing: 10,000 parameters against each relative took seconds. Only the first difference is listed.
        (f"_Z1f{'i' * 10_000}", f"_Z1f{'i' * 300}{'c' * 9_000}", [("parameters", 300)]),
        (f"_Z1f{'i' * 10_000}", "_Z1fi", [("parameters", 1)]),
        ("_Z1fN3c108optionalIlEE", "_Z1fSt8optionalIlE", [("namespace-alias", 0)]),
        (GCC, "_ZNK2at10TensorBase14const_data_ptrIlEEPKT_v", [("template-args", 1)]),
        ("_ZN1aIiE1fEv", "_ZN1aIcE1fEv", [("template-args", None)]),
        ("_Z1fIiEiv", "_Z1fIiElv", [("return-type", None)]),
        ("_ZN1a1fEv", "_ZNK1a1fEv", [("qualifiers", None)]),
        ("_ZN1aC1Ev", "_ZN1aC2Ev", [("constructor-variant", None)]),
        ("_ZN1a1fEv", "_ZN1a1gEv", [("entity", None)]),
        (
            "_ZN3c105ErrorC2ENS_14SourceLocationESs",
            f"_ZN3c105ErrorC1ENS_14SourceLocationE{NEW}b",
            [("string-abi", 1), ("parameters", 2), ("constructor-variant", None)],
        ),
    ],
)
def test_differences(old: str, new: str, expected: list[tuple[str, int | None]]) -> None:
    found = differences(parsed(old), parsed(new))
    assert [(difference.kind, difference.index) for difference in found] == expected


def test_a_difference_shows_both_sides() -> None:
    (difference,) = differences(parsed("_ZN3c104cuda9SetDeviceEi"), parsed("_ZN3c104cuda9SetDeviceEa"))
    assert (difference.old, difference.new) == ("int", "signed char")
    (difference,) = differences(parsed("_Z1fi"), parsed("_Z1fib"))
    assert (difference.old, difference.new) == (None, "bool")


def exported_kin() -> Iterable[list[CxxName]]:
    """The C++ names that libc10 exports, by entity."""
    by_entity: dict[str, list[CxxName]] = defaultdict(list)
    for name in exported("libc10.so"):
        if classify(name) is NameKind.CXX:
            by_entity[parsed(name).entity].append(parsed(name))
    return by_entity.values()


@pytest.mark.torch
def test_every_pair_of_distinct_names_differs_in_something() -> None:
    pairs = [(a, b) for kin in exported_kin() for a in kin[:4] for b in kin[:4] if a is not b]
    assert len(pairs) > 200
    mangling = DifferenceKind.TEMPLATE_MANGLING
    for a, b in pairs:
        found = differences(a, b)
        assert found
        # One library contains nothing twice, so the difference is never only the mangling.
        assert any(difference.kind is not mangling for difference in found), (a, b)


@pytest.mark.parametrize(
    ("mangled", "abi"),
    [
        ("_ZN3c105ErrorC2ENS_14SourceLocationESs", "old"),
        (f"_ZN3c105ErrorC2ENS_14SourceLocationE{NEW}", "new"),
        ("_Z1fSt6vectorISsSaISsEE", "old"),
        (f"_Z1fSt6vectorI{NEW}SaIS5_EE", "new"),
        ("_ZNSs6appendEPKc", "old"),
        ("_Z1fSt4listIiSaIiEE", "old"),
        ("_Z1fNSt7__cxx114listIiSaIiEEE", "new"),
        ("_Z1fRSt18basic_stringstreamIcSt11char_traitsIcESaIcEE", "old"),
        ("_Z1fSbIwSt11char_traitsIwESaIwEE", "old"),
        # Only a tag, streams, views and a similar namespace: neither.
        ("_ZN3c1013MessageLogger6streamB5cxx11Ev", None),
        ("_Z1fRSo", None),
        ("_Z1fSt17basic_string_viewIcSt11char_traitsIcEE", None),
        ("_ZN1a7__cxx111fEv", None),
        ("_ZN2at5SstopEv", None),
        ("printf", None),
    ],
)
def test_string_abi(mangled: str, abi: str | None) -> None:
    assert string_abi(mangled) == abi


@pytest.mark.parametrize("order", [1, -1])
def test_of_many_names_the_first_with_each_string_abi(order: int) -> None:
    """The same as one by one."""
    names = [name for _, name in rows()][::order]
    expected: dict[str, str] = {}
    for name in names:
        abi = string_abi(name)
        if abi is not None:
            expected.setdefault(abi, name)
    assert string_abis(names) == expected
    assert set(expected) == {"old", "new"}
    only_new = [name for name in names if string_abi(name) != "old"]
    assert string_abis(only_new) == {"new": expected["new"]}
    assert string_abis([]) == {}


def test_string_abi_of_compiled_names() -> None:
    """Names in the old ABI's compilation only contain the old string, likewise for the C++11 one."""
    checked = 0
    for compilers, mangled in rows():
        if not parsed(mangled).is_function or parsed(mangled).abi_tags:
            continue
        for abi in ("old", "new"):
            if (
                all(compiler.endswith("-" + abi) for compiler in compilers)
                and mangled.replace("B5cxx11", "") == mangled
            ):
                checked += 1
                assert string_abi(mangled) == abi or f"{mangled[:-2]}B5cxx11Ev" in {name for _, name in rows()}
    assert checked > 6


@pytest.mark.torch
@pytest.mark.parametrize("library", ["libc10.so", "libtorch_python.so"])
def test_prefixes_find_the_name_itself(library: str) -> None:
    for mangled in exported(library):
        name = parse(mangled)
        if name is not None:
            assert mangled.startswith(search_prefixes(name)), mangled


@pytest.mark.torch
def test_prefixes_find_every_kin() -> None:
    """Overloads, instances and qualified variants, from either end of the table."""
    for kin in exported_kin():
        # A thunk's offset precedes its name and is part of the search.
        if kin[0].mangled.startswith("_ZTh"):
            continue
        for name in (kin[0], kin[-1]):
            prefixes = search_prefixes(name)
            assert all(other.mangled.startswith(prefixes) for other in kin)


@pytest.mark.parametrize(
    ("mangled", "found"),
    [
        (CLANG, GCC),
        ("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs", f"_ZN3c106detail14torchCheckFailEPKcS2_jRK{NEW}"),
        ("_ZNSs6appendEPKc", "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc"),
        ("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc", "_ZNSs6appendEPKc"),
        (
            "_ZN3c103hip28c10_hip_check_implementationEiPKcS2_ib",
            "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib",
        ),
        (
            "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib",
            "_ZN3c103hip28c10_hip_check_implementationEiPKcS2_ib",
        ),
        ("_ZN3c104cuda20getCurrentCUDAStreamEa", "_ZN3c103hip37getCurrentHIPStreamMasqueradingAsCUDAEa"),
        ("_ZN3c108optionalIlE5valueEv", "_ZNSt8optionalIlE5valueEv"),
        ("_ZNSt8optionalIlE5valueEv", "_ZN3c108optionalIlE5valueEv"),
        ("_ZN1AplERKS_", "_ZNK1AplEi"),
        ("_ZZN1AC1EvE1x", "_ZZN1AC2EiE1y"),
        ("_ZTVN2at3TagE", "_ZTVN5torch10headeronly3TagE"),
        ("_ZSt4sortIPiEvT_S1_", "_ZSt4sortIPlEvT_S1_"),
        ("_Z8cpu_gemmIfEvv", "_Z8cpu_gemmIdEvv"),
    ],
)
def test_prefixes_cross_spellings(mangled: str, found: str) -> None:
    assert found.startswith(search_prefixes(parsed(mangled)))
