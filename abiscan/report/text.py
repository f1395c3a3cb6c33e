"""The report for a person at a terminal: first the verdict, then the reason, then what to do; then the rest.

A file that loads takes up to eight lines, one that does not about thirty; `verbose` lifts both. The text is made for
reading and may change; scripts read the JSON report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from abiscan.model.finding import Severity
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import LoaderOutcome
from abiscan.model.report import BINDS_ITSELF, ArtifactKind, ArtifactReport, ArtifactVerdict, Container, Report, Verdict
from abiscan.model.target import TargetEnvironment, TorchBuild
from abiscan.model.versions import ReleaseRanges
from abiscan.report.escape import printable
from abiscan.report.problems_text import cause_lines, declaration_lines, finding_lines, of_wheel
from abiscan.report.provenance_text import provenance_lines
from abiscan.report.sources_text import source_lines
from abiscan.report.style import Style, wrap
from abiscan.report.summary import (
    count_words,
    errors_are_accepted,
    refusal_of,
    severity_counts,
    status_counts,
    summary_of,
)
from abiscan.report.wording import TARGET_KINDS, counted, ranges_words, requirement_words, verdict_words

# With more bad files than this in one run or wheel, only the first is told in full.
_IN_FULL = 3
# Characters of a loader's message that are printed in any case.
_LONG = 400
# A run over this many files or more gives a line to each good one, and a block only to bad ones.
_BRIEF_FROM = 2

# SGR parameters (ECMA-48) of each verdict.
_COLORS: dict[ArtifactVerdict | Verdict, str] = {
    ArtifactVerdict.LOADS: "32;1",
    ArtifactVerdict.FAILS: "31;1",
    ArtifactVerdict.UNDECIDED: "33;1",
    ArtifactVerdict.UNREADABLE: "31;1",
    ArtifactVerdict.NOT_TORCH: "36",
    Verdict.PASS: "32;1",
    Verdict.FAIL: "31;1",
    Verdict.INCOMPLETE: "33;1",
}
# The word of each verdict that lines begin with: what fails stands out without colours too.
_VERDICT_LABELS = {
    verdict: "FAILS" if verdict is ArtifactVerdict.FAILS else verdict_words(verdict) for verdict in ArtifactVerdict
}


def render(report: Report, style: Style | None = None) -> str:
    """The whole report as text, ending in a newline."""
    style = replace(style or Style(), fail_on=report.fail_on)
    lines: list[str] = []
    brief = len(report.artifacts) >= _BRIEF_FROM and not style.verbose
    place = {display: number for number, container in enumerate(report.containers) for display in container.artifacts}
    loose: list[ArtifactReport] = []
    members: list[list[ArtifactReport]] = [[] for _ in report.containers]
    for artifact in report.artifacts:
        number = place.get(artifact.display)
        (loose if number is None else members[number]).append(artifact)
    lines += _artifact_lines(loose, report.torch_build, style, brief=brief)
    for container, inside in zip(report.containers, members, strict=True):
        # The wheel's own line names it once for all its members.
        headed = len(inside) > 1
        shown = _artifact_lines(inside, report.torch_build, style, brief=brief, by_member=headed)
        if shown and lines:
            lines.append("")
        if shown and headed:
            label = style.paint(_VERDICT_LABELS[container.verdict], _COLORS[container.verdict])
            lines += wrap(_container_line(container, inside, style), style, f"{label} ", "  ")
            lines += declaration_lines(inside, style)
        lines += shown
    for error in report.errors:
        lines += wrap(f"{error.path}: {error.message}", style, style.paint("unreadable ", "31;1"), "  ")
    lines += _run_notes(report, style)
    return "\n".join(lines) + "\n" if lines else ""


def _artifact_lines(
    artifacts: Sequence[ArtifactReport],
    target: TorchBuild | None,
    style: Style,
    *,
    brief: bool,
    by_member: bool = False,
) -> list[str]:
    """What is not in order first; then a line for each file that is; what concerns no torch is counted."""
    lines: list[str] = []
    bad: list[ArtifactReport] = []
    good: list[str] = []
    apart = 0
    sources = [a for a in artifacts if a.kind is not ArtifactKind.SHARED_OBJECT]
    for artifact in artifacts:
        if artifact.kind is not ArtifactKind.SHARED_OBJECT and artifact.findings:
            continue
        if _is_bad(artifact, style):
            bad.append(artifact)
        elif brief or (_is_accepted(artifact) and not style.verbose):
            if _concerns_no_torch(artifact):
                apart += 1
            elif not style.quiet:
                good += [_one_line(artifact, style, by_member=by_member), *_own_declaration(artifact, style, by_member)]
        else:
            good += _block(artifact, target, style, by_member=by_member)
    if apart and not style.quiet:
        files = f"{counted(apart, 'file')} that {'imports' if apart == 1 else 'import'} nothing of torch"
        good.append(f"{style.paint('not torch', _COLORS[ArtifactVerdict.NOT_TORCH])} {files}")
    # What fails for want of another one comes behind that.
    bad.sort(key=lambda artifact: not artifact.causes and refusal_of(artifact) is None)
    for number, artifact in enumerate(bad):
        if lines:
            lines.append("")
        # The files of one wheel mostly share their causes: one is told in full, the others in short.
        short = number > 0 and len(bad) > _IN_FULL and not style.verbose
        lines += (_short_block if short else _block)(artifact, target, style, by_member=by_member)
    parts = [part for part in (lines, good, source_lines(sources, style)) if part]
    return [line for number, part in enumerate(parts) for line in ([""] if number else []) + part]


def _concerns_no_torch(artifact: ArtifactReport) -> bool:
    return (
        artifact.kind is ArtifactKind.SHARED_OBJECT
        and artifact.verdict is ArtifactVerdict.NOT_TORCH
        and not any(f.severity is not Severity.NOTE for f in artifact.findings)
    )


def _name(artifact: ArtifactReport, by_member: bool) -> str:
    return artifact.member if by_member and artifact.member is not None else artifact.display


def _label(artifact: ArtifactReport, style: Style, width: int = 0) -> str:
    """The word that its lines begin with, filled to `width` columns."""
    if artifact.kind is not ArtifactKind.SHARED_OBJECT:
        return style.paint("source".ljust(width), "36")
    verdict = ArtifactVerdict.FAILS if refusal_of(artifact) is not None else artifact.verdict
    return style.paint(_VERDICT_LABELS[verdict].ljust(width), _COLORS[verdict])


def _own_declaration(artifact: ArtifactReport, style: Style, by_member: bool) -> list[str]:
    """What the wheel of a single file declares wrongly; one of several files has a line of its own for that."""
    return [] if by_member else declaration_lines([artifact], style)


def _short_block(artifact: ArtifactReport, target: TorchBuild | None, style: Style, *, by_member: bool) -> list[str]:
    """The verdict, the leading cause, the loader's word and the releases: a line each."""
    lines = wrap(_headline(artifact, target, by_member=by_member), style, _label(artifact, style) + " ", "  ")
    lines += _own_declaration(artifact, style, by_member)
    for group in artifact.causes[:1]:
        more = f"; {counted(len(artifact.causes) - 1, 'further cause')}" if len(artifact.causes) > 1 else ""
        lines += wrap(f"{group.summary} [{group.cause}]{more}", style, "  " + style.strong("why: "), "    ")
    lines += _derived_lines(artifact, style)
    lines += _loader_lines(artifact, style)
    if not artifact.causes:
        lines += finding_lines(artifact, style)
    releases = _matrix_line(artifact)
    if releases:
        lines += wrap(releases, style, "  releases: ", "    ")
    return lines


