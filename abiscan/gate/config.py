"""Reads `[tool.abiscan]` of pyproject.toml, or abiscan.toml, into a `Policy`. Unknown keys are errors."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Collection, Mapping
from typing import Any, get_args

from abiscan.errors import UsageError, nearest
from abiscan.gate.policy import Ignore, Policy
from abiscan.gate.requirements import GATE_RULES, parse_require_torch, parse_stable_abi
from abiscan.model.finding import Severity
from abiscan.model.limits import MAX_CONFIGURATION, MAX_KEY_PARTS, MAX_PATTERN
from abiscan.model.report import ImportsShown

_PROJECT = "pyproject.toml"

_KEYS = ("fail-on", "severity", "ignore", "baseline", "allow-stale", "require-torch", "require-stable-abi", "imports")
_IGNORE_KEYS = ("rule", "symbol", "path", "reason", "expires")


def load_config(text: str, where: str, rules: Collection[str]) -> Policy:
    """Read the policy of a configuration file.

    Args:
        text: content of the file.
        where: its path, for messages; a name that ends in `pyproject.toml` has the keys below `[tool.abiscan]`.
        rules: all rule ids.

    Raises:
        UsageError: invalid TOML; an unknown key, rule or severity; an ignore without a reason or without a condition.
    """
    table = policy_table(text, where)
    if table is None:
        return Policy()
    _known_keys(table, _KEYS, where)
    known = {*rules, *(rule.id for rule in GATE_RULES)}
    stable = table.get("require-stable-abi", False)
    if not isinstance(stable, (bool, str)):
        raise UsageError(f"{where}: require-stable-abi must be true, false or a release such as '2.10'")
    required = _string(table, "require-torch", where)
    if required is not None:
        parse_require_torch(required, where)
    if isinstance(stable, str):
        parse_stable_abi(stable, where)
    return Policy(
        fail_on=parse_fail_on(_string(table, "fail-on", where) or Severity.ERROR.value, where),
        severities=_severities(table.get("severity", {}), where, known),
        ignores=_ignores(table.get("ignore", []), where, known),
        allow_stale=_boolean(table, "allow-stale", where),
        baseline=_string(table, "baseline", where),
        require_torch=required,
        require_stable_abi=bool(stable),
        stable_abi_version=stable if isinstance(stable, str) else None,
        imports_shown=_imports_shown(_string(table, "imports", where) or "all", where),
    )


def _imports_shown(value: str, where: str) -> ImportsShown:
    for known in get_args(ImportsShown):
        if value == known:
            shown: ImportsShown = known
            return shown
    raise UsageError(f"{where}: imports must be 'all' or 'unresolved'")


def parse_fail_on(value: str, where: str = "--fail-on") -> Severity | None:
    """`error`, `warning` or `note` as a severity, `never` as None.

    Raises:
        UsageError: the value is none of these.
    """
    if value == "never":
        return None
    return _severity(value, where, "fail-on", (*(s.value for s in Severity), "never"))


# tomllib takes time and memory with the square of the parts of a key.
_LONG_KEY = rf"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_KEY_PARTS}}}"""


def policy_table(text: str, where: str) -> Mapping[str, Any] | None:
    """The settings for abiscan in a configuration file; None for a pyproject.toml without `[tool.abiscan]`.

    Args:
        where: its path; a name that ends in `pyproject.toml` has the keys below `[tool.abiscan]`.

    Raises:
        UsageError: it is not valid TOML, or exceeds a limit.
    """
    import tomllib

    if len(text) > MAX_CONFIGURATION:
        raise UsageError(f"{where}: {len(text)} characters (limit: {MAX_CONFIGURATION})")
    if re.search(_LONG_KEY, text):
        raise UsageError(f"{where}: a key of more than {MAX_KEY_PARTS} parts")
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: not valid TOML: {error}") from error
    except RecursionError:
        raise UsageError(f"{where}: not valid TOML for abiscan: nested too deeply") from None
    except ValueError as error:
        # A number with more digits than Python converts, or a date that does not exist.
        raise UsageError(f"{where}: not valid TOML: {error}") from error
    if os.path.basename(where) != _PROJECT:
        return whole
    tool = whole.get("tool")
    table = tool.get("abiscan") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{where}: tool.abiscan must be a table")
    return table


