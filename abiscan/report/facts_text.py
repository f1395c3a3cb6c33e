"""Facts of one file in the text report: releases, target environment, imports, notes, and the lists of -v."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.model.imports import Owner, Status
from abiscan.model.platforms import loading_words, platform_of
from abiscan.model.release import ReleaseState, graded_ranges
from abiscan.model.report import ArtifactReport, ArtifactVerdict, UniversalPart
from abiscan.model.versions import ReleaseRanges
from abiscan.model.words import counted
from abiscan.report.escape import printable
from abiscan.report.provenance_text import provenance_sections
from abiscan.report.style import LineGroup, Style, wrap
from abiscan.report.summary import status_counts
from abiscan.report.wording import ranges_words, target_parts

# Notes, and lines of a list, without -v and with one.
_NOTES, _LISTED = (2, 10), (0, 12)
# -vv.
_EVERYTHING = 2


def matrix_line(artifact: ArtifactReport) -> str:
    """The releases as ranges: those on which the file loads, with the layout changes that are possible, then the others
    with reasons."""
    if artifact.releases is None:
        return ""
    answers: dict[str, str | None] = {}
    open_: dict[str, list[str]] = {}
    for release in artifact.releases:
        if release.fits:
            answers[release.torch] = None
            if release.reason and release.state is ReleaseState.LOADS:
                open_.setdefault(release.reason, []).append(release.torch)
        else:
            answers.setdefault(release.torch, release.reason or "fails")
    loads = graded_ranges((release.torch, release.state) for release in artifact.releases) or "no release"
    others = [
        f"{ranges_words(ReleaseRanges.of_known(answers, lambda each, why=why: answers[each] == why))} {why}"  # type: ignore[misc]
        for why in dict.fromkeys(filter(None, answers.values()))
    ]
    tail = f"; fails on {', '.join(others)}" if others else ""
    for reason, unknown in open_.items():
        tail += f"; {reason} on {ranges_words(ReleaseRanges.of_known(answers, unknown.__contains__))}"
    return f"{loading_words([artifact.machine]).clause} on {loads}{tail}"


def part_words(part: UniversalPart) -> str:
    """`x86-64 on macOS: fails on torch 2.2.2+cpu, 1 symbol undefined`."""
    platform = platform_of(part.machine)
    if part.verdict is None:
        return f"{platform.shown}: not checked: this torch has no known build for it"
    words = {
        ArtifactVerdict.LOADS: platform.system.loading_words.clause,
        ArtifactVerdict.NOT_TORCH: "does not use torch",
        ArtifactVerdict.UNDECIDED: "cannot be decided",
    }.get(part.verdict, part.verdict.value)
    against = f" on torch {part.torch}" if part.torch and part.verdict is not ArtifactVerdict.NOT_TORCH else ""
    missing = f", {counted(len(part.missing), 'symbol')} undefined" if part.missing else ""
    return f"{platform.shown}: {words}{against}{missing}"


def fact_sections(artifact: ArtifactReport, style: Style) -> Iterator[LineGroup]:
    """The releases, the target environment, imports, provenance and notes."""
    for part in artifact.parts:
        yield LineGroup(3, wrap(part_words(part), style, "  part: ", "    "))
    matrix = matrix_line(artifact)
    if matrix:
        yield LineGroup(3, wrap(matrix, style, "  releases: ", "    "))
    for what_if in artifact.what_if:
        calls = counted(len(what_if.symbols), "call")
        ranges = ranges_words(what_if.compatible_with)
        words = f"after a rewrite of {calls} of {what_if.rule}: compatible with {ranges} ({what_if.assumes})"
        yield LineGroup(5, wrap(words, style, "  what if: ", "    "))
    if style.verbose and artifact.target is not None:
        parts = ", ".join(f"{name} {value}" for name, value in target_parts(artifact.target))
        yield LineGroup(3, wrap(parts, style, "  target environment: ", "    "))
    if artifact.imports and artifact.verdict is not ArtifactVerdict.NOT_TORCH:
        yield LineGroup(5, wrap(_import_counts(artifact), style, "  imports: ", "    "))
    yield from provenance_sections(artifact, style)
    rest = [note for note in artifact.notes if artifact.causes or note not in artifact.failure_reasons]
    rest = [] if artifact.verdict is ArtifactVerdict.UNDECIDED else rest  # below the first line
    notes = rest[: style.limit(*_NOTES)]
    for note in notes:
        yield LineGroup(4, wrap(note, style, "  note: ", "    "))
    yield LineGroup(4, style.left_out(len(rest) - len(notes), "  ", "note"))


def _import_counts(artifact: ArtifactReport) -> str:
    owners = {Owner.TORCH: "torch", Owner.PYTHON: "Python"}
    counts: dict[str, int] = {"torch": 0, "Python": 0, "other": 0}
    for bound in artifact.imports:
        counts[owners.get(bound.owner, "other")] += 1
    parts = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    statuses = status_counts(artifact.imports)
    states = [
        f"{statuses[status]} {status.value}"
        for status in (Status.MISSING, Status.UNREACHABLE, Status.UNDECIDED, Status.WEAK)
        if statuses[status]
    ]
    return f"{len(artifact.imports)} ({parts})" + (f"; {', '.join(states)}" if states else "")


def detail_sections(artifact: ArtifactReport, style: Style) -> Iterator[LineGroup]:
    """Details of -v: needed libraries and imports; with -vv also each release."""
    yield LineGroup(6, _needed_lines(artifact, style))
    yield from _import_sections(artifact, style)
    if style.verbose >= _EVERYTHING:
        yield LineGroup(6, _release_lines(artifact, style))


def _needed_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    lines = ["  needed libraries:"] if artifact.needed else []
    shown = artifact.needed[: style.limit(*_LISTED)]
    for library in shown:
        found = style.paint(" not found", "red") if library.found is None else f" -> {printable(library.found)}"
        lines.append(f"    {printable(library.soname)}{found if library.found != library.soname else ''}")
    return lines + style.left_out(len(artifact.needed) - len(shown), "    ")


def _import_sections(artifact: ArtifactReport, style: Style) -> Iterator[LineGroup]:
    for status in Status:
        found = [b for b in artifact.imports if b.status is status]
        if not found:
            continue
        if status is Status.RESOLVED and style.verbose < _EVERYTHING:
            yield LineGroup(5, [style.dim(f"  {len(found)} {status.value} imports ({style.more})")])
            continue
        lines = [f"  {status.value} imports ({len(found)}):"]
        found.sort(key=lambda b: (b.owner.value, b.demangled or b.name))
        shown = found[: style.limit(*_LISTED)]
        for bound in shown:
            provider = f"  <- {printable(bound.provider)}" if bound.provider else ""
            exported_in = artifact.exported_in.get(bound.name)
            releases = f"  [{ranges_words(exported_in)}]" if exported_in is not None else ""
            lines.append(f"    {printable(bound.demangled or bound.name)}{style.dim(provider + releases)}")
            if bound.demangled is not None:
                lines.append(style.dim(f"      {printable(bound.name)} ({bound.demangled_by})"))
        yield LineGroup(6, lines + style.left_out(len(found) - len(shown), "    "))


def _release_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    if not artifact.releases:
        return []
    from abiscan.report.text_table import Row, Table, Tone, text_table

    words = loading_words([artifact.machine])
    rows = []
    for release in artifact.releases:
        tone = Tone.BAD if not release.fits else Tone.DOUBT if release.drift else Tone.GOOD
        word = words.one if release.fits else "layout change" if release.loads else "fails"
        reason = [release.reason] if release.reason else []
        if release.drift:
            reason.append(f"layout of {', '.join(release.drift)}")
        missing = str(len(release.missing)) if release.missing else ""
        rows.append(Row((release.build, word, missing, "; ".join(reason)), tone))
    loading = sum(release.fits for release in artifact.releases)
    total = Row((counted(len(rows), "build"), counted(loading, words.one, words.many), "", ""))
    table = Table(("build", "outcome", "missing", "reason"), tuple(rows), total=total)
    return ["  releases:", *text_table(table, style, "  ")]