def _container_line(container: Container, members: Sequence[ArtifactReport], style: Style) -> str:
    """`x-1.0-...whl: 2 of 7 shared objects fail (requires torch==2.4.0)`."""
    shared = [m for m in members if m.kind is ArtifactKind.SHARED_OBJECT]
    total = counted(len(shared), "shared object")
    verdicts = Counter(m.verdict for m in shared if m.replaced_by is None)
    fails, undecided, loads = (
        verdicts[v] for v in (ArtifactVerdict.FAILS, ArtifactVerdict.UNDECIDED, ArtifactVerdict.LOADS)
    )
    if fails:
        words = f"{fails} of {total} fail{'s' if fails == 1 else ''}"
        if undecided:
            words += f", {undecided} cannot be decided"
    elif undecided:
        words = f"{undecided} of {total} cannot be decided"
    elif loads:
        words = f"{loads} of {total} need{'s' if loads == 1 else ''} torch, and load{'s' if loads == 1 else ''}"
    else:
        words = f"none of {total} needs torch"
    barred = sum(
        m.verdict is ArtifactVerdict.LOADS and any(style.fails(f.severity) for f in m.standing) for m in shared
    )
    if barred:
        words += f"; {barred} {'has' if barred == 1 else 'have'} findings that fail the run"
    asked = f" ({requirement_words(container.applicable_torch)})" if container.applicable_torch else ""
    return f"{container.path}: {words}{asked}"


