"""The report as the page shows it: texts made printable, causes merged over files, one matrix over all of them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from msgspec import Struct, field

from abiscan.model.binding import Owner, Status
from abiscan.model.cause import CauseGroup
from abiscan.model.finding import (
    Finding,
    Location,
    RuleInfo,
    Severity,
)
from abiscan.model.fingerprint import module_name
from abiscan.model.provenance import Provenance
from abiscan.model.report import (
    ArtifactReport,
    ArtifactVerdict,
    Report,
    Verdict,
)
from abiscan.model.target import TargetKind
from abiscan.model.versions import Windows, minor
from abiscan.report.escape import printable
from abiscan.report.json_v1 import sorted_artifacts, sorted_findings, sorted_imports

# What the page holds before "show all" is pressed, or at all where the JSON report is the place for the rest.
_HITS, _MISSING_SHOWN, _SYMBOLS = 25, 6, 400

_ORDER = [
    ArtifactVerdict.FAILS,
    ArtifactVerdict.UNREADABLE,
    ArtifactVerdict.UNDECIDED,
    ArtifactVerdict.LOADS,
    ArtifactVerdict.NOT_TORCH,
]
VERDICT_WORDS = {
    ArtifactVerdict.LOADS: "loads",
    ArtifactVerdict.FAILS: "fails",
    ArtifactVerdict.UNDECIDED: "undecided",
    ArtifactVerdict.UNREADABLE: "unreadable",
    ArtifactVerdict.NOT_TORCH: "not torch",
}
_KINDS = {TargetKind.INSTALLED: "installed", TargetKind.RELEASE: "released build", TargetKind.PATH: "by path"}


class Hit(Struct, frozen=True):
    """One finding in one file."""

    file: int
    severity: str
    message: str
    fix: str
    where: tuple[str, ...]
    suppression: str | None
    failing: bool


class RuleView(Struct, frozen=True):
    """A rule with its hits."""

    id: str
    severity: str
    summary: str
    why: str
    example: str
    use_instead: str
    references: tuple[str, ...]
    hits: tuple[Hit, ...]
    shown: tuple[Hit, ...]
    standing: int


class CauseView(Struct):
    """A cause, merged over the files that have it.

    Attributes:
        evidence: of the first file: that of many, mixed, would prove nothing.
        fixes: each distinct fix with the files that it is for; the first is shown at once.
    """

    cause: str
    confidence: str
    summary: str
    evidence: tuple[str, ...]
    fixes: dict[str, list[int]] = field(default_factory=dict)
    files: list[int] = field(default_factory=list)
    symbols: dict[str, str] = field(default_factory=dict)

    @property
    def shown_symbols(self) -> list[str]:
        return list(self.symbols.values())[:_SYMBOLS]


class FileView(Struct, frozen=True):
    """A file with the facts that its panel shows."""

    number: int
    name: str
    label: str
    folder: str
    display: str
    verdict: str
    word: str
    loader: str | None
    needed: tuple[tuple[str, str | None], ...]
    counts: tuple[tuple[str, int], ...]
    imports: int
    facts: tuple[tuple[str, str], ...]
    what_if: tuple[str, ...]
    notes: tuple[str, ...]
    errors: int
    warnings: int
    row: tuple[str, ...]


class Column(Struct, frozen=True):
    """A build of the matrix."""

    build: str
    torch: str
    variant: str
    first_of_minor: bool


class PageView(Struct, frozen=True):
    """All that the template sees."""

    title: str
    version: str
    verdict: str
    word: str
    headline: str
    target: str | None
    target_facts: tuple[tuple[str, str], ...]
    tallies: tuple[tuple[str, str, int], ...]
    causes: tuple[CauseView, ...]
    columns: tuple[Column, ...]
    matrix: tuple[FileView, ...]
    legend: tuple[str, ...]
    variants: bool
    rules: tuple[RuleView, ...]
    files: tuple[FileView, ...]
    imports: int
    notes: tuple[str, ...]
    errors: tuple[tuple[str, str], ...]
    stale: tuple[tuple[str, str, bool], ...]


def page_view(report: Report) -> PageView:
    """What the page shows of a report."""
    artifacts = sorted(sorted_artifacts(report), key=lambda a: _ORDER.index(a.verdict))
    columns = _columns(artifacts)
    labels = _labels(artifacts)
    files = tuple(_file(number, artifact, columns, labels[number]) for number, artifact in enumerate(artifacts))
    matrix = tuple(f for f, a in zip(files, artifacts, strict=True) if a.releases)
    target = report.target
    return PageView(
        title=_title(report, files),
        version=report.version,
        verdict=report.verdict.value,
        word={Verdict.PASS: "Pass", Verdict.FAIL: "Fail", Verdict.INCOMPLETE: "Incomplete"}[report.verdict],
        headline=_headline(report),
        target=f"torch {printable(target.torch)}" if target is not None else None,
        target_facts=_target_facts(report),
        tallies=_tallies(report),
        causes=tuple(_causes(artifacts)),
        columns=columns,
        matrix=matrix,
        legend=tuple(dict.fromkeys(cell for f in matrix for cell in f.row)),
        variants=len({c.variant for c in columns}) > 1,
        rules=tuple(_rules(report, artifacts)),
        files=files,
        imports=sum(len(a.imports) for a in artifacts),
        notes=tuple(printable(n) for n in (target.note if target else None, *report.notes) if n),
        errors=tuple((printable(e.path), printable(e.message)) for e in report.errors),
        stale=tuple((printable(e.source), printable(e.entry), e.fails) for e in report.stale),
    )


def data_json(report: Report, view: PageView) -> str:
    """What the script works on, as JSON that no name in it can end: `<`, `>`, `&` and line separators are escaped."""
    artifacts = sorted(sorted_artifacts(report), key=lambda a: _ORDER.index(a.verdict))
    texts = _Texts()
    imports = []
    for number, artifact in enumerate(artifacts):
        for bound in sorted_imports(artifact.imports):
            row: list[Any] = [
                number,
                printable(bound.name),
                printable(bound.demangled) if bound.demangled is not None else 0,
                _STATUSES.index(bound.status),
                _OWNERS.index(bound.owner),
                texts.add(printable(bound.provider or "")),
                texts.add(windows_words(bound.windows)),
                texts.add("; ".join(c.cause.value for c in bound.causes)),
            ]
            imports.append(row)
    place = {column.build: number for number, column in enumerate(view.columns)}
    cells: dict[str, list[Any]] = {}
    for number, artifact in enumerate(artifacts):
        names = {b.name: b.demangled or b.name for b in artifact.imports}
        for release in artifact.releases or ():
            if not release.loads or release.drift:
                cells[f"{number},{place[release.build]}"] = [
                    texts.add(printable(release.reason)),
                    len(release.missing),
                    [texts.add(_cut(names.get(m, m))) for m in release.missing[:_MISSING_SHOWN]],
                    [texts.add(_cut(d)) for d in release.drift[:_MISSING_SHOWN]],
                ]
    value = {
        "files": [[f.display, f.label] for f in view.files],
        "columns": [f"torch {c.torch}" + (f"+{c.variant}" if c.variant else "") for c in view.columns],
        "statuses": [s.value for s in _STATUSES],
        "owners": [o.value for o in _OWNERS],
        "imports": imports,
        "cells": cells,
        "hits": {
            rule.id: [[h.file, h.severity, h.message, list(h.where), h.suppression] for h in rule.hits[_HITS:]]
            for rule in view.rules
            if len(rule.hits) > _HITS
        },
        "texts": texts.values,
    }
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def windows_words(windows: Windows | None) -> str:
    """`2.1.0 - 2.2.2, 2.12.0 - 2.15.0`; empty where it was not looked up."""
    return "" if windows is None else printable(windows.text(last=", ")) or "no known release"


# Unresolved first: the order in which the page offers and sorts them.
_STATUSES = [Status.MISSING, Status.UNREACHABLE, Status.UNDECIDED, Status.WEAK, Status.RESOLVED]
_OWNERS = list(Owner)


class _Texts:
    """Texts that occur often, each kept once."""

    __slots__ = ("_places", "values")

    def __init__(self) -> None:
        self.values: list[str] = []
        self._places: dict[str, int] = {}

    def add(self, text: str) -> int:
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self.values)
            self.values.append(text)
        return place


def _cut(text: str, limit: int = 240) -> str:
    shown = printable(text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _title(report: Report, files: tuple[FileView, ...]) -> str:
    containers = sorted({a.path for a in report.artifacts})
    if len(containers) == 1:
        return printable(containers[0].rsplit("/", 1)[-1])
    return f"{len(files)} files" if files else "nothing to judge"


def _headline(report: Report) -> str:
    verdicts = [a.verdict for a in report.artifacts]
    whole = len(verdicts)
    on = f" on torch {printable(report.target.torch)} ({printable(report.target.variant)})" if report.target else ""
    fails = verdicts.count(ArtifactVerdict.FAILS)
    standing = sum(report.failing(f) for a in report.artifacts for f in a.findings)
    match report.verdict:
        case Verdict.FAIL:
            if fails:
                rest = "does not load" if whole == 1 else f"of {_count(whole, 'file')} {_do(fails)} not load"
                return f"{'The file' if whole == 1 else fails} {rest}{on}."
            if standing:
                return f"{_count(standing, 'finding')} {'fails' if standing == 1 else 'fail'} the gate{on}."
            return f"{_count(sum(e.fails for e in report.stale), 'baseline entry', 'baseline entries')} went stale."
        case Verdict.INCOMPLETE:
            return f"Nothing failed, but not everything could be read or decided{on}."
        case _:
            loads = verdicts.count(ArtifactVerdict.LOADS)
            if fails:
                return f"{_count(fails, 'file')} {_do(fails)} not load{on}, and the policy accepts that."
            if not loads:
                return "Nothing here needs torch."
            return f"{'The file loads' if whole == loads == 1 else f'{loads} of {whole} files load'}{on}."


def _do(number: int) -> str:
    return "does" if number == 1 else "do"


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _target_facts(report: Report) -> tuple[tuple[str, str], ...]:
    target = report.target
    if target is None:
        return ()
    strings = {True: "new (C++11)", False: "old (pre-C++11)", None: None}[target.cxx11_abi]
    facts = [
        ("variant", target.variant),
        ("chosen", _KINDS[target.kind]),
        ("std::string", strings),
        ("CUDA", target.cuda),
        ("HIP", target.hip),
        ("machine", target.machine),
        ("Python", target.python),
        ("path", target.path),
    ]
    return tuple((name, printable(value)) for name, value in facts if value)


def _tallies(report: Report) -> tuple[tuple[str, str, int], ...]:
    """(class, words, number) of what there is."""
    verdicts = [a.verdict for a in report.artifacts]
    found = [(v.value, VERDICT_WORDS[v], verdicts.count(v)) for v in _ORDER]
    findings = [f for a in report.artifacts for f in a.findings]
    for severity in Severity:
        number = sum(f.severity is severity and not f.suppressed for f in findings)
        found.append((severity.value, severity.value + ("" if number == 1 else "s"), number))
    found.append(("suppressed", "accepted", sum(f.suppressed for f in findings)))
    found.append(("stale", "stale", len(report.stale)))
    found.append(("unreadable", "inputs not read", len(report.errors)))
    return tuple(item for item in found if item[2])


def _columns(artifacts: list[ArtifactReport]) -> tuple[Column, ...]:
    builds: dict[str, tuple[str, str]] = {}
    for artifact in artifacts:
        for release in artifact.releases or ():
            builds.setdefault(release.build, (printable(release.torch), printable(release.variant)))
    columns: list[Column] = []
    before = ""
    for build, (torch, variant) in builds.items():
        columns.append(Column(build, torch, variant, minor(torch) != before))
        before = minor(torch)
    return tuple(columns)


def _labels(artifacts: list[ArtifactReport]) -> list[str]:
    """Short names: without Python tags and vendoring hashes, with as many folders as tell them apart."""
    paths = [printable(a.member if a.member is not None else a.path).split("/") for a in artifacts]
    shorts = [[*path[:-1], module_name(path[-1])] for path in paths]
    labels: list[str] = []
    depths = [1] * len(shorts)
    # Past four folders the whole path, which the title has, is as good.
    for _ in range(4):
        labels = ["/".join(short[-depth:]) for short, depth in zip(shorts, depths, strict=True)]
        counts = Counter(labels)
        depths = [depth + (counts[label] > 1) for depth, label in zip(depths, labels, strict=True)]
    return labels


def _file(number: int, artifact: ArtifactReport, columns: tuple[Column, ...], label: str) -> FileView:
    display = printable(artifact.display)
    inside = printable(artifact.member if artifact.member is not None else artifact.path)
    folder, _, name = inside.rpartition("/")
    by_build = {release.build: release for release in artifact.releases or ()}
    row = []
    for column in columns:
        release = by_build.get(column.build)
        row.append(
            "unknown" if release is None else ("drift" if release.drift else "loads") if release.loads else "fails"
        )
    standing = [f for f in artifact.findings if not f.suppressed]
    counts = [(status.value, sum(b.status is status for b in artifact.imports)) for status in _STATUSES]
    return FileView(
        number,
        name or display,
        label,
        folder,
        display,
        artifact.verdict.value,
        VERDICT_WORDS[artifact.verdict],
        printable(artifact.loader.error) if artifact.loader.error is not None else None,
        tuple((printable(n.soname), printable(n.found) if n.found is not None else None) for n in artifact.needed),
        tuple(item for item in counts if item[1]),
        len(artifact.imports),
        _facts(artifact, artifact.provenance),
        tuple(
            f"With {_count(len(w.symbols), 'call')} of {printable(w.rule)} rewritten it loads on "
            f"{windows_words(w.windows)} ({printable(w.assumes)})"
            for w in artifact.what_if
        ),
        tuple(printable(note) for note in artifact.notes),
        sum(f.severity is Severity.ERROR for f in standing),
        sum(f.severity is Severity.WARNING for f in standing),
        tuple(row),
    )


def _facts(artifact: ArtifactReport, made: Provenance) -> tuple[tuple[str, str], ...]:
    strings = {True: "new (C++11)", False: "old (pre-C++11)", None: None}[made.cxx11_abi]
    built = made.built_for + (f" ({made.built_for_basis})" if made.built_for_basis else "") if made.built_for else None
    facts = [
        ("built for torch", built),
        ("torch releases with all its imports", windows_words(made.torch_window)),
        ("std::string", strings),
        ("torch interface", made.abi),
        ("Python", made.python_abi),
        ("CUDA", made.cuda),
        ("GPU code", " ".join(made.gpu_archs)),
        ("glibc", made.glibc_needed),
        ("libstdc++", made.libstdcxx_needed),
        ("compiler", "; ".join(made.compilers)),
        ("machine", artifact.machine),
        ("size", f"{artifact.size:,} bytes"),
        ("build id", artifact.build_id),
        ("sha256", artifact.sha256),
    ]
    return tuple((name, printable(value)) for name, value in facts if value)


def _causes(artifacts: list[ArtifactReport]) -> list[CauseView]:
    merged: dict[tuple[str, str], CauseView] = {}
    for number, artifact in enumerate(artifacts):
        names = {b.name: b.demangled or b.name for b in artifact.imports}
        for group in artifact.causes:
            view = merged.setdefault(
                (group.cause.value, group.summary),
                CauseView(
                    group.cause.value,
                    group.confidence.value,
                    printable(group.summary),
                    tuple(printable(sentence) for sentence in group.evidence),
                ),
            )
            _add(view, group, number, names)
    # What hits most files first; files come worst first already.
    return sorted(merged.values(), key=lambda v: -len(v.files))


def _add(view: CauseView, group: CauseGroup, number: int, names: dict[str, str]) -> None:
    view.files.append(number)
    if group.fix:
        view.fixes.setdefault(_lines(group.fix), []).append(number)
    for symbol in group.symbols:
        view.symbols.setdefault(symbol, printable(names.get(symbol, symbol)))


def _rules(report: Report, artifacts: list[ArtifactReport]) -> list[RuleView]:
    infos = {rule.id: rule for rule in report.rules}
    hits: dict[str, list[Hit]] = {}
    worst: dict[str, Severity] = {}
    order = list(Severity)
    for number, artifact in enumerate(artifacts):
        for finding in sorted_findings(artifact.findings):
            hits.setdefault(finding.rule, []).append(_hit(report, number, finding))
            worst[finding.rule] = min(worst.get(finding.rule, finding.severity), finding.severity, key=order.index)
    views = []
    for rule_id, found in hits.items():
        # What stands before what is accepted.
        found.sort(key=lambda hit: (hit.suppression is not None, not hit.failing))
        views.append(_rule(rule_id, infos.get(rule_id), worst[rule_id], tuple(found)))
    return sorted(views, key=lambda v: (v.standing == 0, order.index(Severity(v.severity)), -v.standing, v.id))


def _rule(rule_id: str, info: RuleInfo | None, severity: Severity, hits: tuple[Hit, ...]) -> RuleView:
    return RuleView(
        printable(rule_id),
        severity.value,
        _lines(info.summary) if info else "",
        _lines(info.why) if info else "",
        _lines(info.example) if info else "",
        _lines(info.use_instead) if info else "",
        tuple(r for r in info.references if r.startswith(("https://", "http://"))) if info else (),
        hits,
        hits[:_HITS],
        sum(hit.suppression is None for hit in hits),
    )


def _hit(report: Report, number: int, finding: Finding) -> Hit:
    return Hit(
        number,
        finding.severity.value,
        _lines(finding.message),
        _lines(finding.fix),
        tuple(where for location in finding.locations if (where := _where(location))),
        printable(finding.suppression or "accepted") if finding.suppressed else None,
        report.failing(finding),
    )


def _where(location: Location) -> str:
    function = printable(location.function) if location.function is not None else ""
    if location.file is not None:
        place = printable(location.file) + (f":{location.line}" if location.line is not None else "")
        return f"{place} in {function}" if function else place
    if location.offset is not None:
        return f"{function or 'code'} at {location.offset:#x}"
    return function


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.strip().split("\n"))
