"""The report as the page shows it: texts made printable, causes merged over files, one matrix over all of them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from abiscan.model.binding import Owner, Status
from abiscan.model.finding import Severity
from abiscan.model.fingerprint import bare_name
from abiscan.model.release import ReleaseVerdict
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report, Verdict
from abiscan.model.versions import Windows, minor
from abiscan.report.escape import printable
from abiscan.report.html.merged import HITS, merged_causes, merged_rules
from abiscan.report.html.values import Column, FileView, PageView
from abiscan.report.order import WORST_FIRST, sorted_artifacts, sorted_imports
from abiscan.report.summary import Summary, severity_counts, status_counts, summary_of
from abiscan.report.wording import TARGET_KINDS, counted, readable_names, verdict_words

# What the page holds of a release's missing names; the JSON report is the place for the rest.
_MISSING_SHOWN = 6


def page_view(report: Report) -> PageView:
    """What the page shows of a report."""
    artifacts = _ordered(report)
    counts = summary_of(report)
    columns = _columns(artifacts)
    labels = _labels(artifacts)
    files = tuple(_file(number, artifact, columns, labels[number]) for number, artifact in enumerate(artifacts))
    matrix = tuple(f for f, a in zip(files, artifacts, strict=True) if a.releases)
    target = report.target
    return PageView(
        title=_title(report, files),
        version=report.version,
        verdict=report.verdict.value,
        word=verdict_words(report.verdict).capitalize(),
        headline=_headline(report, counts),
        target=f"torch {printable(target.torch)}" if target is not None else None,
        target_facts=_target_facts(report),
        tallies=_tallies(counts),
        causes=tuple(merged_causes(artifacts)),
        columns=columns,
        matrix=matrix,
        legend=tuple(dict.fromkeys(cell for f in matrix for cell in f.row)),
        variants=len({c.variant for c in columns}) > 1,
        rules=tuple(merged_rules(report, artifacts)),
        files=files,
        imports=sum(len(a.imports) for a in artifacts),
        notes=tuple(printable(n) for n in (target.note if target else None, *report.notes) if n),
        errors=tuple((printable(e.path), printable(e.message)) for e in report.errors),
        stale=tuple((printable(e.source), printable(e.entry), e.fails) for e in report.stale),
    )


def _ordered(report: Report) -> list[ArtifactReport]:
    """The files as the page numbers them: worst first, then by path."""
    return sorted(sorted_artifacts(report.artifacts), key=lambda a: WORST_FIRST.index(a.verdict))


def data_json(report: Report, view: PageView) -> str:
    """What the script works on, as JSON that no name in it can end: `<`, `>`, `&` and line separators are escaped."""
    artifacts = _ordered(report)
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
        names = readable_names(artifact)
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
            rule.id: [[h.file, h.severity, h.message, list(h.where), h.suppression] for h in rule.hits[HITS:]]
            for rule in view.rules
            if len(rule.hits) > HITS
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
_STRINGS = {True: "new (C++11)", False: "old (pre-C++11)", None: None}


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


def _headline(report: Report, counts: Summary) -> str:
    whole, fails, standing = counts.artifacts, counts.verdicts[ArtifactVerdict.FAILS], counts.failing
    on = f" on torch {printable(report.target.torch)} ({printable(report.target.variant)})" if report.target else ""
    match report.verdict:
        case Verdict.FAIL:
            if fails:
                rest = "does not load" if whole == 1 else f"of {counted(whole, 'file')} {_do(fails)} not load"
                return f"{'The file' if whole == 1 else fails} {rest}{on}."
            if standing:
                return f"{counted(standing, 'finding')} {'fails' if standing == 1 else 'fail'} the gate{on}."
            return f"{counted(sum(e.fails for e in report.stale), 'baseline entry', 'baseline entries')} went stale."
        case Verdict.INCOMPLETE:
            return f"Nothing failed, but not everything could be read or decided{on}."
        case _:
            loads = counts.verdicts[ArtifactVerdict.LOADS]
            if fails:
                return f"{counted(fails, 'file')} {_do(fails)} not load{on}, and the policy accepts that."
            if not loads:
                return "Nothing here needs torch."
            return f"{'The file loads' if whole == loads == 1 else f'{loads} of {whole} files load'}{on}."


def _do(number: int) -> str:
    return "does" if number == 1 else "do"


def _target_facts(report: Report) -> tuple[tuple[str, str], ...]:
    target = report.target
    if target is None:
        return ()
    facts = [
        ("variant", target.variant),
        ("chosen", TARGET_KINDS[target.kind]),
        ("std::string", _STRINGS[target.cxx11_abi]),
        ("CUDA", target.cuda),
        ("HIP", target.hip),
        ("machine", target.machine),
        ("Python", target.python),
        ("path", target.path),
    ]
    return tuple((name, printable(value)) for name, value in facts if value)


def _tallies(counts: Summary) -> tuple[tuple[str, str, int], ...]:
    """(class, words, number) of what there is."""
    found = [(verdict.value, verdict_words(verdict), counts.verdicts[verdict]) for verdict in WORST_FIRST]
    for severity, number in counts.findings.items():
        found.append((severity.value, severity.value + ("" if number == 1 else "s"), number))
    found.append(("suppressed", "accepted", counts.suppressed))
    found.append(("stale", "stale", counts.stale))
    found.append(("unreadable", "inputs not read", counts.errors))
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
    shorts = [[*path[:-1], bare_name(path[-1])] for path in paths]
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
        row.append("unknown" if release is None else _cell(release))
    severities = severity_counts(artifact.standing)
    statuses = status_counts(artifact.imports)
    return FileView(
        number=number,
        name=name or display,
        label=label,
        folder=folder,
        display=display,
        verdict=artifact.verdict.value,
        word=verdict_words(artifact.verdict),
        loader=printable(artifact.loader.error) if artifact.loader.error is not None else None,
        needed=tuple(
            (printable(n.soname), printable(n.found) if n.found is not None else None) for n in artifact.needed
        ),
        counts=tuple((status.value, statuses[status]) for status in _STATUSES if statuses[status]),
        imports=len(artifact.imports),
        facts=_facts(artifact),
        what_if=tuple(
            f"With {counted(len(w.symbols), 'call')} of {printable(w.rule)} rewritten it loads on "
            f"{windows_words(w.windows)} ({printable(w.assumes)})"
            for w in artifact.what_if
        ),
        notes=tuple(printable(note) for note in artifact.notes),
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
        row=tuple(row),
    )


def _cell(release: ReleaseVerdict) -> str:
    if not release.loads:
        return "fails"
    if not release.fits:
        return "layout"
    return "drift" if release.drift else "loads"


def _facts(artifact: ArtifactReport) -> tuple[tuple[str, str], ...]:
    """(name, value) of what is known of its making and of the file itself."""
    made = artifact.provenance
    built = made.built_for + (f" ({made.built_for_basis})" if made.built_for_basis else "") if made.built_for else None
    facts = [
        ("built for torch", built),
        ("torch releases with all its imports", windows_words(made.torch_window)),
        ("std::string", _STRINGS[made.cxx11_abi]),
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
