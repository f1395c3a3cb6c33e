"""Generates `abiscan/data/messages.json.gz` and `code_causes.json.gz`: the checked message catalogue as one file for
`explain`, and the rows of causes that code finds as one for every command."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from abiscan.diagnosis.catalogue.cause_row import CodeCauses, Line
from abiscan.diagnosis.catalogue.message_row import Answer, Catalogue
from tools.pattern_needs import needs_of
from tools.read_catalogue import read_catalogue, read_code_causes

# Members of rows that `explain` does not use.
_UNREAD = ("examples", "source")
FOLDER = Path(__file__).parents[1] / "abiscan" / "diagnosis" / "catalogue" / "messages"


@functools.cache
def checked_rows() -> Catalogue:
    """All rows, with examples.

    Raises:
        InvalidMessage: a file is invalid; the message names the file and the row.
    """
    return read_catalogue(FOLDER)


@functools.cache
def catalogue() -> Catalogue:
    """All rows, with examples, and with what matches of their lines and of finders need.

    Raises:
        InvalidMessage: a file is invalid; the message names the file and the row.
    """
    rows = checked_rows()
    finders = (msgspec.structs.replace(row, needs=needs_of(row.pattern)) for row in rows.finder)
    messages = (msgspec.structs.replace(row, needs=needs_of(row.line)) if row.line else row for row in rows.message)
    return msgspec.structs.replace(rows, finder=tuple(finders), message=tuple(messages))


def render(_current: str) -> str:
    """One line per row, for readable diffs; without examples and sources. Answers and finders by their names; a long
    fix of several causes once."""
    rows = catalogue()
    fixes = Counter(cause.fix for row in rows.answer for cause in row.cause)
    shared = {
        fix: str(at) for at, fix in enumerate(fix for fix, causes in fixes.items() if causes > 1 and len(fix) > 9)
    }
    finders = ",\n".join(f'"{row.name}": {_encoded(row)}' for row in rows.finder)
    answers = ",\n".join(f'"{row.id}": {_encoded(_with_names(row, shared))}' for row in rows.answer)
    lines = ",\n".join(f'"{name}": {msgspec.json.encode(fix).decode()}' for fix, name in shared.items())
    messages = ",\n".join(map(_encoded, rows.message))
    return (
        f'{{\n"finder": {{\n{finders}\n}},\n"answer": {{\n{answers}\n}},\n"shared_fix": {{\n{lines}\n}},\n'
        f'"message": [\n{messages}\n]\n}}\n'
    )


def _with_names(answer: Answer, shared: Mapping[tuple[Line, ...], str]) -> Answer:
    causes = (
        msgspec.structs.replace(cause, fix=(), shared_fix=shared[cause.fix]) if cause.fix in shared else cause
        for cause in answer.cause
    )
    return msgspec.structs.replace(answer, cause=tuple(causes))


def _encoded(row: msgspec.Struct) -> str:
    given = {key: value for key, value in msgspec.to_builtins(row).items() if key not in _UNREAD}
    return msgspec.json.encode(given).decode()


def code_causes() -> tuple[CodeCauses, ...]:
    """The rows of causes that code finds.

    Raises:
        InvalidMessage: the file is invalid; the message names the row.
    """
    return read_code_causes(FOLDER.parent / "code_causes.toml")


def render_code_causes(_current: str) -> str:
    """One line per row, for readable diffs; by their ids."""
    unread = ("values", "commands")
    rows = {row.id: {k: v for k, v in msgspec.to_builtins(row).items() if k not in unread} for row in code_causes()}
    return "{\n" + ",\n".join(f'"{name}": {msgspec.json.encode(row).decode()}' for name, row in rows.items()) + "\n}\n"
