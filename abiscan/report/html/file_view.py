"""The panel of one file: verdict, imports, provenance, device code and operators."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.model.cause import Confidence
from abiscan.model.compatibility import loading_releases
from abiscan.model.finding import Severity
from abiscan.model.imports import Status
from abiscan.model.outcome import BAD, outcome_of
from abiscan.model.platforms import loading_words
from abiscan.model.provenance import Provenance, Topic
from abiscan.model.report import ArtifactReport, Report
from abiscan.model.versions import ReleaseRanges
from abiscan.model.words import counted
from abiscan.report.html.values import FileView, FoldedList
from abiscan.report.provenance_text import operator_words
from abiscan.report.summary import severity_counts, status_counts
from abiscan.report.wording import target_parts, verdict_words

# Unresolved first: the order of the page.
STATUSES = (Status.MISSING, Status.UNREACHABLE, Status.UNDECIDED, Status.WEAK, Status.RESOLVED)
STRINGS = {True: "new (C++11)", False: "old (pre-C++11)", None: None}
# Maximum number of operators in a panel.
_OPERATORS = 300


def file_view(report: Report, number: int, artifact: ArtifactReport, label: str, anchor: str) -> FileView:
    """The panel of one file; `number` and `anchor` are unique on the page."""
    folder, _, name = (artifact.path if artifact.member is None else artifact.member).rpartition("/")
    severities = severity_counts(artifact.standing)
    statuses = status_counts(artifact.imports)
    loading = loading_words([artifact.machine])
    target = [] if artifact.target is None else target_parts(artifact.target)
    served = artifact.replaced_by
    replaced = [] if served is None else [f"{served.rpartition('!')[2]} replaces it, so it does not count"]
    return FileView(
        number=number,
        anchor=anchor,
        name=name or artifact.display,
        label=label,
        folder=folder,
        display=artifact.display,
        verdict=artifact.verdict.value,
        word=verdict_words(artifact.verdict, [artifact.machine]),
        bad=outcome_of(artifact, report.fail_on, report.accepted) in BAD,
        loader=artifact.loader.error,
        counts=tuple((status.value, statuses[status]) for status in STATUSES if statuses[status]),
        imports=len(artifact.imports),
        facts=_facts(artifact),
        target=tuple((f"target environment: {name}", value) for name, value in target),
        lists=tuple(each for each in _lists(artifact) if each.rows),
        what_if=tuple(
            f"With {counted(len(w.symbols), 'call')} of {w.rule} rewritten it {loading.one} on "
            f"{ranges_words(w.compatible_with)} ({w.assumes})"
            for w in artifact.what_if
        ),
        notes=(*replaced, *artifact.notes),
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
    )


def ranges_words(ranges: ReleaseRanges | None) -> str:
    """`2.1.0-2.2.2, 2.12.0-2.15.0`; empty if unknown."""
    return "" if ranges is None else ranges.text(last=", ") or "no known release"


def _lists(artifact: ArtifactReport) -> Iterator[FoldedList]:
    made = artifact.provenance
    facts = tuple(
        (
            fact.topic.value,
            fact.value,
            fact.source + ("" if fact.confidence is Confidence.HIGH else f" ({fact.confidence.value} confidence)"),
        )
        for fact in made.facts
        # The images have a list of their own.
        if fact.topic is not Topic.GPU or not made.gpu_images
    )
    yield FoldedList(f"How it was made: {counted(len(facts), 'fact')}", facts)
    unread = f"Perhaps not all of it: {made.gpu_not_read}" if made.gpu_not_read else ""
    yield FoldedList(f"GPU code: {counted(len(made.gpu_images), 'kind')} of images", _images(made), unread)
    operators = tuple(
        # A schema in a source may have several lines.
        ("", " ".join(operator_words(o).split()), o.registration.value)
        for o in artifact.operators[:_OPERATORS]
    )
    more = len(artifact.operators) - _OPERATORS
    note = f"{more} more are in the JSON report." if more > 0 else ""
    yield FoldedList(counted(len(artifact.operators), "operator"), operators, note)
    needed = tuple((n.soname, "" if n.found else "not found", n.found or "") for n in artifact.needed)
    yield FoldedList(counted(len(needed), "needed library", "needed libraries"), needed)


def _images(made: Provenance) -> tuple[tuple[str, str, str], ...]:
    """(architecture, form, number and further facts) of each."""
    rows = []
    for image in made.gpu_images:
        facts = [counted(image.images, "image")]
        if image.compressed:
            facts.append(f"{image.compressed} compressed")
        if image.ptx_version:
            facts.append(f"PTX ISA {image.ptx_version}")
        if image.relocatable:
            facts.append("relocatable")
        rows.append((image.architecture, image.code.value, ", ".join(facts)))
    return tuple(rows)


def _facts(artifact: ArtifactReport) -> tuple[tuple[str, str], ...]:
    """(name, value) of the file and its target environment, without facts of provenance."""
    made = artifact.provenance
    built = (
        made.built_for + (f" ({made.built_for_source})" if made.built_for_source else "") if made.built_for else None
    )
    ranges = None if artifact.releases is None else loading_releases(artifact.releases)
    facts = [
        (f"{loading_words([artifact.machine]).clause} on torch", ranges),
        ("built for torch", built),
        ("torch releases with all its imports", ranges_words(made.torch_releases) if ranges is None else None),
        ("std::string", STRINGS[made.cxx11_abi]),
        ("torch interface", made.abi),
        ("GPU code", " ".join(made.gpu_archs)),
        *([] if made.facts else [("Python", made.python_abi), ("CUDA", made.cuda), ("glibc", made.glibc_needed)]),
        *([] if made.facts else [("libstdc++", made.libstdcxx_needed), ("compiler", "; ".join(made.compilers))]),
        ("machine", artifact.machine),
        ("size", f"{artifact.size:,} bytes"),
        ("build id", artifact.build_id),
        ("sha256", artifact.sha256),
    ]
    return tuple((name, value) for name, value in facts if value)
