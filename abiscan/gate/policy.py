"""What may ship: the values that a configuration file and the command line fill."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.model.finding import DOES_NOT_LOAD, Finding, Severity
from abiscan.model.report import ArtifactReport, ImportsShown

if TYPE_CHECKING:
    import datetime


class Ignore(Struct, frozen=True):
    """One accepted thing, and why. Each condition that is given must hold.

    Attributes:
        where: the file and the entry's number in it, for messages.
        reason: required; an allowlist whose entries nobody can explain is not reviewed.
        rule: a rule's id.
        symbol: a mangled name, or a shell pattern over mangled names (`*`, `?`, `[...]`).
        path: a shell pattern over `path` or `path!member`; without a leading `/` it may match any trailing part of it.
        expires: the last day on which it counts.
    """

    where: str
    reason: str
    rule: str | None = None
    symbol: str | None = None
    path: str | None = None
    expires: datetime.date | None = None

    @property
    def whole_path(self) -> bool:
        """Whether it accepts all there is to say of a path: what cannot be read or decided as well."""
        return self.path is not None and self.rule is None and self.symbol is None

    def covers_path(self, display: str) -> bool:
        """Whether its path pattern, if it has one, matches a file or `container!member`."""
        return self.path is None or path_matches(self.path, display)

    def covers(self, finding: Finding, artifact: ArtifactReport) -> bool:
        """Whether it accepts this finding (its date is not looked at here)."""
        if self.rule is not None and self.rule != finding.rule:
            return False
        if self.symbol is not None:
            # One finding may speak for several names: it is accepted only where every one of them is.
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
    """What fails a run.

    Attributes:
        fail_on: the lowest severity that does; None for none.
        severities: (rule id, severity) pairs that replace what the rule says.
        allow_stale: baseline entries that match nothing are reported and do not fail.
        select: rules whose findings count; empty for all. ignore_rules: rules whose findings do not. The command
            line names both; a configuration file says why, with `ignores`.
        baseline: path of the baseline, as the configuration file gives it (relative to that file).
        baseline_found: a configuration that nobody named on the command line names it.
        require_torch: a version specifier (PEP 440); every known build that satisfies it must load every file.
        require_stable_abi: only torch's C shims may be used.
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
        """Why the findings of a rule do not count in this run; None where they do."""
        if rule in self.ignore_rules:
            return "ignored: --ignore"
        # Which rules a run is for does not decide whether a file loads.
        chosen = not self.select or rule in self.select or rule == DOES_NOT_LOAD
        return None if chosen else "ignored: not in --select"

    def fails(self, severity: Severity) -> bool:
        """Whether a finding of this severity fails the run."""
        return severity.at_least(self.fail_on)


def path_matches(pattern: str, display: str) -> bool:
    """Whether a shell pattern matches `path` or `path!member`, whole or from a component on.

    `*` crosses no `/`, `**` does. `torchvision.libs/*` matches `dist/x.whl!torchvision.libs/libjpeg.so`.
    """
    return _path_pattern(pattern).search(display.replace("\\", "/")) is not None


@lru_cache(maxsize=256)
def _path_pattern(pattern: str) -> re.Pattern[str]:
    parts = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", pattern.replace("\\", "/")):
        if piece == "**/":
            parts.append(r"(?:.*/)?")
        elif piece == "**":
            parts.append(".*")
        elif piece == "*":
            parts.append("[^/]*")
        elif piece == "?":
            parts.append("[^/]")
        elif len(piece) > 2 and piece[0] == "[" and piece[-1] == "]":
            body = piece[1:-1]
            negated = body[0] == "!" and len(body) > 1
            parts.append(("[^" if negated else "[") + re.escape(body[negated:]).replace(r"\-", "-") + "]")
        else:
            parts.append(re.escape(piece))
    start = r"\A" if pattern.startswith("/") else r"(?:\A|[/!])"
    return re.compile(start + "".join(parts) + r"\Z", re.DOTALL)


@lru_cache(maxsize=256)
def _symbol_pattern(pattern: str) -> re.Pattern[str]:
    from fnmatch import translate

    return re.compile(translate(pattern), re.DOTALL)


def _matches(pattern: str, name: str) -> bool:
    return pattern == name or _symbol_pattern(pattern).match(name) is not None