def _known_keys(table: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for key in table:
        if key not in known:
            top = "in this file, the keys of [tool.abiscan] are at the top"
            raise UsageError(f"{where}: unknown key {key!r}{_suggestion(key, known, top if key == 'tool' else '')}")


def _suggestion(word: str, known: Collection[str], otherwise: str = "") -> str:
    """The end of a message: the nearest known word, else `otherwise`, else all of them."""
    near = nearest(word.lower().replace("_", "-"), known, 0.5)
    return f"; did you mean {near!r}?" if near else f"; {otherwise or 'known: ' + ', '.join(sorted(known))}"


def _severity(value: object, where: str, key: str, known: Collection[str]) -> Severity:
    if not isinstance(value, str) or value not in known or value == "never":
        tail = _suggestion(value, known) if isinstance(value, str) else f"; known: {', '.join(known)}"
        raise UsageError(f"{where}: {key}: unknown severity {value!r}{tail}")
    return Severity(value)


def _severities(table: object, where: str, known: Collection[str]) -> tuple[tuple[str, Severity], ...]:
    if not isinstance(table, dict):
        raise UsageError(f"{where}: severity must be a table of rule = 'error', 'warning' or 'note'")
    pairs = []
    for rule, value in table.items():
        _known_rule(rule, where, known)
        if value in ("off", "never", "ignore", False):
            raise UsageError(f"{where}: severity.{rule}: to accept all of a rule, add an ignore entry with a reason")
        pairs.append((rule, _severity(value, where, f"severity.{rule}", tuple(s.value for s in Severity))))
    return tuple(sorted(pairs))


def _known_rule(rule: str, where: str, known: Collection[str]) -> None:
    if rule not in known:
        raise UsageError(f"{where}: unknown rule {rule!r}{_suggestion(rule, known, 'abiscan rules lists them')}")


def _ignores(entries: object, where: str, known: Collection[str]) -> tuple[Ignore, ...]:
    if not isinstance(entries, list):
        raise UsageError(f"{where}: ignore must be a list of tables ([[tool.abiscan.ignore]] or [[ignore]])")
    ignores = []
    for number, entry in enumerate(entries, 1):
        place = f"{where}, ignore {number}"
        if not isinstance(entry, dict):
            raise UsageError(f"{place}: must be a table")
        _known_keys(entry, _IGNORE_KEYS, place)
        rule = _string(entry, "rule", place)
        if rule is not None:
            _known_rule(rule, place, known)
        reason = _string(entry, "reason", place)
        if not reason or not reason.strip():
            raise UsageError(f"{place}: a reason is required (reason = 'why this may ship')")
        symbol, path = _string(entry, "symbol", place), _string(entry, "path", place)
        for pattern in (symbol, path):
            if pattern is not None and len(pattern) > MAX_PATTERN:
                raise UsageError(f"{place}: a pattern of {len(pattern)} characters (limit: {MAX_PATTERN})")
        ignore = Ignore(place, reason.strip(), rule, symbol, path, _date(entry.get("expires"), place))
        if ignore.rule is None and ignore.symbol is None and ignore.path is None:
            raise UsageError(f"{place}: name a rule, a symbol or a path to ignore")
        ignores.append(ignore)
    return tuple(ignores)


def _date(value: object, where: str) -> datetime.date | None:
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            pass
    # A TOML date-time is a datetime, which is also a date; its time of day would be dropped.
    elif value is None or (isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)):
        return value
    raise UsageError(f"{where}: expires must be a date such as 2027-01-31")


def _string(table: Mapping[str, Any], key: str, where: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise UsageError(f"{where}: {key} must be a non-empty string")
    return value


def _boolean(table: Mapping[str, Any], key: str, where: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{where}: {key} must be true or false")
    return value
