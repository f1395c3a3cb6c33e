"""Imports of a file, resolved against the libraries in scope (made by `loader`)."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.facts import Import


def is_cxx_name(name: str) -> bool:
    """Whether a name is mangled as GCC and Clang, or as Visual C++, mangle C++."""
    return name.startswith(("_Z", "?"))


class DemangledBy(enum.StrEnum):
    """The demangler that accepted the name: GNU (libstdc++'s __cxa_demangle) or LLVM; NONE if neither did or the name
    is not mangled."""

    GNU = "gnu"
    LLVM = "llvm"
    NONE = "none"


class Owner(enum.StrEnum):
    """The project that a symbol belongs to, detected from its name, version or provider."""

    TORCH = "torch"
    PYTHON = "python"
    CUDA = "cuda"
    HIP = "hip"
    CXX = "c++"
    LIBC = "libc"
    OPENMP = "openmp"
    SYSTEM = "system"
    """A library of Windows or macOS."""
    SELF = "self"
    OTHER = "other"


class Status(enum.StrEnum):
    """Result of resolving an import (CONTRACT; docs/explanation/loader.md defines each)."""

    RESOLVED = "resolved"
    MISSING = "missing"
    WEAK = "weak"
    UNREACHABLE = "unreachable"
    UNDECIDED = "undecided"

    @property
    def is_unresolved(self) -> bool:
        """Whether no library in the scope of the file exports it and the loader fails: MISSING or UNREACHABLE."""
        return self is Status.MISSING or self is Status.UNREACHABLE

    @property
    def may_be_unresolved(self) -> bool:
        """Whether it is unresolved or UNDECIDED. Causes are searched for these imports."""
        return self.is_unresolved or self is Status.UNDECIDED


class CheckedImport(Struct, frozen=True, gc=False):
    """A demangled and resolved import.

    Attributes:
        demangled: output of the demangler that accepted the name; None if none did or if it is a plain C name.
        provider: soname (or file name) of the library that exports it; for UNREACHABLE, the library outside of the
            scope of the file that exports it; else None.
    """

    symbol: Import
    demangled: str | None
    demangled_by: DemangledBy
    owner: Owner
    status: Status
    provider: str | None

    @property
    def name(self) -> str:
        """The mangled name."""
        return self.symbol.name
