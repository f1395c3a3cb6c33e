"""Names converted to another std::string, compared with exports of torch's own builds of either kind."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest

from abiscan.mangling import parse, string_abi
from abiscan.mangling.string_spelling import respelled
from abiscan.releases import open_index
from tests.programs import output_of

_NEW = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>"


def _read(name: str) -> str:
    parsed = parse(name)
    return "" if parsed is None else parsed.display


def _exported_by(version: str, abi: str, prefix: str) -> dict[str, str]:
    """Demangled text -> name, for the exports of a release with this std::string."""
    histories = open_index(earlier=True).prefix(prefix, "x86_64", 400_000)
    names = [name for name, h in histories.items() if any(build.torch == version for build in h.exporting_builds)]
    return {_read(name): name for name in names if string_abi(name) == abi}


def _reads(text: str) -> Callable[[str], bool]:
    return lambda name: _read(name) == text


@pytest.mark.parametrize("prefix", ["_ZN5torch3jit", "_ZN3c10", "_ZN5torch8autograd", "_ZNK3c10"])
def test_between_the_two_of_libstdcxx(prefix: str) -> None:
    """torch 2.6 has the old string and 2.7 the C++11 one, both from GCC."""
    old, new = _exported_by("2.6.0", "old", prefix), _exported_by("2.7.0", "new", prefix)
    texts = {read: read.replace(_NEW, "std::string") for read in new}
    pairs = {old[text]: (text, new[read]) for read, text in texts.items() if text in old}
    assert len(pairs) > 10
    for name, (text, other) in pairs.items():
        made = respelled(name, "new", _reads(_read(other)))
        back = respelled(other, "old", _reads(text))
        # None if parts of the string's spelling occur in the name by themselves, which is not supported.
        assert made in (other, None), name
        assert back in (name, None), other
        assert made is not None or "char_traits" in name or "SaIcE" in name or "cxx11" in other


# `int f(std::string const&, ns::T, std::string, ns::T)` and a constructor, in libc++'s inline namespace.
_SOURCE = """
namespace std { inline namespace __1 {
template <class T> struct char_traits; template <class T> struct allocator;
template <class C, class T = char_traits<C>, class A = allocator<C>> struct basic_string { C* p; };
using string = basic_string<char>; } }
namespace ns { struct T {}; struct E { E(T, std::string); }; E::E(T, std::string) {}
int f(std::string const&, T, std::string, T const*) { return 0; } }
"""


def test_of_libcxx() -> None:
    """Clang mangles declarations in libc++'s namespace."""
    clang = shutil.which("clang++") or shutil.which("clang++-14")
    if clang is None:
        pytest.skip("no clang++ here")
    compiled = output_of([clang, "-x", "c++", "-S", "-o", "-", "-"], input=_SOURCE)
    names = set(re.findall(r"\b_ZN2ns\w+", compiled))
    for old in ("_ZN2ns1fERKSsNS_1TESsPKS2_", "_ZN2ns1EC1ENS_1TESs", "_ZN2ns1EC2ENS_1TESs"):
        text = _read(old).replace(
            "std::string", "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>>"
        )
        assert respelled(old, "libc++", _reads(text)) in names


def test_what_it_leaves() -> None:
    """A name with parts like those of a string, one without a string, and one with another text."""
    assert respelled("_Z1fSt17basic_string_viewIcSt11char_traitsIcEESs", "new", lambda name: True) is None
    assert respelled("_Z1fi", "new", lambda name: True) is None
    assert respelled("_Z1fSs", "new", lambda name: False) is None
    assert respelled("_Z2Ssi", "new", lambda name: True) is None
