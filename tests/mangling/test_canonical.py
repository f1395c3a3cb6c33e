"""Names of one entity have the same canonical form, names of two do not."""

from __future__ import annotations

import pytest

from abiscan.mangling import NameKind, classify, parse
from abiscan.mangling.canonical import to_cuda
from abiscan.mangling.cxxname import CxxName
from tests.mangling.compiled import rows
from tests.mangling.test_cxxname import CLANG
from tests.tables import table_rows
from tests.torch_here import exported

NVCC = CLANG.replace("sr3std", "sr4__T0")  # pytorch issue 174898
GCC = "_ZNK2at10TensorBase14const_data_ptrIlLi0EEEPKT_v"


def parsed(mangled: str) -> CxxName:
    name = parse(mangled)
    assert name is not None, mangled
    return name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # One declaration, three compilers.
        (CLANG, GCC),
        (CLANG, NVCC),
        # std::string of either ABI: the pairs are from issues and from exports of 2.6.0 and 2.7.0.
        (
            "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs",
            "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
        ),
        (
            "_ZN5torch3jit17parseSchemaOrNameERKSs",
            "_ZN5torch3jit17parseSchemaOrNameERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
        ),
        ("_ZNK5torch8autograd4Node4nameEv", "_ZNK5torch8autograd4Node4nameB5cxx11Ev"),
        ("_Z1fSt4listIiSaIiEE", "_Z1fNSt7__cxx114listIiSaIiEEE"),
        # Aliases of PyTorch's headers.
        ("_Z1fN3c108optionalIlEE", "_Z1fSt8optionalIlE"),
        ("_Z1fN3c109nullopt_tE", "_Z1fSt9nullopt_t"),
        ("_Z1fN3c1017basic_string_viewIcEE", "_Z1fSt17basic_string_viewIcSt11char_traitsIcEE"),
        ("_Z1fN2at3TagE", "_Z1fN5torch10headeronly3TagE"),
        (
            "_ZN3c107WarningC1ENS_7variantIJNS0_11UserWarningENS0_18DeprecationWarningEEEERKNS_14SourceLocationESsb",
            "_ZN3c107WarningC1ESt7variantIJNS0_11UserWarningENS0_18DeprecationWarningEEERKNS_14SourceLocationE"
            "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb",
        ),
        # Variants of one constructor.
        ("_ZN3c105ErrorC1ENS_14SourceLocationESs", "_ZN3c105ErrorC2ENS_14SourceLocationESs"),
        # A constraint, which GCC 12 omits.
        ("_ZN1n3conIiQsr3stdE8integralIT_EEEvS1_", "_ZN1n3conIiEEvT_"),
    ],
)
def test_same_entity(one: str, other: str) -> None:
    assert parsed(one).canonical == parsed(other).canonical
    assert parsed(one).entity == parsed(other).entity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("_ZN3c104cuda9SetDeviceEa", "_ZN3c104cuda9SetDeviceEab"),
        ("_ZN3c104cuda9SetDeviceEi", "_ZN3c104cuda9SetDeviceEa"),
        (GCC, "_ZNK2at10TensorBase14const_data_ptrIlEEPKT_v"),
        (GCC, "_ZNK2at10TensorBase14const_data_ptrIfLi0EEEPKT_v"),
        ("_ZNK2at10TensorBase8data_ptrIlEEPT_v", "_ZNK2at10TensorBase8data_ptrIxEEPT_v"),
        ("_ZNR1A1fEv", "_ZNO1A1fEv"),
    ],
)
def test_another_overload_or_instance(one: str, other: str) -> None:
    assert parsed(one).canonical != parsed(other).canonical
    assert parsed(one).entity == parsed(other).entity


@table_rows
def test_another_entity(one: str, other: str) -> None:
    assert parsed(one).canonical != parsed(other).canonical


def test_both_string_abis_declare_the_same_entities() -> None:
    """The same source, compiled with either; every name of one ABI only has a counterpart."""
    old = {parsed(name).canonical for compilers, name in rows() if "gcc-old" in compilers}
    new = {parsed(name).canonical for compilers, name in rows() if "gcc-new" in compilers}
    assert len(old) > 5
    assert old == new


def test_gcc_and_clang_name_the_same_entities() -> None:
    """The same source, compiled with GCC, Clang, and Clang in the form before version 18."""
    # Lambdas differ in linkage, inheriting constructors in substitutions, and Clang and GCC write different expressions
    # for these: `--t` (Clang omits the prefix mark), `t->~T()`.
    apart = ("n::J::J", "n::sub", "n::mem")
    forms: dict[str, dict[str, set[str]]] = {"gcc": {}, "clang": {}, "clang17": {}}
    for compilers, mangled in rows():
        name = parse(mangled)
        if name is None or not name.is_function or not name.entity.startswith(("n::", "at::")):
            continue
        if mangled.startswith(("_ZZ", "_ZNZ", "_ZNKZ")):
            continue
        if name.entity in apart or "lam" in name.entity:
            continue
        for compiler in compilers & forms.keys():
            forms[compiler].setdefault(name.entity, set()).add(name.canonical)
    common = forms["gcc"].keys() & forms["clang"].keys()
    assert len(common) > 60
    for entity in common:
        assert forms["clang"][entity] == forms["clang17"][entity]
        assert forms["gcc"][entity] == forms["clang"][entity]


@pytest.mark.torch
def test_entities_of_one_library_share_a_form_only_as_variants_of_a_constructor() -> None:
    """A linker merges one entity, so within a library nothing else may have the same canonical form."""
    seen: dict[tuple[str, str], str] = {}
    for mangled in exported("libc10.so"):
        if classify(mangled) is NameKind.CXX:
            name = parsed(mangled)
            assert seen.setdefault((name.canonical, name.variant), mangled) == mangled


@table_rows
def test_gpu_neutral(hip: str, cuda: str) -> None:
    assert parsed(hip).canonical != parsed(cuda).canonical
    assert parsed(hip).gpu_neutral == parsed(cuda).gpu_neutral


def test_words_with_hip_in_them_stay() -> None:
    assert to_cuda("relationship::chip::Ship") == "relationship::chip::Ship"
