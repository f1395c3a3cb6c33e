"""Generates `abiscan/data/causes.json.gz`: the checked TOML files of causes, as one file that a scan reads after a
failure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from abiscan.errors import AbiscanError
from abiscan.model.cause import CauseId
from abiscan.model.cause_page import CausePage, Situation

CATALOGUE = Path(__file__).parents[1] / "abiscan" / "diagnosis" / "catalogue" / "causes"


class InvalidCause(AbiscanError):  # noqa: N818 - see abiscan.errors.UnreadableFile
    """The file of a cause is invalid. The message names the file and the error."""


def causes() -> list[CausePage]:
    """Every cause, in the order of `CauseId`.

    Raises:
        InvalidCause: a file is invalid, missing, or for an unknown cause.
    """
    files = {path.stem for path in CATALOGUE.glob("*.toml")}
    if unknown := files ^ set(CauseId):
        raise InvalidCause(f"{', '.join(sorted(unknown))}: a member of CauseId and a file of {CATALOGUE.name} each")
    return [read_cause_file(CATALOGUE / f"{cause}.toml") for cause in CauseId]


def read_cause_file(path: Path) -> CausePage:
    """Read the cause in a TOML file, named after its id.

    Raises:
        InvalidCause: the first error.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        fix = [{"situation": name, **remedy} for name, remedy in table.get("fix", {}).items()]
        page = msgspec.convert(_stripped({**table, "id": path.stem, "fix": fix}), CausePage)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidCause(f"{path.name}: {error}") from error
    for problem in _problems(page, table):
        raise InvalidCause(f"{path.name}: {problem}")
    return page


def _stripped(value: Any) -> Any:
    """TOML data with stripped texts. Only a missing `commands` may be empty."""
    if isinstance(value, dict):
        return {key: _stripped(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_stripped(each) for each in value]
    return value.strip() if isinstance(value, str) else value


def _problems(page: CausePage, table: dict[str, Any]) -> Iterator[str]:
    known = set(CausePage.__struct_fields__) - {"id"}
    if unknown := set(table) - known:
        yield f"unknown key {sorted(unknown)[0]!r}"
    for key in ("title", "explanation", "detection", "prevention", "confirm", "fix", "references"):
        if not getattr(page, key):
            yield f"{key} is empty"
    if any(not title.endswith(".") or "\n" in title for title in (page.title, *page.titles.values())):
        yield "title must be one sentence on one line"
    for check in page.confirm:
        if not (check.text and check.commands):
            yield "confirm needs a text and commands"
    situations = [remedy.situation for remedy in page.fix]
    if situations != [each for each in Situation if each in situations]:
        yield f"fix: tables in the order {', '.join(Situation)}"
    for remedy in page.fix:
        if not remedy.text:
            yield f"fix: {remedy.situation} has no text"
    for link in page.references:
        if not re.fullmatch(r"https://[^\s<>]+", link):
            yield f"references must be https links, not {link!r}"


def render(_current: str) -> str:
    """One line per cause, for readable diffs."""
    return "[\n" + ",\n".join(msgspec.json.encode(page).decode() for page in causes()) + "\n]\n"
