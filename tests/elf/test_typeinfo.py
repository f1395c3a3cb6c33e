"""Derived classes, from type information."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.elf import open_elf
from abiscan.elf.typeinfo import DerivedClass, derived_classes

FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_subclass_of_node() -> None:
    # The sizes are from readelf -sW for the fixture's own _ZTV.
    elf = open_elf(FIXTURES / "autograd-node-subclass.so")
    found = derived_classes(elf, {"_ZTIN5torch8autograd4NodeE"})
    (node,) = found
    assert replace(node, slots=None) == DerivedClass("_ZTIN5torch8autograd4NodeE", "_ZTIN5myext13ScaleBackwardE", 152)
    # `readelf -rW`: the relocations with symbols of the 19 words at _ZTVN5myext13ScaleBackwardE.
    assert node.slots is not None
    assert len(node.slots) == 19
    assert {at: name for at, name in enumerate(node.slots) if isinstance(name, str)} == {
        4: "_ZN5torch8autograd4Node17release_resourcesEv",
        8: "_ZNK5torch8autograd4Node4nameB5cxx11Ev",
        18: "_ZN5myext13ScaleBackward5applyEOSt6vectorIN2at6TensorESaIS3_EE",
    }


SOURCE = """
namespace base {
struct A { virtual ~A(); virtual void f(); };
struct B { virtual ~B(); virtual void g(); };
struct E { virtual ~E(); };
}
%s
"""
CASES = {
    "single": ("struct D : base::A { void f() override; }; void D::f() {}", ["_ZTIN4base1AE"]),
    "two bases": (
        "struct D : base::A, base::B { void f() override; }; void D::f() {}",
        ["_ZTIN4base1AE", "_ZTIN4base1BE"],
    ),
    "virtual base": ("struct D : virtual base::A { void f() override; }; void D::f() {}", ["_ZTIN4base1AE"]),
    "only calls": ("void call(base::A& a) { a.f(); }", []),
    "caught": ("void may(); void call() { try { may(); } catch (base::E&) { } }", []),
    "thrown": ("void call() { throw base::E(); }", []),
    "cast": ("bool call(base::A* a) { return dynamic_cast<base::B*>(a) != nullptr; }", []),
    "member": ("struct D { virtual ~D(); base::A a; }; D::~D() {}", []),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_only_derivation_counts(compiler: str, text: str, expected: list[str], tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source, target = tmp_path / "x.cpp", tmp_path / "x.so"
    source.write_text(SOURCE % text)
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", target], check=True)
    elf = open_elf(target)
    if "catch" in text or "throw" in text or "cast" in text:
        # A search for the import alone would report these.
        assert any(each.name.startswith("_ZTIN4base") for each in elf.imports)
    assert [each.base for each in derived_classes(elf) if "base" in each.base] == expected
