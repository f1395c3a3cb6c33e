"""The law of a rule file: which keys it may have, of which type, and what must be there.

This is also how the compiled table becomes rules, so that there is one reading of the data; what only guards against
mistakes of the person who writes a rule is in `check.py`, which the compiler and the tests run.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from abiscan.errors import AbiscanError
from abiscan.model.binding import DemangledBy, Owner, Status
from abiscan.model.cause import Confidence
from abiscan.model.finding import Severity
from abiscan.model.versions import Span
from abiscan.rules.schema import (
    Fact,
    Fate,
    ImportPattern,
    LibraryPattern,
    Per,
    Rewrite,
    Rule,
    SourcePattern,
    Texts,
)


class InvalidRule(AbiscanError):  # noqa: N818 - see abiscan.errors.UnreadableFile
    """A rule file breaks the law; the message names the file and the key."""


_E = TypeVar("_E", bound=enum.Enum)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be text that is not empty")
    return value.strip()


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError("must be a list that is not empty")
    return tuple(_text(item) for item in value)


def _one_of(kind: type[_E]) -> Callable[[Any], _E]:
    def read(value: Any) -> _E:
        try:
            return kind(value)
        except ValueError:
            raise ValueError(f"{value!r} is none of {', '.join(str(item.value) for item in kind)}") from None

    return read


def _some_of(kind: type[_E]) -> Callable[[Any], tuple[_E, ...]]:
    one = _one_of(kind)
    return lambda value: tuple(one(item) for item in _texts(value))


def _windows(value: Any) -> tuple[Span, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError("must be a list of [first, last] pairs")
    pairs = []
    for pair in value:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
            raise ValueError("must be a list of [first, last] pairs of versions")
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


_Law = Mapping[str, Callable[[Any], Any]]

_TEXTS: _Law = {"severity": _one_of(Severity), "message": _text, "fix": _text}
_IMPORT: _Law = {
    "owner": _some_of(Owner),
    "status": _some_of(Status),
    "scope": _texts,
    "scope_starts": _texts,
    "base": _texts,
    "name": _texts,
    "name_starts": _texts,
    "declares_parameter": _flag,
    "cxx": _flag,
    "demangled_by": _some_of(DemangledBy),
    "gnu_rejects": _flag,
    "provider_starts": _texts,
    "file_ends": _texts,
    "outside_limited_api": _flag,
    "fate": _some_of(Fate),
    **_TEXTS,
}
_LIBRARY: _Law = {"found": _flag, "soname_starts": _texts, **_TEXTS}
_SOURCE: _Law = {
    "member": _texts,
    "called": _flag,
    "templated": _flag,
    "identifier": _texts,
    "identifier_starts": _texts,
    "qualified": _texts,
    "include_starts": _texts,
    "inside": _texts,
    "file_has": _texts,
    "file_lacks": _texts,
    "languages": _texts,
    **_TEXTS,
}
_REWRITE: _Law = {"write": _text, "symbols": _texts}
_FACT: _Law = {"symbol": _text, "windows": _windows}


def _fields(table: Any, law: _Law, where: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise InvalidRule(f"{where}: must be a table")
    read: dict[str, Any] = {}
    for key, value in table.items():
        if key not in law:
            raise InvalidRule(f"{where}: unknown key {key!r}; known: {', '.join(sorted(law))}")
        try:
            read[key] = law[key](value)
        except ValueError as error:
            raise InvalidRule(f"{where}: {key} {error}") from None
    for key in required:
        if key not in read:
            raise InvalidRule(f"{where}: {key} is missing")
    return read


def _pattern(kind: type[Any], law: _Law, table: Any, where: str) -> Any:
    read = _fields(table, law, where)
    message, fix = read.pop("message", None), read.pop("fix", None)
    if (message is None) != (fix is None):
        raise InvalidRule(f"{where}: message and fix go together")
    if not read.keys() - {"severity"}:
        raise InvalidRule(f"{where}: it would match everything")
    return kind(**read, texts=None if message is None or fix is None else Texts(message, fix))


def _patterns(kind: type[Any], law: _Law, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise InvalidRule(f"{where}: must be an array of tables")
    return tuple(_pattern(kind, law, table, f"{where}[{number}]") for number, table in enumerate(value))


def _rewrite(table: Any, where: str) -> Rewrite:
    read = _fields(table, _REWRITE, where, ("write", "symbols"))
    return Rewrite(read["write"], read["symbols"])


def _fact(table: Any, where: str) -> Fact:
    read = _fields(table, _FACT, where, ("symbol", "windows"))
    return Fact(read["symbol"], read["windows"])


_PROSE: _Law = {
    "summary": _text,
    "why": _text,
    "example": _text,
    "use_instead": _text,
    "references": _texts,
    "since": _text,
    "severity": _one_of(Severity),
    "confidence": _one_of(Confidence),
    "message": _text,
    "fix": _text,
}
_REST: _Law = {
    "per": _one_of(Per),
    "locate": _flag,
    "computed": _flag,
    **dict.fromkeys(
        ("severity_when", "import", "requires", "unless", "library", "source", "rewrite", "fact"), lambda value: value
    ),
}


def rule_from(identifier: str, table: Mapping[str, Any], where: str) -> Rule:
    """The rule that a table describes.

    Args:
        identifier: its id.
        table: the parsed TOML.
        where: the file, for messages.

    Raises:
        InvalidRule: a key is unknown, missing or of another type.
    """
    read = _fields(table, {**_PROSE, **_REST}, where, tuple(_PROSE))
    when = read.pop("severity_when", {})
    statuses = _fields(when, dict.fromkeys((s.value for s in Status), _one_of(Severity)), f"{where}: severity_when")
    return Rule(
        id=identifier,
        severity_when=tuple((Status(status), severity) for status, severity in statuses.items()),
        imports=_patterns(ImportPattern, _IMPORT, read.pop("import", ()), f"{where}: import"),
        requires=_patterns(ImportPattern, _IMPORT, read.pop("requires", ()), f"{where}: requires"),
        unless=_patterns(ImportPattern, _IMPORT, read.pop("unless", ()), f"{where}: unless"),
        libraries=_patterns(LibraryPattern, _LIBRARY, read.pop("library", ()), f"{where}: library"),
        sources=_patterns(SourcePattern, _SOURCE, read.pop("source", ()), f"{where}: source"),
        rewrites=tuple(_rewrite(one, f"{where}: rewrite") for one in read.pop("rewrite", ())),
        facts=tuple(_fact(one, f"{where}: fact") for one in read.pop("fact", ())),
        **read,
    )
