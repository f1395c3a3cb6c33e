"""An import with its name read and its provider looked up, and what the loader would do (made by `loader`)."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.cause import Cause
from abiscan.model.facts import Import
from abiscan.model.versions import Windows


class DemangledBy(enum.StrEnum):
    """Whose demangler spoke: GNU (libstdc++'s __cxa_demangle), LLVM's, or none (no demangler accepts it, or it is
    no mangled name at all)."""

    GNU = "gnu"
    LLVM = "llvm"
    NONE = "none"


class Owner(enum.StrEnum):
    """Whose name an import is, as far as the name, its version or its provider tells."""

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
    """What became of an import (CONTRACT; docs/architecture.md defines each)."""

    RESOLVED = "resolved"
    MISSING = "missing"
    WEAK = "weak"
    UNREACHABLE = "unreachable"
    UNDECIDED = "undecided"


class BoundImport(Struct, frozen=True):
    """An import with its name read and its provider looked up.

    Attributes:
        demangled: text of the demangler that accepted the name; None where none did or where it is a plain C name.
        provider: soname (or file name) of the library whose export satisfies it; for an UNREACHABLE one, the library
            that exports it outside of the file's scope; None otherwise.
        windows: pairs (first, last) of public torch versions that export it; None where it was not looked up.
        causes: best first; only for imports that are missing, unreachable or undecided.
    """

    symbol: Import
    demangled: str | None
    demangled_by: DemangledBy
    owner: Owner
    status: Status
    provider: str | None
    windows: Windows | None = None
    causes: tuple[Cause, ...] = ()

    @property
    def name(self) -> str:
        """The mangled name."""
        return self.symbol.name


class NeededLibrary(Struct, frozen=True):
    """A DT_NEEDED entry and what the search made of it.

    Attributes:
        found: path of the file that serves it (for one that the process has loaded already, the loaded file);
            None where the search found none.
    """

    soname: str
    found: str | None


class LoaderOutcome(enum.StrEnum):
    LOADS = "loads"
    FAILS = "fails"


class LoaderPrediction(Struct, frozen=True):
    """What `dlopen(file, RTLD_NOW | RTLD_LOCAL)` after `import torch` would do on this machine.

    Attributes:
        outcome: None where it cannot be predicted (not installed here, other architecture, or `undecided` says why).
        error: the loader's own first message, where it fails.
        undecided: why no prediction is made, in a sentence.
    """

    outcome: LoaderOutcome | None
    error: str | None = None
    undecided: str | None = None
