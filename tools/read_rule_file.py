"""Reads and checks the TOML file of a rule: keys and types by `rule.py`, other conditions here."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from abiscan.errors import AbiscanError
from abiscan.model.finding import Severity
from abiscan.model.imports import Status
from abiscan.rules.rule import ImportPattern, Pattern, Rule

# Template fields, by scope of the finding. `texts.py`, `engine.py` and `source` fill them.
SYMBOL_FIELDS = frozenset(
    (
        "symbol",
        "name",
        "qualified",
        "base",
        "type",
        "type_code",
        "exported_in",
        "exports",
        "status",
        "scope_fix",
        "target",
        "provider",
        "rewrites",
        "module",
        "count",
    )
)
LIBRARY_FIELDS = frozenset(("library", "target", "module", "imports"))
FILE_FIELDS = frozenset(("target", "module", "count", "names", "exported_in"))
SOURCE_FIELDS = frozenset(("text", "type", "rewrites", "inside", "module", "detail", "instead", "target"))
REWRITE_FIELDS = frozenset(("type", "type_code"))
COMPUTED_FIELDS = frozenset(("name", "detail", "target"))


class InvalidRule(AbiscanError):  # noqa: N818 - see abiscan.errors.UnreadableFile
    """A rule file is invalid. The message names the file and the key."""


def read_rule_file(path: Path) -> Rule:
    """Read the rule in a TOML file, named after its id.

    Raises:
        InvalidRule: the first problem.
    """
    where = path.name
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        rule = msgspec.convert({"id": path.stem, **_stripped(table, "")}, Rule)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InvalidRule(f"{where}: {error}") from error
    for problem in _problems(rule, path.stem):
        raise InvalidRule(f"{where}: {problem}")
    return rule


def _stripped(value: Any, key: str) -> Any:
    """TOML data with stripped texts. Only a list of releases may be empty."""
    if isinstance(value, dict):
        return {name: _stripped(each, name) for name, each in value.items()}
    if isinstance(value, str):
        value = value.strip()
    elif isinstance(value, list):
        value = [_stripped(each, key) for each in value]
    if value in ("", []) and key != "exported_in":
        raise msgspec.ValidationError(f"{key} is empty")
    return value


def _problems(rule: Rule, name: str) -> Iterator[str]:
    """Conditions beyond types."""
    if rule.id != name:
        yield "unknown key 'id': the file's name is the id"
    if not all(part.isalnum() and part == part.lower() for part in rule.id.split("-")):
        yield "the file's name must be lower-case words with hyphens between"
    if not rule.summary[-1].isalnum() and rule.summary[-1] not in ")`":
        yield f"summary must not end with {rule.summary[-1]!r}"
    for link in rule.references:
        if not link.startswith("https://"):
            yield f"references must be https links, not {link!r}"
    if not (rule.imports or rule.libraries or rule.sources or rule.computed):
        yield "it matches nothing: no import, library or source, and it is not computed"
    if rule.per == "library" and not rule.libraries:
        yield "per = 'library' needs a library pattern"
    for status in (Status.RESOLVED, Status.WEAK):
        if rule.severity_when.get(status) is Severity.ERROR:
            yield "severity_when: an import that binds is no error"
    known = _template_fields(rule)
    yield from _template_problems((rule.message, rule.fix), known)
    for pattern in (*rule.imports, *rule.requires, *rule.unless):
        yield from _pattern_problems(pattern, known)
        yield from _import_problems(pattern)
    for library in rule.libraries:
        yield from _pattern_problems(library, known)
    for source in rule.sources:
        yield from _pattern_problems(source, SOURCE_FIELDS)
        if source.message is None and (rule.imports or rule.computed):
            yield "a source pattern beside imports needs its own message and fix"
    for rewrite in rule.rewrites:
        yield from _template_problems((rewrite.write, *rewrite.symbols, *rewrite.windows_symbols), REWRITE_FIELDS)


def _template_fields(rule: Rule) -> frozenset[str]:
    """The fields of the rule's own message and fix."""
    if rule.computed:
        return COMPUTED_FIELDS
    if rule.libraries:
        return LIBRARY_FIELDS
    if rule.per == "file":
        return FILE_FIELDS
    return SYMBOL_FIELDS if rule.imports else SOURCE_FIELDS


def _pattern_problems(pattern: Pattern, known: frozenset[str]) -> Iterator[str]:
    if (pattern.message is None) != (pattern.fix is None):
        yield "message and fix go together"
    if msgspec.structs.replace(pattern, severity=None, message=None, fix=None) == type(pattern)():
        yield "a pattern without a condition: it would match everything"
    yield from _template_problems((pattern.message or "", pattern.fix or ""), known)


def _import_problems(pattern: ImportPattern) -> Iterator[str]:
    if pattern.scope and pattern.scope_starts:
        yield "scope and scope_starts exclude each other"
    if (pattern.name or pattern.name_starts) and pattern.reads_name:
        yield "a whole C name has no scope, base or parts"
    if any(name.startswith("_Z") for name in (*pattern.name, *pattern.name_starts)):
        yield "mangled names are matched by scope and base, not by their text"
    if any("::" in part for part in (*pattern.scope, *pattern.scope_starts, *pattern.base)):
        yield 'scope and base are lists of parts: ["at", "native"], not ["at::native"]'


def _template_problems(templates: tuple[str, ...], known: frozenset[str]) -> Iterator[str]:
    for template in templates:
        try:
            names = {name for _text, name, _spec, _conversion in string.Formatter().parse(template) if name is not None}
        except ValueError as error:
            yield f"template {template!r}: {error}"
            continue
        if names - known:
            unknown = ", ".join(sorted(names - known))
            yield f"template {template!r} names {unknown}; known here: {', '.join(sorted(known))}"