def summary_line(report: Report, style: Style | None = None) -> str:
    """One line for the end of a run: the gate's answer and the counts."""
    style = style or Style()
    counts = summary_of(report)
    verdicts = Counter(each.verdict for each in report.artifacts if each.kind is ArtifactKind.SHARED_OBJECT)
    parts = [f"{number} {verdict_words(verdict)}" for verdict, number in verdicts.items()]
    if counts.artifacts > verdicts.total():
        parts.append(counted(counts.artifacts - verdicts.total(), "source"))
    parts += count_words(counts)
    head = [] if counts.artifacts == 0 and parts else [counted(counts.artifacts, "file")]
    verdict = style.paint(verdict_words(report.verdict), _COLORS[report.verdict])
    return ": ".join([verdict, *head, *([", ".join(parts)] if parts else [])])


# --- one artifact -----------------------------------------------------------------------------------------------


def _is_accepted(artifact: ArtifactReport) -> bool:
    """Whether a baseline or ignores accept everything that is wrong with it."""
    return artifact.replaced_by is not None or errors_are_accepted(artifact)


def _is_bad(artifact: ArtifactReport, style: Style) -> bool:
    if _is_accepted(artifact):
        return False
    return artifact.verdict in (
        ArtifactVerdict.FAILS,
        ArtifactVerdict.UNDECIDED,
        ArtifactVerdict.UNREADABLE,
    ) or any(f.severity is Severity.ERROR or style.fails(f.severity) for f in artifact.standing)


def _one_line(artifact: ArtifactReport, style: Style, *, by_member: bool) -> str:
    if artifact.kind is not ArtifactKind.SHARED_OBJECT:
        return f"{_label(artifact, style, 9)} {printable(_headline(artifact, None, by_member=by_member))}"
    counts = severity_counts([f for f in artifact.standing if not of_wheel(f)])
    extra = [counted(counts[s], s.value) for s in (Severity.ERROR, Severity.WARNING) if counts[s]]
    if extra:
        extra[-1] += f": -v shows {'it' if counts[Severity.ERROR] + counts[Severity.WARNING] == 1 else 'them'}"
    if artifact.loader.outcome is LoaderOutcome.FAILS:
        extra.append(f"this machine's loader: {_shorten_error(artifact.loader.error or '')}")
    if artifact.replaced_by is not None:
        extra.append(f"{artifact.replaced_by.rpartition('!')[2]} is taken in its place")
    # Of a build that its package does not take nobody has accepted anything: it does not count.
    accepted = len(artifact.findings) - len(artifact.standing) if artifact.replaced_by is None else 0
    if accepted:
        extra.append(f"{counted(accepted, 'finding')} accepted")
    windows = printable(_matrix_line(artifact).partition(";")[0])
    if windows:
        extra.insert(0, windows)
    tail = style.dim("  (" + "; ".join(extra) + ")") if extra else ""
    return f"{_label(artifact, style, 9)} {printable(_name(artifact, by_member))}{tail}"


def _shorten_error(error: str) -> str:
    """The loader's message without the path of the file that the line names already."""
    return printable(error.split(": ", 1)[-1] if error.startswith("/") else error)


