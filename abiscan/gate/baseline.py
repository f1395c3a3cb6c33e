"""The baseline: what is known and accepted, so that only what is new fails.

A JSON file, version 1, made for review in a diff: sorted, one entry a line, each with the rule, the mangled name and
the message for a person beside the fingerprint that counts.

An entry matches a finding of the same fingerprint in the same module. Modules are compared by `module_key`: where both
places are known and differ (`a/_C.so`, `b/_C.so`) they are two modules; a bare name matches every place. Each
entry matches as many findings as its count says and no more, so one more hit of a known kind is new.

An entry that matches nothing is *stale*, but only where this run could have found it: its module was read, or the
archive that held it was read whole and no longer has it. Entries for artifacts that were not scanned, that could not
be read, or for a requirement that this run was not asked for, stay silent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from abiscan.errors import UsageError
from abiscan.gate.requirements import GATE_RULES
from abiscan.model.finding import Finding, Severity
from abiscan.model.fingerprint import container_key, module_key
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report

VERSION = 1
# Suppressions that begin so came from a baseline; `write_baseline` keeps them, and leaves out what is ignored.
KNOWN = "known: "


class Entry(Struct, frozen=True):
    """An accepted finding.

    Attributes:
        artifact: `module_key` of the file.
        container: `container_key` of the archive it was in, if it was in one.
        count: how many findings share all of this.
    """

    fingerprint: str
    rule: str
    severity: Severity
    symbol: str | None
    artifact: str
    container: str | None
    message: str
    count: int = 1

    def __str__(self) -> str:
        symbol = f" of {self.symbol}" if self.symbol is not None else ""
        return f"{self.rule}{symbol} in {self.artifact}"


class Baseline(Struct, frozen=True):
    """Entries, and the torch they were written against (for a note where it differs)."""

    where: str
    target: str | None
    entries: tuple[Entry, ...]


class Matcher:
    """Pairs findings with entries; remembers which entries were used."""

    def __init__(self, baseline: Baseline) -> None:
        self.baseline = baseline
        self.left = {place: entry.count for place, entry in enumerate(baseline.entries)}
        self._by_fingerprint: dict[str, list[int]] = {}
        for place, entry in enumerate(baseline.entries):
            self._by_fingerprint.setdefault(entry.fingerprint, []).append(place)

    def take(self, finding: Finding, key: str, *, exact: bool) -> bool:
        """Use up one entry for the finding, if there is one.

        Args:
            key: `module_key` of the finding's file.
            exact: only an entry with this very key will do. Ask so for every finding first: else a bare name could use
                up the entry of a place.
        """
        for place in self._by_fingerprint.get(finding.fingerprint, ()):
            entry = self.baseline.entries[place]
            if self.left[place] and (entry.artifact == key if exact else same_module(entry.artifact, key)):
                self.left[place] -= 1
                return True
        return False

    def stale(self, report: Report) -> list[Entry]:
        """Entries with a count left that this run could have used."""
        active = {rule.id for rule in report.rules}
        gate_rules = {rule.id for rule in GATE_RULES}
        read = [a for a in report.artifacts if a.verdict is not ArtifactVerdict.UNREADABLE]
        scope = _Scope(read, [a for a in report.artifacts if a.verdict is ArtifactVerdict.UNREADABLE], report)
        return [
            entry
            for place, entry in enumerate(self.baseline.entries)
            if self.left[place] and (entry.rule not in gate_rules or entry.rule in active) and scope.covers(entry)
        ]


class _Scope:
    """What of a baseline this run could speak about."""

    __slots__ = ("_containers", "_damaged", "_keys", "_unread")

    def __init__(self, read: list[ArtifactReport], unread: list[ArtifactReport], report: Report) -> None:
        self._keys = {module_key(a.path, a.member) for a in read}
        self._unread = {module_key(a.path, a.member) for a in unread}
        self._containers = {container_key(a.path) for a in report.artifacts if a.member is not None}
        self._damaged = {container_key(error.path.split("!", 1)[0]) for error in report.errors}

    def covers(self, entry: Entry) -> bool:
        if any(same_module(entry.artifact, key) for key in self._unread):
            return False
        # A bare name read in this run does not tell which place's module it is: nobody can say that one is gone.
        if entry.artifact in self._keys:
            return True
        if "/" not in entry.artifact and any(same_module(entry.artifact, key) for key in self._keys):
            return True
        return entry.container is not None and entry.container in self._containers - self._damaged


def same_module(a: str, b: str) -> bool:
    """Whether two `module_key`s can be one module: equal, or one is the bare name of the other."""
    if a == b:
        return True
    return ("/" not in a or "/" not in b) and a.rsplit("/", 1)[-1] == b.rsplit("/", 1)[-1]


def write_baseline(report: Report) -> str:
    """The baseline file that accepts every finding of the report, of every severity, which no ignore accepts already.

    Deterministic: of two runs that find the same, the files are equal, whatever the checkout path.
    """
    import json

    counts: dict[tuple[Any, ...], tuple[Entry, int]] = {}
    for artifact in report.artifacts:
        for finding in artifact.findings:
            if finding.suppressed and not (finding.suppression or "").startswith(KNOWN):
                continue
            entry = _entry(artifact, finding)
            key = (entry.artifact, entry.rule, entry.symbol or "", entry.fingerprint)
            first, count = counts.get(key, (entry, 0))
            counts[key] = (min(first, entry, key=lambda e: e.message), count + 1)
    lines = ",".join("\n    " + json.dumps(_as_json(entry, count)) for _, (entry, count) in sorted(counts.items()))
    target = json.dumps(_target(report))
    closing = "\n  ]" if lines else "]"
    return f'{{\n  "abiscan_baseline": {VERSION},\n  "target": {target},\n  "entries": [{lines}{closing}\n}}\n'


def read_baseline(text: str, where: str) -> Baseline:
    """The baseline in `text`.

    Raises:
        UsageError: it is none, or of another version.
    """
    import json

    advice = f"make it anew with --write-baseline {where}"
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{where}: not a baseline: not valid JSON; {advice}") from None
    if not isinstance(document, dict) or "abiscan_baseline" not in document:
        raise UsageError(f"{where}: not a baseline of abiscan; {advice}")
    if document["abiscan_baseline"] != VERSION:
        found = document["abiscan_baseline"]
        raise UsageError(f"{where}: a baseline of version {found!r}, and this abiscan reads {VERSION}; {advice}")
    entries = document.get("entries")
    if not isinstance(entries, list):
        raise UsageError(f"{where}: not a baseline: it has no list of entries; {advice}")
    target = document.get("target")
    return Baseline(
        where,
        target if isinstance(target, str) else None,
        tuple(_parse(entry, f"{where}: entry {number}", advice) for number, entry in enumerate(entries, 1)),
    )


def target_note(baseline: Baseline, report: Report) -> str | None:
    """A sentence where the baseline speaks of another torch than this run: much will be new or stale."""
    now = _target(report)
    if baseline.target is None or now is None or baseline.target == now:
        return None
    return f"{baseline.where} was written against torch {baseline.target}; this run resolves against {now}"


def _target(report: Report) -> str | None:
    return None if report.target is None else f"{report.target.torch}+{report.target.variant}"


def _entry(artifact: ArtifactReport, finding: Finding) -> Entry:
    return Entry(
        finding.fingerprint,
        finding.rule,
        finding.severity,
        finding.symbol,
        module_key(artifact.path, artifact.member),
        container_key(artifact.path) if artifact.member is not None else None,
        finding.message,
    )


def _as_json(entry: Entry, count: int) -> dict[str, Any]:
    value: dict[str, Any] = {
        "fingerprint": entry.fingerprint,
        "rule": entry.rule,
        "severity": entry.severity.value,
        "symbol": entry.symbol,
        "artifact": entry.artifact,
        "container": entry.container,
        "message": entry.message,
    }
    return value if count == 1 else {**value, "count": count}


def _parse(value: object, where: str, advice: str) -> Entry:
    def text(key: str, optional: bool = False) -> Any:
        found = value.get(key) if isinstance(value, dict) else None
        if not isinstance(found, str) and not (optional and found is None):
            raise UsageError(f"{where}: {key} must be a text; {advice}")
        return found

    count = value.get("count", 1) if isinstance(value, dict) else 1
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise UsageError(f"{where}: count must be a whole number from 1; {advice}")
    severity = text("severity")
    if severity not in list(Severity):
        raise UsageError(f"{where}: unknown severity {severity!r}; {advice}")
    return Entry(
        text("fingerprint"),
        text("rule"),
        Severity(severity),
        text("symbol", optional=True),
        text("artifact"),
        text("container", optional=True),
        text("message"),
        count,
    )


def known(findings: Iterable[tuple[int, Finding, str]], matcher: Matcher) -> set[int]:
    """Which of the numbered (finding, module key) the baseline accepts: exact places first, bare names after."""
    pending = sorted(findings, key=lambda item: (item[2], item[1].rule, item[1].symbol or "", item[0]))
    accepted: set[int] = set()
    for exact in (True, False):
        accepted |= {n for n, finding, key in pending if n not in accepted and matcher.take(finding, key, exact=exact)}
    return accepted
