"""The parts of a name. Expected parts are from the declarations."""

from __future__ import annotations

import pytest

from abiscan.mangling import SpecialKind, parse
from abiscan.mangling.parser.render import RenderStyle
from tests.tables import table_rows

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


@table_rows
def test_parts(mangled: str, kind: str, scope: tuple[str, ...], base: str) -> None:
    name = parse(mangled)
    assert name is not None
    assert (name.kind, name.scope, name.base) == (kind, scope, base)


@table_rows
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