def _block(artifact: ArtifactReport, target: TorchBuild | None, style: Style, *, by_member: bool) -> list[str]:
    lines = wrap(_headline(artifact, target, by_member=by_member), style, _label(artifact, style) + " ", "  ")
    lines += _own_declaration(artifact, style, by_member)
    refusal = refusal_of(artifact)
    if refusal is not None and refusal.fix:
        lines += wrap(refusal.fix, style, "  " + style.paint("fix: ", "32;1"), "    ")
    lines += _derived_lines(artifact, style)
    lines += cause_lines(artifact, style)
    if artifact.kind is ArtifactKind.SHARED_OBJECT:
        lines += _loader_lines(artifact, style)
    lines += finding_lines(artifact, style)
    lines += _fact_lines(artifact, style)
    if style.verbose:
        lines += _needed_lines(artifact, style) + _import_lines(artifact, style) + _release_lines(artifact, style)
    return lines


def _derived_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    """Why a file fails of whose own imports none does: what it needs does not load."""
    return [line for note in _derived(artifact) for line in wrap(note, style, "  " + style.strong("why: "), "    ")]


def _derived(artifact: ArtifactReport) -> tuple[str, ...]:
    return () if artifact.causes else tuple(note for note in artifact.notes if note.startswith(BINDS_ITSELF))


def _headline(artifact: ArtifactReport, target: TorchBuild | None, *, by_member: bool) -> str:
    name = _name(artifact, by_member)
    target = artifact.checked_against(target)
    against = f" on {target_words(target)}" if target is not None else ""
    counts = status_counts(artifact.imports)
    missing = counts[Status.MISSING] + counts[Status.UNREACHABLE]
    if artifact.kind is not ArtifactKind.SHARED_OBJECT:
        return f"{name}: read, nothing found"
    refusal = refusal_of(artifact)
    if refusal is not None:
        return f"{name}: {refusal.message}"
    match artifact.verdict:
        case ArtifactVerdict.LOADS:
            return f"{name}: every torch and Python import binds{against}"
        case ArtifactVerdict.FAILS:
            if missing:
                return f"{name}: {counted(missing, 'import')} of {len(artifact.imports)} cannot be bound{against}"
            return f"{name}: does not load{against}"
        case ArtifactVerdict.UNDECIDED:
            if not counts[Status.UNDECIDED]:
                return f"{name}: cannot be decided{against}"
            return f"{name}: cannot be decided{against}: {counted(counts[Status.UNDECIDED], 'import')} undecided"
        case ArtifactVerdict.NOT_TORCH:
            return f"{name}: imports nothing of torch"
        case _:
            return f"{name}: could not be read"


def target_words(target: TorchBuild) -> str:
    """`torch 2.13.0 (cpu, installed)`."""
    return f"torch {target.version} ({target.variant}, {TARGET_KINDS[target.kind]})"


def _loader_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    loader = artifact.loader
    if loader.outcome is LoaderOutcome.FAILS and refusal_of(artifact) is None:
        # The message begins with the path that the headline has; the symbol behind it is what one searches for, whole.
        error = loader.error or ""
        own = error.partition(": ")
        if own[0].endswith(artifact.member or artifact.path):
            error = own[2]
        return wrap(error, style, "  " + style.strong("loader says: "), "    ", chop=len(error) > _LONG)
    if loader.outcome is None and loader.undecided and artifact.verdict is not ArtifactVerdict.NOT_TORCH:
        return wrap(loader.undecided, style, "  loader: ", "    ") if style.verbose else []
    return []


def _setting_words(setting: TargetEnvironment) -> str:
    """`torch 2.8.0+cu128 (Requires-Dist: torch==2.8.0), Python 3.11 (the wheel's tag cp311-cp311), ...`."""
    parts = (("torch", setting.torch), ("Python", setting.python), ("GPU", setting.gpu), ("system", setting.platform))
    return ", ".join(f"{name} {stated.value} ({stated.detected_from})" for name, stated in parts if stated is not None)


def _fact_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    lines: list[str] = []
    matrix = _matrix_line(artifact)
    if matrix:
        lines += wrap(matrix, style, "  releases: ", "    ")
    for what_if in artifact.what_if:
        calls = counted(len(what_if.symbols), "call")
        lines += wrap(
            f"with {calls} of {what_if.rule} rewritten: {ranges_words(what_if.compatible_with)} ({what_if.assumes})",
            style,
            "  what if: ",
            "    ",
        )
    if style.verbose and artifact.target is not None:
        lines += wrap(_setting_words(artifact.target), style, "  judged in: ", "    ")
    if artifact.imports and artifact.verdict is not ArtifactVerdict.NOT_TORCH:
        lines += wrap(_import_counts(artifact), style, "  imports: ", "    ")
    lines += provenance_lines(artifact, style)
    told = [note for note in artifact.notes if note not in _derived(artifact)]
    notes = told if style.verbose else told[:2]
    for note in notes:
        lines += wrap(note, style, "  note: ", "    ")
    if len(told) > len(notes):
        lines.append(style.dim(f"  {counted(len(told) - len(notes), 'more note')}: -v"))
    return lines


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


