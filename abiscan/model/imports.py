"""Imports of a file, resolved against the libraries in scope (made by `loader`)."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.facts import Import


class DemangledBy(enum.StrEnum):
    """The demangler that accepted the name: GNU (libstdc++'s __cxa_demangle) or LLVM; NONE where neither did, or where
    the name is not mangled."""

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
    SELF = "self"
    OTHER = "other"


class Status(enum.StrEnum):
    """Result of resolving an import (CONTRACT; docs/architecture.md defines each)."""

    RESOLVED = "resolved"
    MISSING = "missing"
    WEAK = "weak"
    UNREACHABLE = "unreachable"
    UNDECIDED = "undecided"

    @property
    def is_unresolved(self) -> bool:
        """No library in the file's scope exports it, and the loader stops at it: MISSING or UNREACHABLE."""
        return self is Status.MISSING or self is Status.UNREACHABLE

    @property
    def may_be_unresolved(self) -> bool:
        """`is_unresolved`, or UNDECIDED, which may turn out to be: what causes are looked for."""
        return self.is_unresolved or self is Status.UNDECIDED


class CheckedImport(Struct, frozen=True, gc=False):
    """An import after its name was demangled and its provider looked up.

    Attributes:
        demangled: text of the demangler that accepted the name; None where none did or where it is a plain C name.
        provider: soname (or file name) of the library whose export satisfies it; for an UNREACHABLE one, the library
            that exports it outside of the file's scope; None otherwise.
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
