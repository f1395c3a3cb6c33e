"""Subjects of messages that code explains: a symbol, a library, a symbol version; and what reads them from rows of the
catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Final

import msgspec
from msgspec import Struct

from abiscan.diagnosis.catalogue.message_row import Message
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
        by_python: an exception of Python has the message.
        before_torch: a prompt shows that the file was imported without torch before it.
    """

    library: str | None = None
    version: str | None = None
    macos: bool = False
    msvc: bool = False
    cut_off: bool = False
    by_python: bool = False
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


SUBJECTS: Final[Mapping[str, type[FoundSubject]]] = {
    "symbol": SymbolSubject,
    "library": LibrarySubject,
    "version": VersionSubject,
}
"""Names of subjects in rows."""


@cache
def _fields_of(kind: type[FoundSubject]) -> Mapping[str, bool]:
    """The fields of a subject, and which of them are flags. Cached: a log may have thousands of subjects."""
    return {field.name: field.type is bool for field in msgspec.structs.fields(kind)}


def read_subject(message: Message, position: int, values: Mapping[str, str]) -> FoundSubject | None:
    """The subject of a message; None if the text ends before its name.

    Args:
        position: offset in the text.
    """
    assert message.subject is not None
    if not values.get("text"):
        return None
    kind = SUBJECTS[message.subject]
    given: dict[str, Any] = {
        name: is_flag or values[name] for name, is_flag in _fields_of(kind).items() if values.get(name)
    }
    return kind(**{**given, "message": message.id, "position": position, "location": location_of(values)})


def location_of(values: Mapping[str, str]) -> Location | None:
    """The source location in the values `source_file`, `source_line` and `source_function`."""
    file, line = values.get("source_file"), values.get("source_line")
    if file is None:
        return None
    return Location(function=values.get("source_function"), file=file, line=int(line) if line else None)
