"""Subjects of messages that code explains: a symbol, a library, a symbol version."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from abiscan.model.finding import Location
from abiscan.model.subject import SubjectKind


class FoundSubject(Struct, frozen=True, kw_only=True):
    """Something that a text reports as missing.

    Attributes:
        text: the name.
        position: offset in the text, for the order.
        message: id of the message; None for a bare name.
        needed_by: the file or package that needs it, if known.
        location: in a source.
        by_linker: reported by a linker, not a loader.
    """

    text: str
    position: int
    message: str | None = None
    needed_by: str | None = None
    location: Location | None = None
    by_linker: bool = False

    kind: ClassVar[SubjectKind]

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies the subject."""
        return self.kind, self.text


class SymbolSubject(FoundSubject, frozen=True, kw_only=True):
    """An undefined symbol.

    Attributes:
        library: in its reference.
        version: requested version.
        macos: reported by a loader or linker of macOS.
        msvc: in the readable form of MSVC tools.
        cut_off: dots follow the name, so it is only the beginning.
        before_torch: a prompt shows that the file was imported without torch before it.
    """

    library: str | None = None
    version: str | None = None
    macos: bool = False
    msvc: bool = False
    cut_off: bool = False
    before_torch: bool = False

    kind: ClassVar[SubjectKind] = SubjectKind.SYMBOL

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies the subject."""
        return self.kind, self.text, self.version or ""


class LibrarySubject(FoundSubject, frozen=True, kw_only=True):
    """A library that was not found.

    Attributes:
        by_ldd: reported by `ldd`, which searches torch libraries without a Python process that loaded them.
        by_torch: torch itself was imported, not an extension.
        importer: a file of the last package in the traceback, if that is not torch.
        searched: folder of torch libraries in the linker's command (-L).
    """

    by_ldd: bool = False
    by_torch: bool = False
    importer: str | None = None
    searched: str | None = None

    kind: ClassVar[SubjectKind] = SubjectKind.LIBRARY


class VersionSubject(FoundSubject, frozen=True, kw_only=True):
    """A symbol version that a library does not define.

    Attributes:
        library: without the version.
    """

    library: str | None = None

    kind: ClassVar[SubjectKind] = SubjectKind.VERSION
