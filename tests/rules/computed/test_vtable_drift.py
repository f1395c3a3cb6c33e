"""vtable-drift: with a real extension's type information, and with literal vtables."""

from __future__ import annotations

import pytest

from abiscan.elf import open_elf
from abiscan.elf.typeinfo import DerivedClass, derived_classes
from abiscan.mangling import Demangler
from abiscan.model.cause import Confidence
from abiscan.rules import rule
from abiscan.rules.computed.vtable_drift import DriftSubject, Words, compare, find_drift, first_moved, functions_of
from tests.rules.reports import FIXTURES, index

RULE = rule("vtable-drift")
DEMANGLER = Demangler()
NODE = "N5torch8autograd4NodeE"


def releases() -> list[tuple[str, Words]]:
    tables = ((build.torch, index().vtable(NODE, build)) for build in index().builds("x86_64"))
    return [(release, words) for release, words in tables if words is not None]


def about(built_for: str | None, target: str, derived: tuple[DerivedClass, ...] | None = None) -> DriftSubject:
    def vtable(release: str | None) -> Words | None:
        return None if release is None else index().vtable(NODE, index().resolve(release))

    if derived is None:
        elf = open_elf(FIXTURES / "autograd-node-subclass.so")
        derived = derived_classes(elf, {f"_ZTI{NODE}"})
    return DriftSubject(
        derived=derived,
        module="_C.so",
        target=f"torch {target}",
        in_target=lambda _class: vtable(target),
        built_for=built_for,
        in_built_for=lambda _class: vtable(built_for),
        releases=lambda _class: releases(),
        readable=lambda name: DEMANGLER.demangle(name).text or name,
    )


def test_node_drifted_from_2_4_to_2_13() -> None:
    (finding,) = find_drift(RULE, about("2.4.1", "2.13.0"))
    # FACTS: 0x70 in 2.4.1, 0x98 in 2.13.0
    assert "152 bytes in torch 2.13.0 and 112 in torch 2.4.1" in finding.message
    assert "torch::autograd::Node" in finding.message
    assert finding.confidence is Confidence.MEDIUM


def test_no_finding_without_a_difference() -> None:
    assert find_drift(RULE, about("2.13.0", "2.13.0")) == ()
    assert find_drift(RULE, about("2.4.0", "2.4.1", (DerivedClass(f"_ZTI{NODE}", None, None),))) == ()


def test_the_files_own_table_tells_where_the_build_is_not_known() -> None:
    # The fixture was compiled with the headers of 2.13, where release_resources() became a virtual function of Node.
    (finding,) = find_drift(RULE, about(None, "2.4.1"))
    assert finding.confidence is Confidence.HIGH
    assert "112 bytes in torch 2.4.1 and 152 in torch 2.13.0-2.15.0" in finding.message
    assert "release_resources` is in slot 2 of the file's vtable and in no slot of the target's" in finding.message


@pytest.mark.parametrize(
    ("table", "moved"),
    [
        ((0, 0, None, "_ZN1A1fEv", "_ZN1A1gEv"), None),
        ((0, 0, None, "_ZN1B1fEv", "_ZN1A1gEv"), None),  # overridden: the owner of the slot is unknown
        ((0, 0, None, None, "_ZN1A1gEv", "_ZN1B3newEv"), None),  # its own function after those of the base
        ((0, 0, None, "_ZN1A1gEv"), 3),
        ((0, 0, None, "_ZN1A1fEv", None, "_ZN1A1gEv"), 5),
    ],
)
def test_inherited_functions_keep_their_slots(table: Words, moved: int | None) -> None:
    base = (0, "_ZTI1A", "_ZN1AD1Ev", "_ZN1A1fEv", "_ZN1A1gEv")
    assert first_moved(table, base, functions_of([base])) == moved


def test_no_finding_where_the_build_is_not_known() -> None:
    assert find_drift(RULE, about(None, "2.13.0")) == ()


def test_no_finding_without_a_derived_class() -> None:
    assert find_drift(RULE, about("2.4.1", "2.13.0", ())) == ()


def test_a_derived_vtable_that_is_too_small_needs_no_build() -> None:
    # torchaudio 2.4.1's CppNode<RNNTLossFunction>: 112 bytes, less than Node alone in 2.13.
    derived = (DerivedClass(f"_ZTI{NODE}", "_ZTIN2my4NodeE", 112),)
    (finding,) = find_drift(RULE, about(None, "2.13.0", derived))
    assert finding.confidence is Confidence.HIGH
    assert "the vtable of the class in the file has 112 bytes" in finding.message


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ((0, "_ZTI1A", "_ZN1A1fEv"), (0, "_ZTI1A", "_ZN1A1fEv"), False),
        ((0, "_ZTI1A", "_ZN1A1fEv"), (0, "_ZTI1A", "_ZN1A1fEv", "_ZN1A1gEv"), True),
        ((0, "_ZTI1A", "_ZN1A1fEv", "_ZN1A1gEv"), (0, "_ZTI1A", "_ZN1A1gEv", "_ZN1A1fEv"), True),
        # Only the std::string differs: the slot has the same function.
        (
            (0, "_ZTI1A", "_ZN1A1fESs"),
            (0, "_ZTI1A", "_ZN1A1fENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"),
            False,
        ),
        ((0, "_ZTI1A", "_ZNK1A4nameEv"), (0, "_ZTI1A", "_ZNK1A4nameB5cxx11Ev"), False),
        # A slot with an unknown function is no change.
        ((0, "_ZTI1A", None), (0, "_ZTI1A", "_ZN1A1fEv"), False),
        ((0, "_ZTI1A", "__cxa_pure_virtual"), (0, "_ZTI1A", "_ZN1A1fEv"), True),
    ],
)
def test_compare(old: Words, new: Words, changed: bool) -> None:
    assert (compare(old, new) is not None) is changed


def test_what_came_and_went() -> None:
    change = compare((0, "_ZTI1A", "_ZN1A1fEv"), (0, "_ZTI1A", "_ZN1A1gEv", "_ZN1A1hEv"))
    assert change is not None
    assert (change.added, change.removed, change.old_size) == (("_ZN1A1gEv", "_ZN1A1hEv"), ("_ZN1A1fEv",), 24)
