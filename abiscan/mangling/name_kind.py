"""The language or mangling scheme of a symbol name, from its prefix; the rest of the name is not checked.

A name that is not C++ is never malformed, whatever a C++ demangler makes of it.
"""

from __future__ import annotations

import enum
from typing import Final

_DIGITS: Final = frozenset("0123456789")
_HEX: Final = frozenset("0123456789abcdef")
# <isa> of the vector function ABIs: x86 (b SSE, c AVX, d AVX2, e AVX-512), AArch64 (n Advanced SIMD, s SVE).
# https://sourceware.org/glibc/wiki/libmvec?action=AttachFile&do=view&target=VectorABI.txt, and "Vector Function ABI
# Specification for AArch64" (ARM IHI 0101), section 3.5.
_VECTOR_ISA: Final = frozenset("bcdens")


class NameKind(enum.StrEnum):
    """CXX: Itanium C++ (`_Z`). VECTOR_ABI: a vector variant of a C function (`_ZGVbN4v_sinf`). RUST: v0 (`_R`) or
    legacy (`_ZN...17h<hash>E`). D: `_D<digit>`. SWIFT: `$s`, `_$s`. MSVC: `?`. MACHO: C++ with the underscore that
    Mach-O puts before every name (`__Z`). C: everything else."""

    CXX = "cxx"
    VECTOR_ABI = "vector-abi"
    C = "c"
    RUST = "rust"
    D = "d"
    SWIFT = "swift"
    MSVC = "msvc"
    MACHO = "macho"


def classify(mangled: str) -> NameKind:
    """The kind of a name."""
    if mangled.startswith("_Z"):
        if mangled.startswith("_ZGV") and _is_vector_variant(mangled):
            return NameKind.VECTOR_ABI
        if "17h" in mangled and _is_legacy_rust(mangled):
            return NameKind.RUST
        return NameKind.CXX
    first = mangled[:1]
    if first == "_":
        second = mangled[1:2]
        following = mangled[2:3]
        if second == "R" and (following in _DIGITS or following in ("N", "I", "C", "M", "X", "Y")) and following:
            return NameKind.RUST
        if second == "D" and following in _DIGITS and following:
            return NameKind.D
        if second == "_" and following == "Z":
            return NameKind.MACHO
        if mangled.startswith(("_$s", "_$S")):
            return NameKind.SWIFT
        if mangled.startswith("__imp_?"):
            return NameKind.MSVC
    elif first == "?":
        return NameKind.MSVC
    elif first == "$" and mangled[1:2] in ("s", "S"):
        return NameKind.SWIFT
    return NameKind.C


def _is_vector_variant(name: str) -> bool:
    """_ZGV <isa> <mask> <vlen> <parameters> _ <scalar name>

    A guard variable (`_ZGV` and a <name>) never begins like this: its <name> begins with N, Z, S, L, a digit or an
    operator.
    """
    if name[4:5] not in _VECTOR_ISA or name[5:6] not in ("N", "M"):
        return False
    at = 6
    if name[at : at + 1] == "x":
        at += 1
    else:
        start = at
        while name[at : at + 1] in _DIGITS and at < len(name):
            at += 1
        if at == start:
            return False
    underscore = name.find("_", at)
    return underscore >= at and underscore + 1 < len(name)


def _is_legacy_rust(name: str) -> bool:
    """_ZN ... 17h <16 hexadecimal digits> E, with a suffix or without"""
    if not name.startswith("_ZN"):
        return False
    end = name.find(".")
    body = name if end < 0 else name[:end]
    # Rust keeps . in identifiers, but the hash comes last.
    if not body.endswith("E"):
        body = name
    return body[-20:-17] == "17h" and body[-1:] == "E" and all(char in _HEX for char in body[-17:-1])
