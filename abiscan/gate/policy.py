"""The policy of a gate: values from the configuration file and the command line."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.model.finding import DOES_NOT_LOAD, LEFT_OUT, Finding, Severity
from abiscan.model.report import ArtifactReport, ImportsShown

if TYPE_CHECKING:
    import datetime


class Ignore(Struct, frozen=True):
    """An accepted kind of finding, with the reason. Every given condition must hold.

    Attributes:
        where: the file and the number of the entry in it, for messages.
        reason: required: entries without a reason cannot be reviewed.
        rule: a rule id.
        symbol: a mangled name, or a shell pattern over mangled names (`*`, `?`, `[...]`).
        path: a shell pattern over `path` or `path!member`; without a leading `/` it may match any trailing part of it.
        expires: the last day on which it applies.
    """

    where: str
    reason: str
    rule: str | None = None
    symbol: str | None = None
    path: str | None = None
    expires: datetime.date | None = None

    @property
    def whole_path(self) -> bool:
        """Whether it accepts everything about a path, including that it cannot be read or decided."""
        return self.path is not None and self.rule is None and self.symbol is None

    def covers_path(self, display: str) -> bool:
        """Whether its path pattern, if any, matches a file or `container!member`."""
        if self.path is None:
            return True
        # Few runs ignore by path.
        from abiscan.gate.path_pattern import path_matches

        return path_matches(self.path, display)

    def covers(self, finding: Finding, artifact: ArtifactReport) -> bool:
        """Whether it accepts this finding (its date is not checked here)."""
        if self.rule is not None and self.rule != finding.rule:
            return False
        if self.symbol is not None:
            # A finding about several symbols is accepted only if each of them is.
            names = finding.all_symbols
            if not names or not all(_matches(self.symbol, name) for name in names):
                return False
        return self.covers_path(artifact.display)

    def __str__(self) -> str:
        given = ", ".join(
            f"{key} = {value}"
            for key, value in (("rule", self.rule), ("symbol", self.symbol), ("path", self.path))
            if value is not None
        )
        return f"ignore {given} ({self.reason})"


class Policy(Struct, frozen=True):
    """The conditions under which a run fails.

    Attributes:
        fail_on: the lowest severity that fails the run; None for none.
        severities: (rule id, severity) pairs that override those of the rules.
        allow_stale: report stale baseline entries without failing.
        select: rules whose findings count; empty for all. ignore_rules: rules whose findings do not. Both are command
            line options; a configuration file uses `ignores`, which have reasons.
        baseline: path of the baseline from the configuration file, relative to that file.
        baseline_found: whether it comes from a configuration file that was found, not named on the command line.
        require_torch: a version specifier (PEP 440); every known build that satisfies it must load every file.
        require_stable_abi: whether only torch's C shims may be used.
        stable_abi_version: ... and only those of this release or older.
        imports_shown: as in `Report`.
    """

    fail_on: Severity | None = Severity.ERROR
    severities: tuple[tuple[str, Severity], ...] = ()
    ignores: tuple[Ignore, ...] = ()
    select: tuple[str, ...] = ()
    ignore_rules: tuple[str, ...] = ()
    allow_stale: bool = False
    baseline: str | None = None
    baseline_found: bool = False
    require_torch: str | None = None
    require_stable_abi: bool = False
    stable_abi_version: str | None = None
    imports_shown: ImportsShown = "all"

    def left_out(self, rule: str) -> str | None:
        """Why the findings of a rule do not count in this run; None if they do."""
        if rule in self.ignore_rules:
            return LEFT_OUT["ignore"]
        # Whether a file loads counts in every run, whichever rules are selected.
        chosen = not self.select or rule in self.select or rule == DOES_NOT_LOAD
        return None if chosen else LEFT_OUT["select"]

    def fails(self, severity: Severity) -> bool:
        """Whether a finding of this severity fails the run."""
        return severity.at_least(self.fail_on)


@lru_cache(maxsize=256)
def _symbol_pattern(pattern: str) -> re.Pattern[str]:
    from fnmatch import translate

    return re.compile(translate(pattern), re.DOTALL)


def _matches(pattern: str, name: str) -> bool:
    return pattern == name or _symbol_pattern(pattern).match(name) is not None