def _matrix_line(artifact: ArtifactReport) -> str:
    """The releases as ranges: where it loads, then every other run of releases with its reason."""
    if artifact.releases is None:
        return ""
    answers: dict[str, str | None] = {}
    open_: dict[str, list[str]] = {}
    for release in artifact.releases:
        if release.fits:
            answers[release.torch] = None
            if release.reason:
                open_.setdefault(release.reason, []).append(release.torch)
        else:
            answers.setdefault(release.torch, release.reason or "fails")
    runs: list[tuple[str | None, str, str]] = []
    for torch, reason in answers.items():
        if runs and runs[-1][0] == reason:
            runs[-1] = (reason, runs[-1][1], torch)
        else:
            runs.append((reason, torch, torch))
    loads = ranges_words(ReleaseRanges((first, last) for reason, first, last in runs if reason is None))
    others = [f"{ReleaseRanges([(first, last)]).text()} {reason}" for reason, first, last in runs if reason is not None]
    tail = f"; not on {', '.join(others)}" if others else ""
    for reason, unknown in open_.items():
        tail += f"; {reason} on {ranges_words(ReleaseRanges.of_known(answers, unknown.__contains__))}"
    return f"loads on {loads}{tail}"


def _needed_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    if not artifact.needed:
        return []
    lines = ["  needed libraries:"]
    for library in artifact.needed:
        found = printable(library.found) if library.found is not None else style.paint("not found", "31")
        lines.append(f"    {printable(library.soname)} -> {found}")
    return lines


def _import_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    lines: list[str] = []
    for status in Status:
        found = [b for b in artifact.imports if b.status is status]
        if not found:
            continue
        lines.append(f"  {status.value} imports ({len(found)}):")
        for bound in sorted(found, key=lambda b: (b.owner.value, b.demangled or b.name)):
            provider = f"  <- {printable(bound.provider)}" if bound.provider else ""
            exported_in = artifact.exported_in.get(bound.name)
            window = f"  [{ranges_words(exported_in)}]" if exported_in is not None else ""
            lines.append(f"    {printable(bound.demangled or bound.name)}{style.dim(provider + window)}")
            if bound.demangled is not None:
                lines.append(style.dim(f"      {printable(bound.name)} ({bound.demangled_by})"))
    return lines


def _release_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    if not artifact.releases:
        return []
    lines = ["  releases:"]
    for release in artifact.releases:
        word = style.paint("loads", "32") if release.fits else style.paint("binds" if release.loads else "fails", "31")
        tail = "" if release.loads else f"  {len(release.missing)} missing: {printable(release.reason)}"
        if release.reason and release.loads:
            tail = f"  {printable(release.reason)}"
        if release.drift:
            tail += f"  drift: {', '.join(printable(d) for d in release.drift)}"
        lines.append(f"    {word}  {printable(release.build):<28}{tail}")
    return lines


def _run_notes(report: Report, style: Style) -> list[str]:
    lines: list[str] = []
    # How the torch was chosen concerns nobody where no file was judged on it.
    used = any(
        (own.version, own.variant, own.path)
        == (report.torch_build.version, report.torch_build.variant, report.torch_build.path)
        for a in report.artifacts
        if report.torch_build is not None
        and (own := a.checked_against(report.torch_build)) is not None
        and a.kind is ArtifactKind.SHARED_OBJECT
        and a.verdict is not ArtifactVerdict.NOT_TORCH
    )
    chosen = report.torch_build.note if report.torch_build is not None and used and not style.quiet else None
    notes = [n for n in (chosen, *report.notes) if n]
    for note in notes:
        lines += wrap(note, style, "note: ", "  ")
    for entry in report.stale:
        lines += wrap(f"{entry.entry} ({entry.source})", style, style.paint("stale: ", "33;1"), "  ")
    return lines
