"""What no reader of a rule needs and every writer should have checked: ids, links, templates."""

from __future__ import annotations

import string
from pathlib import Path

from abiscan.model.binding import Status
from abiscan.model.finding import Severity
from abiscan.rules.schema import Per, Rule
from abiscan.rules.validate import InvalidRule, rule_from

# Fields that a template may name, by what the finding speaks for. `texts.py` fills them.
SYMBOL_FIELDS = frozenset(
    (
        "symbol",
        "name",
        "qualified",
        "base",
        "type",
        "type_code",
        "windows",
        "status",
        "target",
        "provider",
        "rewrites",
        "module",
        "count",
        "others",
    )
)
LIBRARY_FIELDS = frozenset(("library", "target", "module", "count", "names"))
FILE_FIELDS = frozenset(("target", "module", "count", "names", "windows"))
SOURCE_FIELDS = frozenset(("text", "type", "rewrites", "inside", "module"))
REWRITE_FIELDS = frozenset(("type", "type_code"))
COMPUTED_FIELDS = frozenset(("name", "target", "module", "detail", "count", "names"))


def read_rule_file(path: Path) -> Rule:
    """One TOML file, read and checked.

    Raises:
        InvalidRule: it is no TOML, or breaks the law; the message names the file.
    """
    import tomllib

    where = path.name
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRule(f"{where}: {error}") from error
    rule = rule_from(path.stem, table, where)
    check_rule(rule, where)
    return rule


def check_rule(rule: Rule, where: str) -> None:
    """Check what `rule_from` does not.

    Raises:
        InvalidRule: the first thing that is wrong.
    """
    if not all(part.isalnum() and part == part.lower() for part in rule.id.split("-")):
        raise InvalidRule(f"{where}: the file's name must be lower-case words with hyphens between")
    if not rule.summary[-1].isalnum() and rule.summary[-1] not in ")`":
        raise InvalidRule(f"{where}: summary must not end with {rule.summary[-1]!r}")
    for link in rule.references:
        if not link.startswith("https://"):
            raise InvalidRule(f"{where}: references must be https links, not {link!r}")
    if not (rule.imports or rule.libraries or rule.sources or rule.computed):
        raise InvalidRule(f"{where}: it matches nothing: no import, library or source, and it is not computed")
    if rule.per is Per.LIBRARY and not rule.libraries:
        raise InvalidRule(f"{where}: per = 'library' needs a library pattern")
    allowed = (
        COMPUTED_FIELDS
        if rule.computed
        else LIBRARY_FIELDS
        if rule.libraries
        else FILE_FIELDS
        if rule.per is Per.FILE
        else SYMBOL_FIELDS
        if rule.imports
        else SOURCE_FIELDS
    )
    _check_templates((rule.message, rule.fix), allowed, where)
    for texts in [each.texts for each in rule.imports] + [each.texts for each in rule.libraries]:
        if texts is not None:
            _check_templates((texts.message, texts.fix), allowed, where)
    for source in rule.sources:
        if source.texts is not None:
            _check_templates((source.texts.message, source.texts.fix), SOURCE_FIELDS, where)
        elif rule.imports or rule.computed:
            raise InvalidRule(f"{where}: a source pattern beside imports needs its own message and fix")
        for language in source.languages:
            if language not in ("c++", "cuda", "hip"):
                raise InvalidRule(f"{where}: unknown language {language!r}")
    for rewrite in rule.rewrites:
        _check_templates((rewrite.write, *rewrite.symbols), REWRITE_FIELDS, where)
    for pattern in (*rule.imports, *rule.requires, *rule.unless):
        if pattern.scope and pattern.scope_starts:
            raise InvalidRule(f"{where}: scope and scope_starts exclude each other")
        if (pattern.name or pattern.name_starts) and pattern.reads_name:
            raise InvalidRule(f"{where}: a whole C name has no scope, base or parts")
        if any(name.startswith("_Z") for name in (*pattern.name, *pattern.name_starts)):
            raise InvalidRule(f"{where}: mangled names are matched by scope and base, not by their text")
    for grave in [severity for status, severity in rule.severity_when if status in (Status.RESOLVED, Status.WEAK)]:
        if grave is Severity.ERROR:
            raise InvalidRule(f"{where}: an import that binds is no error")


def _check_templates(templates: tuple[str, ...], allowed: frozenset[str], where: str) -> None:
    for template in templates:
        try:
            names = {name for _text, name, _spec, _conversion in string.Formatter().parse(template) if name is not None}
        except ValueError as error:
            raise InvalidRule(f"{where}: template {template!r}: {error}") from None
        unknown = names - allowed
        if unknown:
            raise InvalidRule(
                f"{where}: template {template!r} names {', '.join(sorted(unknown))}; known here: "
                f"{', '.join(sorted(allowed))}"
            )
