"""The text report: verdict and reason first, then the fix, then evidence and facts.

A file has at most 25 lines, 100 with -v and all lines with -vv. The text may change; scripts read the JSON report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from abiscan.model.finding import Severity
from abiscan.model.outcome import BAD, GateOutcome, container_outcomes, load_outcome, outcome_of
from abiscan.model.platforms import loading_words
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict, Container, Report
from abiscan.model.target import TorchBuild
from abiscan.model.words import counted, shortened
from abiscan.report.file_text import (
    COLORS,
    block,
    causes_to_print,
    checks_words,
    failed_checks,
    is_accepted,
    one_line,
    outcome_label,
    own_declaration,
    short_block,
    target_words,
    verdict_label,
)
from abiscan.report.problems_text import declaration_lines
from abiscan.report.sources_text import source_lines
from abiscan.report.style import Style, wrap
from abiscan.report.summary import count_line, is_refused_here, refusal_of
from abiscan.report.wording import machines_of, requirement_words, verdict_words

# If more files than this are bad, in one run or wheel, only the first is printed in full; else those with another fix.
_IN_FULL = 3
# With at least this many files, good files have one line and only bad ones a block.
_BRIEF_FROM = 2


def render(report: Report, style: Style | None = None) -> str:
    """The whole report as text, ending in a newline."""
    style = replace(style or Style(), fail_on=report.fail_on, accepted=report.accepted)
    lines: list[str] = []
    brief = len(report.artifacts) >= _BRIEF_FROM and not style.verbose
    place = {display: number for number, container in enumerate(report.containers) for display in container.artifacts}
    outcomes = container_outcomes(report)
    loose: list[ArtifactReport] = []
    members: list[list[ArtifactReport]] = [[] for _ in report.containers]
    for artifact in report.artifacts:
        number = place.get(artifact.display)
        (loose if number is None else members[number]).append(artifact)
    lines += _artifact_lines(loose, report.torch_build, style, brief=brief)
    for container, inside in zip(report.containers, members, strict=True):
        # The line of the wheel names it for all members.
        headed = len(inside) > 1
        outcome = outcomes[container.path]
        if brief and len(inside) == 1 and outcome is GateOutcome.NOT_TORCH and _concerns_no_torch(inside[0]):
            # Otherwise its file is only counted and the wheel is not named.
            words = "" if style.quiet else _container_line(container, inside, style)
            lines += (
                [*([""] if lines else []), *wrap(words, style, f"{outcome_label(outcome, inside, style)} ", "  ")]
                if words
                else []
            )
            continue
        shown = _artifact_lines(inside, report.torch_build, style, brief=brief, by_member=headed)
        if shown and lines:
            lines.append("")
        if shown and headed:
            has_binaries = any(m.kind is ArtifactKind.SHARED_OBJECT for m in inside)
            label = outcome_label(outcome, inside, style) if has_binaries else verdict_label(inside[0], style)
            unread = sum(error.path.startswith(f"{container.path}!") for error in report.errors)
            words = _container_line(container, inside, style) + (f"; {unread} could not be read" if unread else "")
            lines += wrap(words, style, f"{label} ", "  ")
            lines += declaration_lines(inside, style)
        lines += shown
    for error in report.errors:
        lines += wrap(f"{error.path}: {error.message}", style, style.paint("unreadable ", "red bold"), "  ")
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
    """Bad files first, then a line for each good one; files without torch are only counted."""
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
        elif style.quiet:
            continue
        elif brief or (is_accepted(artifact, style) and not style.verbose):
            if _concerns_no_torch(artifact):
                apart += 1
            else:
                good += [one_line(artifact, style, by_member=by_member), *own_declaration(artifact, style, by_member)]
        else:
            good += block(artifact, target, style, by_member=by_member)
    if apart:
        good.append(f"{style.paint('not torch', COLORS[GateOutcome.NOT_TORCH])} {counted(apart, 'file')}")
    # A file that fails because of another one comes after it.
    bad.sort(key=lambda artifact: not artifact.causes and refusal_of(artifact) is None)
    printed: set[tuple[str, str]] = set()
    reasons: set[str] = set()
    for number, each in enumerate(bad):
        artifact = each
        # The files of a wheel are mostly undecided for one reason.
        if each.verdict is ArtifactVerdict.UNDECIDED and by_member and not style.verbose:
            artifact = replace(each, notes=tuple(note for note in each.notes if note not in reasons))
            reasons.update(each.notes)
        if lines:
            lines.append("")
        # The files of a wheel mostly share their causes.
        causes = {(group.cause, group.fix) for group in causes_to_print(artifact, style)}
        again = bool(causes) and causes <= printed
        short = number > 0 and (len(bad) > _IN_FULL or again) and not style.verbose
        printed |= set() if short else causes
        lines += (short_block if short else block)(artifact, target, style, by_member=by_member)
    parts = [part for part in (lines, good, source_lines(sources, style)) if part]
    return [line for number, part in enumerate(parts) for line in ([""] if number else []) + part]


def _concerns_no_torch(artifact: ArtifactReport) -> bool:
    return (
        artifact.kind is ArtifactKind.SHARED_OBJECT
        and artifact.verdict is ArtifactVerdict.NOT_TORCH
        and not any(f.severity is not Severity.NOTE for f in artifact.findings)
    )


def _container_line(container: Container, members: Sequence[ArtifactReport], style: Style) -> str:
    """`x-1.0-...whl: 2 of 7 files do not load on torch 2.13.0 (cpu, installed) [cxx11-abi-mismatch]; declared: ...`."""
    every = [m for m in members if m.kind is ArtifactKind.SHARED_OBJECT]
    shared = [m for m in every if m.replaced_by is None]
    total = counted(len(shared), "file")
    found = Counter((outcome_of(m, style.fail_on, style.accepted), m.verdict) for m in shared)
    taken = [m for m in shared if load_outcome(m) and failed_checks(m, style)]
    fails = found[GateOutcome.FAILS, ArtifactVerdict.FAILS] - len(taken)
    undecided = found[GateOutcome.UNDECIDED, ArtifactVerdict.UNDECIDED]
    settled = Counter(filter(None, map(load_outcome, taken)))
    settled.update(outcome for outcome, _ in found.elements() if outcome in (GateOutcome.ACCEPTED, GateOutcome.IGNORED))
    accepted = [f"{counted(number, 'failure')} {outcome.value}" for outcome, number in sorted(settled.items())]
    loads = sum(number for (_, verdict), number in found.items() if verdict is ArtifactVerdict.LOADS)
    barred = [m for m in shared if m.verdict is not ArtifactVerdict.FAILS and not is_refused_here(m)]
    barred = [m for m in barred if failed_checks(m, style)] + taken
    if not every and members:
        words = f"{counted(len(members), 'source')} checked; no shared object"
    elif fails:
        words = f"{fails} of {total} {'does' if fails == 1 else 'do'} not load{_against(shared)}"
        barring = {m.display for m in taken}
        failing = [m for m in shared if m.verdict is ArtifactVerdict.FAILS and m.display not in barring]
        leading = {m.causes[0].cause for m in failing if m.causes}
        words += f" [{leading.pop()}]" if len(leading) == 1 else ""
        words += f", {undecided} undecided" if undecided else ""
    elif undecided:
        words = f"{undecided} of {total} undecided{_against(shared)}"
    elif barred:
        rules = dict.fromkeys(rule for member in barred for rule in failed_checks(member, style))
        verb = loading_words(machines_of(shared))
        words = f"{loads} of {total} {verb.one if loads == 1 else verb.many}{_against(shared)}; " if loads else ""
        words += f"{len(barred)} {'fails' if len(barred) == 1 else 'fail'} {checks_words(rules)}"
    elif loads:
        refused = sum(is_refused_here(m) for m in shared)
        of_all = total if loads == len(shared) == 1 else f"{loads} of {total}"
        words = f"{of_all} {'uses' if loads == 1 else 'use'} torch"
        if refused:
            words += f"; the loader of this machine refuses {refused}"
        else:
            verb = loading_words(machines_of(shared))
            words += f" and {verb.one if loads == 1 else verb.many}{_against(shared)}{_unchecked_libraries(shared)}"
    elif accepted:
        words = total
    else:
        words = f"none of {total} uses torch" if len(shared) > 1 else "does not use torch"
    if accepted:
        words += f"; {', '.join(accepted)}"
    if barred and (fails or undecided):
        words += f", {len(barred)} {'fails' if len(barred) == 1 else 'fail'} checks"
    if len(every) > len(shared):
        words += f"; {len(every) - len(shared)} replaced by another build"
    declared = f"; declared: {requirement_words(container.applicable_torch)}" if container.applicable_torch else ""
    return f"{container.path}: {words}{declared}"


def _unchecked_libraries(members: Sequence[ArtifactReport]) -> str:
    """`; 2 need libraries that were not checked: libsox.so`: files of which the other symbols resolve; empty if there
    are none."""
    absent = [names for m in members if (names := [needed.soname for needed in m.needed if needed.found is None])]
    names = list(dict.fromkeys(name for each in absent for name in each))
    verb = "needs" if len(absent) == 1 else "need"
    return f"; {len(absent)} {verb} libraries that were not checked: {shortened(names)}" if absent else ""


def _against(members: Sequence[ArtifactReport]) -> str:
    """` on torch 2.13.0 (cpu, installed)`; empty if the members were checked against several torch builds."""
    targets = {target_words(t) for m in members if m.verdict is not ArtifactVerdict.NOT_TORCH and (t := m.torch_build)}
    return f" on {targets.pop()}" if len(targets) == 1 else ""


def summary_line(report: Report, style: Style | None = None) -> str:
    """The last line of a run: verdict and counts."""
    verdict = (style or Style()).paint(verdict_words(report.verdict), COLORS[report.verdict])
    return f"{verdict}: {count_line(report)}"


def _is_bad(artifact: ArtifactReport, style: Style) -> bool:
    if is_accepted(artifact, style):
        return False
    bad = outcome_of(artifact, style.fail_on, style.accepted) in BAD
    return bad or any(f.severity is Severity.ERROR for f in artifact.standing)


def _run_notes(report: Report, style: Style) -> list[str]:
    lines: list[str] = []
    chosen = report.torch_build.note if report.torch_build is not None and not style.quiet else None
    notes = [n for n in (chosen, *report.notes) if n]
    for note in notes:
        lines += wrap(note, style, "note: ", "  ")
    for entry in report.stale:
        lines += wrap(f"{entry.entry} ({entry.source})", style, style.paint("stale: ", "amber bold"), "  ")
    if any(entry.fails for entry in report.stale):
        lines += wrap(
            "Write the baseline again with --write-baseline FILE, or pass --allow-stale", style, "  fix: ", "    "
        )
    return lines
