"""The baseline: accepted findings, so that only new ones fail.

A JSON file, version 1, made for review in a diff: sorted, one entry per line. The fingerprint identifies a finding;
rule, mangled name and message are for the reader.

An entry matches a finding of the same fingerprint in the same module. Modules are compared by `module_key`: two known
places that differ (`a/_C.so`, `b/_C.so`) are two modules; a bare name matches every place. Each entry matches at most
as many findings as its count, so one more finding of the same kind is new.

An entry that matches nothing is *stale*, but only if this run could have matched it: its module was read, or its
archive was read completely and no longer contains it. Entries for artifacts that were not scanned or could not be read,
and for requirements that this run does not have, are not reported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from abiscan.errors import UsageError
from abiscan.gate.requirements import REQUIREMENT_RULES
from abiscan.model.finding import Finding, Severity
from abiscan.model.fingerprint import container_key, module_key
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report

VERSION = 1


class BaselineEntry(Struct, frozen=True, omit_defaults=True):
    """An accepted finding.

    Attributes:
        artifact: `module_key` of the file.
        container: `container_key` of its archive, if it was in one.
        count: number of findings with these values.
    """

    fingerprint: str
    rule: str
    severity: Severity
    symbol: str | None
    artifact: str
    container: str | None
    message: str
    count: Annotated[int, msgspec.Meta(ge=1)] = 1

    def __str__(self) -> str:
        symbol = f" of {self.symbol}" if self.symbol is not None else ""
        return f"{self.rule}{symbol} in {self.artifact}"


class Baseline(Struct, frozen=True):
    """Entries, and the torch build they were written for (for a note if it differs)."""

    where: str
    target: str | None
    entries: tuple[BaselineEntry, ...]


class Matcher:
    """Pairs findings with entries, each entry as often as its count, and records which were used."""

    def __init__(self, baseline: Baseline) -> None:
        self._entries = baseline.entries
        self._left = [entry.count for entry in baseline.entries]
        # Indices in `_entries` by fingerprint and module; those with a directory also by fingerprint and bare name.
        self._exact: dict[tuple[str, str], deque[int]] = {}
        self._placed: dict[tuple[str, str], deque[int]] = {}
        for place, entry in enumerate(baseline.entries):
            self._exact.setdefault((entry.fingerprint, entry.artifact), deque()).append(place)
            if "/" in entry.artifact:
                self._placed.setdefault((entry.fingerprint, _bare(entry.artifact)), deque()).append(place)

    def accept(self, findings: Iterable[tuple[int, Finding, str]]) -> set[int]:
        """The numbers of the (number, finding, `module_key` of its file) that the baseline accepts.

        Entries with exactly the same place are paired first: otherwise a bare name could use up the entry of a place.
        """
        pending = sorted(findings, key=lambda item: (item[2], item[1].rule, item[1].symbol or "", item[0]))
        accepted = {n for n, finding, key in pending if self._use(self._exact, finding, key)}
        for number, finding, key in pending:
            if number not in accepted:
                # A finding with a place can match an entry with a bare name, and the reverse.
                index = self._exact if "/" in key else self._placed
                if self._use(index, finding, _bare(key)):
                    accepted.add(number)
        return accepted

    def _use(self, index: Mapping[tuple[str, str], deque[int]], finding: Finding, module: str) -> bool:
        """Use up one entry; False if there is none."""
        places = index.get((finding.fingerprint, module), ())
        while places:
            if self._left[places[0]]:
                self._left[places[0]] -= 1
                return True
            places.popleft()
        return False

    def stale(self, report: Report) -> list[BaselineEntry]:
        """Entries with a count left that this run could have used."""
        active = {rule.id for rule in report.rules}
        requirement_ids = {rule.id for rule in REQUIREMENT_RULES}
        scope = _Scope(report)
        return [
            entry
            for entry, left in zip(self._entries, self._left, strict=True)
            if left and (entry.rule not in requirement_ids or entry.rule in active) and scope.covers(entry)
        ]


class _Scope:
    """The part of a baseline that this run covers."""

    __slots__ = ("_read", "_unread", "_whole_containers")

    def __init__(self, report: Report) -> None:
        unreadable = ArtifactVerdict.UNREADABLE
        self._read = _Modules(a for a in report.artifacts if a.verdict is not unreadable)
        self._unread = _Modules(a for a in report.artifacts if a.verdict is unreadable)
        damaged = {container_key(error.path.split("!", 1)[0]) for error in report.errors}
        self._whole_containers = {container_key(a.path) for a in report.artifacts if a.member is not None} - damaged

    def covers(self, entry: BaselineEntry) -> bool:
        if self._unread.may_have(entry.artifact):
            return False
        # A bare name does not say whose place was read, so the entry of another place may still exist.
        if entry.artifact in self._read.keys or ("/" not in entry.artifact and self._read.may_have(entry.artifact)):
            return True
        return entry.container in self._whole_containers


class _Modules:
    """The modules of some artifacts, by `module_key` and by bare name."""

    __slots__ = ("_names", "keys")

    def __init__(self, artifacts: Iterable[ArtifactReport]) -> None:
        self.keys = {module_key(a.path, a.member) for a in artifacts}
        self._names = {_bare(key) for key in self.keys}

    def may_have(self, key: str) -> bool:
        """Whether `key` can be one of them: it is equal to one, or one of both is the bare name of the other."""
        return key in self.keys or (_bare(key) in self.keys if "/" in key else key in self._names)


def _bare(key: str) -> str:
    return key.rsplit("/", 1)[-1]


def write_baseline(report: Report) -> str:
    """Write a baseline that accepts every finding of the report that no ignore accepts, of every severity.

    Deterministic: two runs with the same findings write equal files, whatever the checkout path.
    """
    import json

    counts: dict[tuple[Any, ...], tuple[BaselineEntry, int]] = {}
    for artifact in report.artifacts:
        for finding in artifact.findings:
            if finding.suppressed and not finding.in_baseline:
                continue
            entry = _entry(artifact, finding)
            key = (entry.artifact, entry.rule, entry.symbol or "", entry.fingerprint)
            first, count = counts.get(key, (entry, 0))
            counts[key] = (min(first, entry, key=lambda e: e.message), count + 1)
    lines = ",".join(
        "\n    " + json.dumps(msgspec.to_builtins(replace(entry, count=count)))
        for _, (entry, count) in sorted(counts.items())
    )
    target = json.dumps(_target(report))
    closing = "\n  ]" if lines else "]"
    return f'{{\n  "abiscan_baseline": {VERSION},\n  "target": {target},\n  "entries": [{lines}{closing}\n}}\n'


def read_baseline(text: str, where: str) -> Baseline:
    """Read a baseline from `text`.

    Raises:
        UsageError: it is not a baseline, or has another version.
    """
    import json

    advice = f"write it again with --write-baseline {where}"
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{where}: not a baseline: not valid JSON; {advice}") from None
    if not isinstance(document, dict) or "abiscan_baseline" not in document:
        raise UsageError(f"{where}: not a baseline of abiscan; {advice}")
    if document["abiscan_baseline"] != VERSION:
        found = document["abiscan_baseline"]
        raise UsageError(f"{where}: baseline version {found!r}; this abiscan reads version {VERSION}; {advice}")
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
    """A note if the baseline was written for another torch than this run checks against: many entries will be new or
    stale."""
    now = _target(report)
    if baseline.target is None or now is None or baseline.target == now:
        return None
    return f"{baseline.where} was written for torch {baseline.target}; this run checks against {now}"


def _target(report: Report) -> str | None:
    return None if report.torch_build is None else report.torch_build.label


def _entry(artifact: ArtifactReport, finding: Finding) -> BaselineEntry:
    return BaselineEntry(
        finding.fingerprint,
        finding.rule,
        finding.severity,
        finding.symbol,
        module_key(artifact.path, artifact.member),
        container_key(artifact.path) if artifact.member is not None else None,
        finding.message,
    )


def _parse(value: object, where: str, advice: str) -> BaselineEntry:
    try:
        return msgspec.convert(value, BaselineEntry)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}; {advice}") from None
    except UnicodeEncodeError:
        raise UsageError(f"{where}: a key has a lone surrogate; {advice}") from None
