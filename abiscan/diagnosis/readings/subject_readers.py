"""Messages of the catalogue with a subject that code explains: a symbol, a library, a version."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from abiscan.diagnosis.catalogue.message_row import Message
from abiscan.diagnosis.readings.found_subjects import FoundSubject, LibrarySubject, SymbolSubject, VersionSubject
from abiscan.model.finding import Location

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
