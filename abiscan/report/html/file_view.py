"""The panel of one file: verdict, imports, provenance, device code and operators."""

from __future__ import annotations

from abiscan.model.finding import Severity
from abiscan.model.imports import Status
from abiscan.model.outcome import BAD, outcome_of
from abiscan.model.provenance import Provenance, Topic
from abiscan.model.release import graded_ranges
from abiscan.model.report import ArtifactReport, Report
from abiscan.model.target import TargetEnvironment
from abiscan.model.versions import ReleaseRanges
from abiscan.report.escape import printable
from abiscan.report.html.values import FileView
from abiscan.report.provenance_text import operator_words
from abiscan.report.summary import severity_counts, status_counts
from abiscan.report.wording import counted, verdict_words

# Unresolved first: the order of the page.
STATUSES = (Status.MISSING, Status.UNREACHABLE, Status.UNDECIDED, Status.WEAK, Status.RESOLVED)
STRINGS = {True: "new (C++11)", False: "old (pre-C++11)", None: None}
# Maximum number of operators in a panel.
_OPERATORS = 300


def file_view(report: Report, number: int, artifact: ArtifactReport, label: str) -> FileView:
    """The panel of one file; `number` is unique on the page."""
    display = printable(artifact.display)
    inside = printable(artifact.member if artifact.member is not None else artifact.path)
    folder, _, name = inside.rpartition("/")
    severities = severity_counts(artifact.standing)
    statuses = status_counts(artifact.imports)
    made = artifact.provenance
    return FileView(
        number=number,
        name=name or display,
        label=label,
        folder=folder,
        display=display,
        verdict=artifact.verdict.value,
        word=verdict_words(artifact.verdict),
        bad=outcome_of(artifact, report.fail_on, report.accepted) in BAD,
        loader=printable(artifact.loader.error) if artifact.loader.error is not None else None,
        needed=tuple(
            (printable(n.soname), printable(n.found) if n.found is not None else None) for n in artifact.needed
        ),
        counts=tuple((status.value, statuses[status]) for status in STATUSES if statuses[status]),
        imports=len(artifact.imports),
        facts=_facts(artifact),
        made=tuple(
            (fact.topic.value, printable(fact.value), printable(fact.source), fact.confidence.value)
            for fact in made.facts
            # The images have a table of their own.
            if fact.topic is not Topic.GPU or not made.gpu_images
        ),
        images=_images(made),
        gpu_unread=printable(made.gpu_not_read) if made.gpu_not_read else None,
        operators=tuple(
            # A schema in a source may have several lines.
            f"{printable(' '.join(operator_words(o).split()))} [{o.registration.value}]"
            for o in artifact.operators[:_OPERATORS]
        ),
        more_operators=max(0, len(artifact.operators) - _OPERATORS),
        what_if=tuple(
            f"With {counted(len(w.symbols), 'call')} of {printable(w.rule)} rewritten it loads on "
            f"{ranges_words(w.compatible_with)} ({printable(w.assumes)})"
            for w in artifact.what_if
        ),
        notes=_notes(artifact),
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
    )


def ranges_words(ranges: ReleaseRanges | None) -> str:
    """`2.1.0-2.2.2, 2.12.0-2.15.0`; empty if unknown."""
    return "" if ranges is None else printable(ranges.text(last=", ")) or "no known release"


def _notes(artifact: ArtifactReport) -> tuple[str, ...]:
    served = artifact.replaced_by
    own = [] if served is None else [f"{served.rpartition('!')[2]} replaces it, so it does not count"]
    return tuple(printable(note) for note in (*own, *artifact.notes))


def _images(made: Provenance) -> tuple[tuple[str, ...], ...]:
    """(architecture, form, images, other) of each."""
    return tuple(
        (
            printable(image.architecture),
            image.code.value,
            str(image.images),
            ", ".join(
                text
                for text, true in (
                    (f"{image.compressed} compressed", image.compressed),
                    (f"PTX ISA {image.ptx_version}", image.ptx_version),
                    ("relocatable", image.relocatable),
                )
                if true
            ),
        )
        for image in made.gpu_images
    )


def _facts(artifact: ArtifactReport) -> tuple[tuple[str, str], ...]:
    """(name, value) of the file and its target environment, without facts of provenance."""
    made = artifact.provenance
    built = (
        made.built_for + (f" ({made.built_for_source})" if made.built_for_source else "") if made.built_for else None
    )
    ranges = None
    if artifact.releases is not None:
        ranges = graded_ranges((release.torch, release.state) for release in artifact.releases) or "no release"
    facts = [
        ("loads on torch", ranges),
        *_setting(artifact.target),
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
    return tuple((name, printable(value)) for name, value in facts if value)


def _setting(setting: TargetEnvironment | None) -> list[tuple[str, str | None]]:
    if setting is None:
        return []
    parts = (("torch", setting.torch), ("Python", setting.python), ("GPU", setting.gpu), ("system", setting.platform))
    return [
        (f"target environment: {name}", f"{stated.value} ({stated.detected_from})") for name, stated in parts if stated
    ]
