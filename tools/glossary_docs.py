"""`docs/glossary.md`, from `tools/glossary.toml`."""

from __future__ import annotations

from pathlib import Path

import msgspec

SOURCE = Path(__file__).parent / "glossary.toml"

_HEAD = """# Glossary

<!-- Made by tools/generate.py from tools/glossary.toml. -->

For readers of output, JSON and these pages. A term has the same meaning in all of them.

| term | meaning | JSON key |
| --- | --- | --- |
"""


class Term(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the glossary.

    Attributes:
        key: the JSON key or value of the same meaning.
        avoid: phrases that output and documentation must not contain.
    """

    term: str
    meaning: str
    key: str = ""
    avoid: tuple[str, ...] = ()


class _Glossary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    term: list[Term]


def terms() -> list[Term]:
    """All terms, in alphabetical order."""
    found = msgspec.toml.decode(SOURCE.read_bytes(), type=_Glossary).term
    return sorted(found, key=lambda each: each.term.lower())


def render(_current: str) -> str:
    """The whole page."""
    rows = [f"| {each.term} | {each.meaning} | {f'`{each.key}`' if each.key else ''} |" for each in terms()]
    return _HEAD + "\n".join(rows) + "\n"
