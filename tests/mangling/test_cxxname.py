"""The parts of a name. Expected parts are from the declarations."""

from __future__ import annotations

import pytest

from abiscan.mangling import SpecialKind, parse
from abiscan.mangling.parser.render import RenderStyle

CLANG = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"


def test_a_function_template_from_clang() -> None:
    name = parse(CLANG)
    assert name is not None
    assert name.kind is SpecialKind.FUNCTION
    assert name.scope == ("at", "TensorBase")
    assert name.base == "const_data_ptr"
    assert name.qualified == "at::TensorBase::const_data_ptr"
    assert name.namespace == "at"
    assert name.template_args == ("long", "0")
    assert name.parameters == ()
    assert name.in_style(RenderStyle.DISPLAY).ret == "long const*"
    assert name.qualifiers == ("const",)
    assert name.declares_parameters


@pytest.mark.parametrize(
    ("mangled", "kind", "scope", "base"),
    [
        ("_ZTVN5torch3jit6MethodE", "vtable", ("torch", "jit"), "Method"),
        ("_ZTTSd", "vtt", ("std",), "basic_iostream"),
        ("_ZTIN5torch2nn6ModuleE", "typeinfo", ("torch", "nn"), "Module"),
        ("_ZTSN5torch2nn6ModuleE", "typeinfo-name", ("torch", "nn"), "Module"),
        ("_ZTI3Foo", "typeinfo", (), "Foo"),
        ("_ZTCN1a1DE0_NS_1BE", "construction-vtable", ("a",), "D"),
        ("_ZGVZN3c104impl3fooEvE1x", "guard", ("c10", "impl", "foo"), "x"),
        ("_ZThn16_N5torch8autograd4NodeD1Ev", "thunk", ("torch", "autograd", "Node"), "~Node"),
        ("_ZTHN3c104impl26raw_local_dispatch_key_setE", "tls-init", ("c10", "impl"), "raw_local_dispatch_key_set"),
        ("_ZTWN3c104impl26raw_local_dispatch_key_setE", "tls-wrapper", ("c10", "impl"), "raw_local_dispatch_key_set"),
        ("_ZGRN1a1bE_", "reference-temporary", ("a",), "b"),
        ("_ZGTtNKSt9exception4whatEv", "transaction-clone", ("std", "exception"), "what"),
        ("_ZN3c104cuda20CUDACachingAllocator9allocatorE", "data", ("c10", "cuda", "CUDACachingAllocator"), "allocator"),
        ("_ZN3c105ErrorC2ENS_14SourceLocationESs", "function", ("c10", "Error"), "Error"),
        ("_ZN2at6TensoraSERKS0_", "function", ("at", "Tensor"), "operator="),
        ("_ZNK3c106IValuecvbEv", "function", ("c10", "IValue"), "operator bool"),
        ("_ZN2at12_GLOBAL__N_11fEv", "function", ("at", "(anonymous namespace)"), "f"),
        ("_ZNSs6appendEPKc", "function", ("std", "basic_string"), "append"),
        (
            "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
            "function",
            ("std", "basic_string"),
            "append",
        ),
        ("_ZN3c1013intrusive_ptrINS_10TensorImplEE5resetEv", "function", ("c10", "intrusive_ptr"), "reset"),
        ("_ZZN1a1fEvENKUlvE_clEv", "function", ("a", "f", "'lambda'"), "operator()"),
        ("_Z8cpu_gemmIfEvv", "function", (), "cpu_gemm"),
    ],
)
def test_parts(mangled: str, kind: str, scope: tuple[str, ...], base: str) -> None:
    name = parse(mangled)
    assert name is not None
    assert (name.kind, name.scope, name.base) == (kind, scope, base)


@pytest.mark.parametrize(
    ("mangled", "parameters"),
    [
        ("_ZN3c104cuda9SetDeviceEab", ("signed char", "bool")),
        (
            "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs",
            ("char const*", "char const*", "unsigned int", "std::string const&"),
        ),
        ("_Z1fIJicEEvDpT_", ("int", "char")),
        ("_Z1fIJEEvDpT_", ()),
        ("_Z1fPFivERA3_i", ("int (*)()", "int (&) [3]")),
        ("_ZN1a1bE", None),
        ("_ZTV1a", None),
    ],
)
def test_parameters(mangled: str, parameters: tuple[str, ...] | None) -> None:
    name = parse(mangled)
    assert name is not None
    assert name.parameters == parameters


def test_structors_qualifiers_tags_and_suffixes() -> None:
    base, deleting = parse("_ZN3c105ErrorC2ESs"), parse("_ZN3c105ErrorD0Ev")
    tagged = parse("_ZN3c1013MessageLogger6streamB5cxx11Ev")
    member, clone = parse("_ZNVKO1A1fEv"), parse("_ZN1a1fEv.isra.0.cold")
    assert base is not None
    assert base.variant == "C2"
    assert deleting is not None
    assert deleting.variant == "D0"
    assert tagged is not None
    assert tagged.abi_tags == ("cxx11",)
    assert tagged.has_cxx11_tag
    assert member is not None
    assert member.qualifiers == ("const", "volatile", "&&")
    assert clone is not None
    assert clone.suffix == ".isra.0.cold"
    assert clone.base == "f"


def test_names_are_equal_where_they_are_mangled_the_same() -> None:
    assert parse("_Z1fv") == parse("_Z1fv.cold".removesuffix(".cold"))
    assert parse("_Z1fv") != parse("_Z1gv")
    assert parse("_Z1fv") != "_Z1fv"
    assert len({parse("_Z1fv"), parse("_Z1fv"), parse("_Z1fi")}) == 2


@pytest.mark.parametrize(
    "mangled",
    ["", "printf", "_Z", "_Z3fo", "_ZN3c105Errr", "_Z1fT_", "_Z1fS_", "_Z1fv trailing", "_ZGVbN4v_sinf", "_ZN"],
)
def test_other_names_are_none(mangled: str) -> None:
    assert parse(mangled) is None
