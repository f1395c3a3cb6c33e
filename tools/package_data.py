"""Generates `abiscan/data/packages.json.gz` (packages and libraries of the system), `text_facts.json.gz`,
`mentions.json.gz` and `inlined_calls.json`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from abiscan.diagnosis.catalogue.cause_row import InlinedCall
from abiscan.diagnosis.catalogue.package_row import PackageCatalogue
from abiscan.diagnosis.catalogue.text_fact_row import Mention, TextFact
from tools.pattern_needs import needs_of, with_first_characters

FOLDER = Path(__file__).parents[1] / "abiscan" / "diagnosis" / "catalogue"
FILES = ("packages.toml", "libraries.toml", "torch_limits.toml")
TEXT_FILES = (
    *("text_facts.toml", "torch_in_text.toml", "source_builds.toml", "packages_in_text.toml"),
    *("functions_in_text.toml", "requirements_in_text.toml"),
)
_PART = re.compile(r"\{([a-z_]+)\}")  # no quantifier
# Member with the name of a row, by kind.
_NAMES = {"wheels": "id", "package": "name", "library": "id", "program": "id", "torch_limit": "name"}
# Members of rows that no program uses.
_UNREAD = ("source", "examples", "others")


def catalogue() -> PackageCatalogue:
    """Every row as the files have it.

    Raises:
        msgspec.ValidationError: a key is unknown or a value is of another type.
    """
    rows: dict[str, Any] = {}
    for name in FILES:
        rows |= tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
    for kind, name in _NAMES.items():
        rows[kind] = [{name: key, **row} for key, row in rows[kind].items()]
    for wheels in rows["wheels"]:
        wheels |= {table: _each_release(wheels[table]) for table in ("variants", "releases") if table in wheels}
    return msgspec.convert(rows, PackageCatalogue)


def _each_release(table: dict[str, Any]) -> dict[str, Any]:
    """A table of wheels with a key for each minor release of torch, newest first."""
    releases: dict[str, Any] = {}
    for key, value in table.items():
        first, _, last = key.partition("-")
        major, _, minor = first.partition(".")
        later = range(int(last.partition(".")[2]), int(minor) - 1, -1) if last else ()
        releases |= {f"{major}.{each}": value for each in later} or {key: value}
    return releases


def text_facts() -> tuple[TextFact, ...]:
    """Every row of the facts of a text, with its examples, and with the parts in its patterns.

    Raises:
        msgspec.ValidationError: a key is unknown or a value is of another type.
        KeyError: a file has no part of this name.
    """
    tables = [_tables_with_parts(name, ("patterns",)) for name in TEXT_FILES]
    rows = [{"fact": fact, **row} for table in tables for fact, rows in table.items() for row in rows]
    return msgspec.convert(rows, tuple[TextFact, ...])


def mentions() -> tuple[Mention, ...]:
    """Every row of what people write about failures, with its examples and the parts; see `text_facts`."""
    names, symptoms = (
        _tables_with_parts(name, ("names", "words", "unless"))["mention"] for name in ("mentions.toml", "symptoms.toml")
    )
    return msgspec.convert([*names, *({**row, "in_title": True} for row in symptoms)], tuple[Mention, ...])


def _tables_with_parts(name: str, keys: tuple[str, ...]) -> dict[str, list[dict[str, object]]]:
    """The tables of a file, with its parts in the patterns of these keys."""
    read = tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
    parts: dict[str, str] = {}

    def fill(pattern: str | list[str]) -> str | list[str]:
        if isinstance(pattern, str):
            return _PART.sub(lambda place: parts[place[1]], pattern)
        return [_PART.sub(lambda place: parts[place[1]], each) for each in pattern]

    for part, pattern in read.pop("part", {}).items():
        parts[part] = str(fill(pattern))
    return {
        table: [{key: fill(value) if key in keys else value for key, value in row.items()} for row in rows]
        for table, rows in read.items()
    }


def inlined_calls() -> tuple[InlinedCall, ...]:
    """Every row of the calls that headers inline.

    Raises:
        msgspec.ValidationError: a key is unknown or a value is of another type.
    """
    rows = tomllib.loads((FOLDER / "inlined_calls.toml").read_text(encoding="utf-8"))
    return msgspec.convert(rows["inlined_call"], tuple[InlinedCall, ...])


def render(_current: str) -> str:
    """One line per row, for readable diffs; without sources and examples."""
    rows = catalogue()
    parts = (f'"{key}": {_render_rows(getattr(rows, key))}' for key in PackageCatalogue.__struct_fields__)
    return "{\n" + ",\n".join(parts) + "\n}\n"


def render_text_facts(_current: str) -> str:
    """One line per row, for readable diffs; without examples, with what each match needs."""
    return _render_rows(tuple(map(_with_needs, text_facts()))) + "\n"


def _with_needs(row: TextFact) -> TextFact:
    pattern = "|".join(row.patterns)
    return msgspec.structs.replace(row, needs=needs_of(pattern), patterns=(with_first_characters(pattern),))


def render_mentions(_current: str) -> str:
    """One line per row, for readable diffs; without examples, with the words that each needs."""
    return _render_rows(tuple(msgspec.structs.replace(row, needs=_groups_of(row)) for row in mentions())) + "\n"


def _groups_of(row: Mention) -> tuple[tuple[str, ...], ...]:
    """Words of which a text that a row is about has one each."""
    any_name = [_words_of(name) for name in row.names]
    groups = [set().union(*any_name) if all(any_name) else set(), *map(_words_of, row.words)]
    return tuple(tuple(sorted(group)) for group in groups if group)


def _words_of(pattern: str) -> set[str]:
    """Words of which a match has at least one; empty if they are unknown."""
    return {word for need in needs_of(pattern) for word in need.words[0]}


def render_inlined_calls(_current: str) -> str:
    """One line per row, for readable diffs."""
    return _render_rows(inlined_calls()) + "\n"


def _render_rows(rows: Iterable[msgspec.Struct] | Mapping[str, msgspec.Struct]) -> str:
    if isinstance(rows, Mapping):
        entries = (f'"{key}": {msgspec.json.encode(row).decode()}' for key, row in rows.items())
        return "{\n" + ",\n".join(entries) + "\n}"
    values = (msgspec.to_builtins(row) for row in rows)
    lines = (msgspec.json.encode({k: v for k, v in row.items() if k not in _UNREAD}).decode() for row in values)
    return "[\n" + ",\n".join(lines) + "\n]"
