"""Reads the JSON of an earlier `abiscan migrate`, as far as a later run shows it."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from abiscan.errors import UsageError
from abiscan.inputs.named_file import read_named
from abiscan.model.migration_plan import EarlierPlan
from abiscan.model.report import SCHEMA_VERSION


class _File(Struct, frozen=True):
    path: str
    rewrite: int


class _Document(Struct, frozen=True):
    schema_version: int
    done: float | None
    files: tuple[_File, ...]


def read_earlier_plan(path: str) -> EarlierPlan:
    """The plan in a file.

    Raises:
        UsageError: it cannot be read, or is not the JSON of `abiscan migrate`.
    """
    advice = f"write it with abiscan migrate PATH -f json:{path}"
    try:
        document = msgspec.json.decode(read_named(path, "the earlier plan"), type=_Document)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; {advice}") from None
    except (msgspec.DecodeError, RecursionError):
        raise UsageError(f"{path}: not a plan of abiscan migrate; {advice}") from None
    if document.schema_version != SCHEMA_VERSION:
        raise UsageError(f"{path}: schema version {document.schema_version}, not {SCHEMA_VERSION}; {advice}")
    return EarlierPlan(path, document.done, {file.path: file.rewrite for file in document.files})
