"""Symbols of the C library, which every process loads, and functions of libstdc++ that older systems do not have."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from abiscan.data import read_compressed


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(read_compressed("glibc_names.txt.gz").splitlines()[1:])


def is_glibc_name(name: str) -> bool:
    """Whether glibc 2.36 exports a name, in any version (`tools/build_glibc_names.py` made the table)."""
    return name in _names()


ADDED: Mapping[str, str] = {
    "_ZSt28__throw_bad_array_new_lengthv": "GLIBCXX_3.4.29",
    "_ZSt21__glibcxx_assert_failPKciS0_S0_": "GLIBCXX_3.4.30",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm": "GLIBCXX_3.4.31",
    "_ZNSt7__cxx1112basic_stringIwSt11char_traitsIwESaIwEE15_M_replace_coldEPwmPKwmm": "GLIBCXX_3.4.31",
}
"""Mangled name -> the symbol version with which libstdc++ exports it (libstdc++-v3/config/abi/pre/gnu.ver of GCC). A
file that imports one without a version was linked when another library exported it, usually libtorch."""
