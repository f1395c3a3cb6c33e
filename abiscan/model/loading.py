"""Prediction of `dlopen` for a file on this machine (made by `loader`)."""

from __future__ import annotations

import enum
import os

from msgspec import Struct

TORCH_FAILS = "`import torch` itself fails: "
"""Beginning of the sentence about a torch that cannot be imported."""


class NeededLibrary(Struct, frozen=True):
    """A DT_NEEDED entry with the result of the library search.

    Attributes:
        found: path of the library (of the loaded one, if the process has loaded it already); None if it was not found.
    """

    soname: str
    found: str | None


class LoaderOutcome(enum.StrEnum):
    LOADS = "loads"
    FAILS = "fails"


class StopKind(enum.StrEnum):
    """Reasons why a loader refuses a file."""

    UNDEFINED_SYMBOL = "undefined-symbol"
    VERSION_NOT_FOUND = "version-not-found"
    LIBRARY_NOT_FOUND = "library-not-found"
    MODULE_NOT_FOUND = "module-not-found"
    """Not an error of the loader: `import torch` raises it before torch opens a library."""
    WRONG_CLASS = "wrong-class"
    INVALID_FILE = "invalid-file"
    UNKNOWN_RELOCATION = "unknown-relocation"
    STATIC_TLS = "static-tls"
    ISA_LEVEL = "isa-level"
    ASSERTION = "assertion"
    CRASH = "crash"


class LoaderStop(Struct, frozen=True):
    """The first error of glibc's loader.

    Attributes:
        object: the file at which it stops, in the loader's notation: the path at which it was found, or the name that
            was searched for. For VERSION_NOT_FOUND, the library that lacks the version.
        symbol: the undefined symbol, mangled (UNDEFINED_SYMBOL).
        version: the required version (VERSION_NOT_FOUND, and UNDEFINED_SYMBOL for a versioned reference).
        required_by: the file that requires the version (VERSION_NOT_FOUND); empty for the executable.
        detail: the loader's message (INVALID_FILE, ASSERTION); the module (MODULE_NOT_FOUND); why torch does not find
            a library that it searches itself (LIBRARY_NOT_FOUND); the signal that kills the process (CRASH: SIGSEGV or
            SIGBUS in the loader or in a function that it calls); the class of the file (WRONG_CLASS: `ELFCLASS32`); the
            relocation type (UNKNOWN_RELOCATION: `0x2a`).
        errno: of the failed system call; 0 if none failed.
    """

    kind: StopKind
    object: str
    symbol: str | None = None
    version: str | None = None
    required_by: str = ""
    detail: str = ""
    errno: int = 0

    @property
    def message(self) -> str:
        """The text of `dlerror`: `object: message`, with strerror for an errno (dlfcn/dlerror.c of glibc)."""
        text = self._words
        if self.kind is StopKind.CRASH:
            return f"{self.object}: the process would die: {text}"
        if self.kind is StopKind.ASSERTION:
            return f"Inconsistency detected by ld.so: {text}"
        text = f"{self.object}: {text}" if self.object else text
        return f"{text}: {os.strerror(self.errno)}" if self.errno else text

    @property
    def _words(self) -> str:
        match self.kind:
            case StopKind.UNDEFINED_SYMBOL:
                version = "" if self.version is None else f", version {self.version}"
                return f"undefined symbol: {self.symbol}{version}"
            case StopKind.VERSION_NOT_FOUND:
                return f"version `{self.version}' not found (required by {self.required_by or 'the executable'})"
            case StopKind.LIBRARY_NOT_FOUND:
                return self.detail or "cannot open shared object file"
            case StopKind.MODULE_NOT_FOUND:
                return f"No module named '{self.detail}'"
            case StopKind.WRONG_CLASS:
                return f"wrong ELF class: {self.detail}"
            case StopKind.UNKNOWN_RELOCATION:
                return f"unexpected reloc type {self.detail}"
            case StopKind.STATIC_TLS:
                return "cannot allocate memory in static TLS block"
            case StopKind.ISA_LEVEL:
                return "CPU ISA level is lower than required"
            case StopKind.INVALID_FILE | StopKind.ASSERTION | StopKind.CRASH:
                return self.detail


class LoaderPrediction(Struct, frozen=True):
    """Prediction of `dlopen(file, RTLD_NOW | RTLD_LOCAL)` after `import torch` on this machine.

    Attributes:
        outcome: None if it cannot be predicted (not installed here, other architecture, or see `undecided`).
        stop: the first error of glibc's loader, if it fails.
        undecided: the reason why there is no prediction, as a sentence.
        torch_fails: whether `import torch` itself fails, before the file is loaded.
        strangers: paths of the libraries that LD_LIBRARY_PATH or LD_PRELOAD puts in place of others, if torch fails
            with them and not without them.
    """

    outcome: LoaderOutcome | None
    stop: LoaderStop | None = None
    undecided: str | None = None
    torch_fails: bool = False
    strangers: tuple[str, ...] = ()

    @property
    def error(self) -> str | None:
        """The first message of the loader, if it is known to fail."""
        if self.stop is None:
            return None
        return f"{TORCH_FAILS}{self.stop.message}" if self.torch_fails else self.stop.message
