"""What the dynamic loader would do with a file on this machine (made by `loader`)."""

from __future__ import annotations

import enum
import os

from msgspec import Struct

TORCH_FAILS = "`import torch` itself fails: "
"""How the sentence begins about a torch that cannot be imported."""


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


class StopKind(enum.StrEnum):
    """Why a loader refuses a file."""

    UNDEFINED_SYMBOL = "undefined-symbol"
    VERSION_NOT_FOUND = "version-not-found"
    LIBRARY_NOT_FOUND = "library-not-found"
    WRONG_CLASS = "wrong-class"
    INVALID_FILE = "invalid-file"
    UNKNOWN_RELOCATION = "unknown-relocation"
    STATIC_TLS = "static-tls"
    ISA_LEVEL = "isa-level"
    ASSERTION = "assertion"
    CRASH = "crash"


class LoaderStop(Struct, frozen=True):
    """Where glibc's loader stops, and why.

    Attributes:
        object: the file it stops at, as it names that: the path it was found at, or the name that was searched for. For
            VERSION_NOT_FOUND it is the library that lacks the version.
        symbol: the mangled name that nothing exports (UNDEFINED_SYMBOL).
        version: the version asked for (UNDEFINED_SYMBOL where the reference has one, VERSION_NOT_FOUND).
        required_by: the file that asks for the version (VERSION_NOT_FOUND); empty for the executable.
        detail: the loader's own words (INVALID_FILE, ASSERTION), why torch does not find a library that it looks for
            itself (LIBRARY_NOT_FOUND), what the process dies of, where there are none (CRASH: SIGSEGV or SIGBUS in the
            loader, or in what it calls), the class that the file has (WRONG_CLASS: `ELFCLASS32`), the relocation type
            (UNKNOWN_RELOCATION: `0x2a`).
        errno: of the system call that failed; 0 where none did.
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
        """What `dlerror` says: `object: message`, and strerror where there is an errno (dlfcn/dlerror.c of glibc)."""
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
    """What `dlopen(file, RTLD_NOW | RTLD_LOCAL)` after `import torch` would do on this machine.

    Attributes:
        outcome: None where it cannot be predicted (not installed here, other architecture, or `undecided` says why).
        stop: where and why glibc's loader stops first, where it fails; None for musl's, which checks in another order.
        undecided: why no prediction is made, in a sentence.
        torch_fails: the loader stops at `import torch` itself, before the file.
    """

    outcome: LoaderOutcome | None
    stop: LoaderStop | None = None
    undecided: str | None = None
    torch_fails: bool = False

    @property
    def error(self) -> str | None:
        """The loader's own first message, where it is known to fail."""
        if self.stop is None:
            return None
        return f"{TORCH_FAILS}{self.stop.message}" if self.torch_fails else self.stop.message
