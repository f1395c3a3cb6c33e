"""Subjects of an error message or log, with their causes (made by `diagnosis`)."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.cause import Cause
from abiscan.model.finding import Location
from abiscan.model.imports import DemangledBy, Owner
from abiscan.model.versions import ReleaseRanges


class SubjectKind(enum.StrEnum):
    SYMBOL = "symbol"
    LIBRARY = "library"
    VERSION = "version"
    PYTHON_NAME = "python-name"
    DYNAMO = "dynamo"
    COMPILE_ERROR = "compile-error"
    RUNTIME_ERROR = "runtime-error"
    FILE = "file"


class Subject(Struct, frozen=True):
    """A symbol, library or problem in an error message or log, with its causes.

    Attributes:
        title: what is wrong, in a sentence; empty if the first evidence of the first cause states it.
        message: id of the matching message pattern; None for a name by itself.
        near: similar exported names, if none is equal: the text may be mistyped.
    """

    text: str
    kind: SubjectKind
    mangled: str | None
    demangled: str | None
    demangled_by: DemangledBy
    owner: Owner | None
    exported_in: ReleaseRanges | None
    causes: tuple[Cause, ...]
    history: tuple[str, ...] = ()
    needed_by: str | None = None
    location: Location | None = None
    notes: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    message: str | None = None
    title: str = ""
