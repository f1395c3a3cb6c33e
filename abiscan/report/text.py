"""The text report: verdict and reason first, then the fix, then evidence and facts.

A file has at most 25 lines, 100 with -v and all lines with -vv. The text may change; scripts read the JSON report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from abiscan.model.finding import Severity
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import LoaderOutcome, StopKind
from abiscan.model.outcome import BAD, GateOutcome, container_outcomes, outcome_of
from abiscan.model.platforms import loading_words, platform_of
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict, Container, Report, Verdict
from abiscan.model.target import TorchBuild
from abiscan.report.escape import printable
from abiscan.report.facts_text import detail_sections, fact_sections, matrix_line, part_words
from abiscan.report.problems_text import (
    cause_sections,
    declaration_lines,
    finding_lines,
    finding_sections,
    is_about_wheel,
)
from abiscan.report.sources_text import source_lines
from abiscan.report.style import LineGroup, Style, fit_sections, wrap
from abiscan.report.summary import (
    count_words,
    is_refused_here,
    refusal_of,
    severity_counts,
    status_counts,
    summary_of,
)
from abiscan.report.wording import TARGET_KINDS, counted, machines_of, requirement_words, verdict_words

# If more files than this are bad, in one run or wheel, only the first is printed in full.
_IN_FULL = 3
# Number of failed checks in a headline.
_CHECKS = 3
# Characters of a loader message that are not cut without -v.
_LONG = 400
# With at least this many files, good files have one line and only bad ones a block.
_BRIEF_FROM = 2

# SGR parameters (ECMA-48) of each verdict.
_COLORS: dict[GateOutcome | Verdict, str] = {
    GateOutcome.LOADS: "green bold",
    GateOutcome.FAILS: "red bold",
    GateOutcome.UNDECIDED: "amber bold",
    GateOutcome.UNREADABLE: "red bold",
    GateOutcome.NOT_TORCH: "cyan",
    GateOutcome.ACCEPTED: "cyan",
    GateOutcome.REPLACED: "cyan",
    Verdict.PASS: "green bold",
    Verdict.FAIL: "red bold",
    Verdict.INCOMPLETE: "amber bold",
}


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
                [*([""] if lines else []), *wrap(words, style, f"{_outcome_label(outcome, inside, style)} ", "  ")]
                if words
                else []
            )
            continue
        shown = _artifact_lines(inside, report.torch_build, style, brief=brief, by_member=headed)
        if shown and lines:
            lines.append("")
        if shown and headed:
            has_binaries = any(m.kind is ArtifactKind.SHARED_OBJECT for m in inside)
            label = _outcome_label(outcome, inside, style) if has_binaries else _label(inside[0], style)
            lines += wrap(_container_line(container, inside, style), style, f"{label} ", "  ")
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
        elif brief or (_is_accepted(artifact, style) and not style.verbose):
            if _concerns_no_torch(artifact):
                apart += 1
            else:
                good += [_one_line(artifact, style, by_member=by_member), *_own_declaration(artifact, style, by_member)]
        else:
            good += _block(artifact, target, style, by_member=by_member)
    if apart:
        good.append(f"{style.paint('not torch', _COLORS[GateOutcome.NOT_TORCH])} {counted(apart, 'file')}")
    # A file that fails because of another one comes after it.
    bad.sort(key=lambda artifact: not artifact.causes and refusal_of(artifact) is None)
    for number, artifact in enumerate(bad):
        if lines:
            lines.append("")
        # The files of a wheel mostly share their causes: only the first is printed in full.
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
    """The first word of its lines, padded to `width` columns."""
    if artifact.kind is not ArtifactKind.SHARED_OBJECT:
        return style.paint("source".ljust(width), "cyan")
    return _outcome_label(outcome_of(artifact, style.fail_on, style.accepted), [artifact], style, width)


def _outcome_label(outcome: GateOutcome, files: Sequence[ArtifactReport], style: Style, width: int = 0) -> str:
    # Failures stand out without colours too.
    word = "FAILS" if outcome is GateOutcome.FAILS else verdict_words(outcome, machines_of(files))
    return style.paint(word.ljust(width), _COLORS[outcome])


def _own_declaration(artifact: ArtifactReport, style: Style, by_member: bool) -> list[str]:
    """Findings about the metadata of a wheel with one file; a wheel with several files has its own line for them."""
    return [] if by_member else declaration_lines([artifact], style)


def _short_block(artifact: ArtifactReport, target: TorchBuild | None, style: Style, *, by_member: bool) -> list[str]:
    """Verdict, main cause, loader error and releases, one line each."""
    lines = wrap(_headline(artifact, target, style, by_member=by_member), style, _label(artifact, style) + " ", "  ")
    lines += _own_declaration(artifact, style, by_member)
    for group in artifact.causes[:1]:
        more = f" ({counted(len(artifact.causes) - 1, 'more cause')}: -v)" if len(artifact.causes) > 1 else ""
        lines += wrap(f"{group.summary} [{group.cause}]{more}", style, "  " + style.strong("cause: "), "    ")
    lines += _derived_lines(artifact, style)
    lines += _loader_lines(artifact, style)
    if not artifact.causes:
        lines += finding_lines(artifact, style)
    releases = matrix_line(artifact)
    if releases:
        lines += wrap(releases, style, "  releases: ", "    ")
    return lines


def _container_line(container: Container, members: Sequence[ArtifactReport], style: Style) -> str:
    """`x-1.0-...whl: 2 of 7 files do not load on torch 2.13.0 (cpu, installed) [cxx11-abi-mismatch]; declared: ...`."""
    every = [m for m in members if m.kind is ArtifactKind.SHARED_OBJECT]
    shared = [m for m in every if m.replaced_by is None]
    total = counted(len(shared), "file")
    found = Counter((outcome_of(m, style.fail_on, style.accepted), m.verdict) for m in shared)
    fails = found[GateOutcome.FAILS, ArtifactVerdict.FAILS]
    undecided = found[GateOutcome.UNDECIDED, ArtifactVerdict.UNDECIDED]
    accepted = sum(number for (outcome, _), number in found.items() if outcome is GateOutcome.ACCEPTED)
    loads = sum(number for (_, verdict), number in found.items() if verdict is ArtifactVerdict.LOADS)
    barred = [m for m in shared if m.verdict is not ArtifactVerdict.FAILS and not is_refused_here(m)]
    barred = [m for m in barred if _failed_checks(m, style)]
    if not every and members:
        words = f"{counted(len(members), 'source')} checked; no shared object"
    elif fails:
        words = f"{fails} of {total} {'does' if fails == 1 else 'do'} not load{_against(shared)}"
        leading = {m.causes[0].cause for m in shared if m.verdict is ArtifactVerdict.FAILS and m.causes}
        words += f" [{leading.pop()}]" if len(leading) == 1 else ""
        words += f", {undecided} undecided" if undecided else ""
    elif undecided:
        words = f"{undecided} of {total} undecided{_against(shared)}"
    elif barred:
        rules = dict.fromkeys(rule for member in barred for rule in _failed_checks(member, style))
        verb = loading_words(machines_of(shared))
        words = f"{loads} of {total} {verb.one if loads == 1 else verb.many}{_against(shared)}; " if loads else ""
        words += f"{len(barred)} {'fails' if len(barred) == 1 else 'fail'} {_checks(rules)}"
    elif loads:
        refused = sum(is_refused_here(m) for m in shared)
        of_all = total if loads == len(shared) == 1 else f"{loads} of {total}"
        words = f"{of_all} {'uses' if loads == 1 else 'use'} torch"
        if refused:
            words += f"; the loader of this machine refuses {refused}"
        else:
            verb = loading_words(machines_of(shared))
            words += f" and {verb.one if loads == 1 else verb.many}{_against(shared)}"
    elif accepted:
        words = total
    else:
        words = f"none of {total} uses torch" if len(shared) > 1 else "does not use torch"
    if accepted:
        words += f"; {counted(accepted, 'failure')} accepted"
    if barred and (fails or undecided):
        words += f", {len(barred)} {'fails' if len(barred) == 1 else 'fail'} checks"
    if len(every) > len(shared):
        words += f"; {len(every) - len(shared)} replaced by another build"
    declared = f"; declared: {requirement_words(container.applicable_torch)}" if container.applicable_torch else ""
    return f"{container.path}: {words}{declared}"


def _against(members: Sequence[ArtifactReport]) -> str:
    """` on torch 2.13.0 (cpu, installed)`; empty if the members were checked against several torch builds."""
    targets = {target_words(t) for m in members if m.verdict is not ArtifactVerdict.NOT_TORCH and (t := m.torch_build)}
    return f" on {targets.pop()}" if len(targets) == 1 else ""


def summary_line(report: Report, style: Style | None = None) -> str:
    """The last line of a run: verdict and counts."""
    verdict = (style or Style()).paint(verdict_words(report.verdict), _COLORS[report.verdict])
    return f"{verdict}: {count_line(report)}"


def count_line(report: Report) -> str:
    """`2 files checked: 1 loads, 1 fails to load (4 errors)`."""
    counts = summary_of(report)
    found = Counter(
        _file_words(each, outcome_of(each, report.fail_on, report.accepted))
        for each in report.artifacts
        if each.kind is ArtifactKind.SHARED_OBJECT
    )
    parts = [f"{number} {one if number == 1 else many}" for (one, many), number in found.items()]
    checked = counts.artifacts + report.silent_sources
    if checked > found.total():
        parts.append(counted(checked - found.total(), "source"))
    more = count_words(counts)
    if parts and more:
        parts[-1] += f" ({', '.join(more)})"
    parts = parts or more
    head = [] if checked == 0 and parts else [f"{counted(checked, 'file')} checked"]
    return ": ".join([*head, *([", ".join(parts)] if parts else [])])


def _file_words(artifact: ArtifactReport, outcome: GateOutcome) -> tuple[str, str]:
    """The outcome of one file and of several, in words."""
    loads = loading_words([artifact.machine])
    if outcome is GateOutcome.FAILS and artifact.verdict is not ArtifactVerdict.FAILS:
        if artifact.verdict is ArtifactVerdict.LOADS:
            return f"{loads.one} but fails the checks", f"{loads.many} but fail the checks"
        return "fails the checks", "fail the checks"
    words = {GateOutcome.FAILS: ("fails to load", "fail to load"), GateOutcome.LOADS: (loads.one, loads.many)}
    return words.get(outcome, (verdict_words(outcome),) * 2)


# --- one artifact -----------------------------------------------------------------------------------------------


def _is_accepted(artifact: ArtifactReport, style: Style) -> bool:
    """Whether a baseline or ignores accept all of its failures."""
    outcome = outcome_of(artifact, style.fail_on, style.accepted)
    return outcome in (GateOutcome.ACCEPTED, GateOutcome.REPLACED)


def _is_bad(artifact: ArtifactReport, style: Style) -> bool:
    if _is_accepted(artifact, style):
        return False
    bad = outcome_of(artifact, style.fail_on, style.accepted) in BAD
    return bad or any(f.severity is Severity.ERROR for f in artifact.standing)


def _one_line(artifact: ArtifactReport, style: Style, *, by_member: bool) -> str:
    if artifact.kind is not ArtifactKind.SHARED_OBJECT:
        return f"{_label(artifact, style, 9)} {printable(_headline(artifact, None, style, by_member=by_member))}"
    counts = severity_counts([f for f in artifact.standing if not is_about_wheel(f)])
    extra = [counted(counts[s], s.value) for s in (Severity.ERROR, Severity.WARNING) if counts[s]]
    if extra:
        extra[-1] += f": {_rules_of_worse(artifact)}"
    stop = artifact.loader.stop
    # A library of its package, which the package opens itself.
    in_package = stop is not None and stop.kind is StopKind.LIBRARY_NOT_FOUND and not is_refused_here(artifact)
    if artifact.loader.outcome is LoaderOutcome.FAILS and not in_package:
        extra.append(f"this machine's loader: {_shorten_error(artifact.loader.error or '')}")
    if artifact.replaced_by is not None:
        extra.append(f"replaced by {artifact.replaced_by.rpartition('!')[2]}")
    # A build that its package does not load has no accepted findings: it does not count.
    accepted = len(artifact.findings) - len(artifact.standing) if artifact.replaced_by is None else 0
    if accepted:
        extra.append(f"{counted(accepted, 'finding')} accepted")
    if len({part.verdict for part in artifact.parts}) > 1:
        extra.append("; ".join(map(part_words, artifact.parts)))
    compatible_with = printable(matrix_line(artifact).partition(";")[0])
    if compatible_with:
        extra.insert(0, compatible_with)
    tail = style.dim("  (" + "; ".join(extra) + ")") if extra else ""
    return f"{_label(artifact, style, 9)} {printable(_name(artifact, by_member))}{tail}"


def _rules_of_worse(artifact: ArtifactReport) -> str:
    """The rules of its warnings and errors: `layout-drift`, `const-data-ptr and 2 more rules`."""
    rules = dict.fromkeys(
        f.rule for f in artifact.standing if f.severity is not Severity.NOTE and not is_about_wheel(f)
    )
    first, *rest = rules
    return f"{first} and {counted(len(rest), 'more rule')}" if rest else first


def _shorten_error(error: str) -> str:
    """The loader error without the path of the file, which the line contains already."""
    return printable(error.split(": ", 1)[-1] if error.startswith("/") else error)


def _block(artifact: ArtifactReport, target: TorchBuild | None, style: Style, *, by_member: bool) -> list[str]:
    lines = wrap(_headline(artifact, target, style, by_member=by_member), style, _label(artifact, style) + " ", "  ")
    lines += _own_declaration(artifact, style, by_member)
    refusal = refusal_of(artifact)
    if refusal is not None and refusal.fix:
        lines += wrap(refusal.fix, style, "  " + style.paint("fix: ", "green bold"), "    ")
    lines += _derived_lines(artifact, style)
    sections = [LineGroup(0, lines), *cause_sections(artifact, style)]
    if artifact.kind is ArtifactKind.SHARED_OBJECT:
        sections.append(LineGroup(1, _loader_lines(artifact, style)))
    sections += finding_sections(artifact, style)
    sections += fact_sections(artifact, style)
    if style.verbose:
        sections += detail_sections(artifact, style)
    return fit_sections(sections, style)


def _derived_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    """Reasons of a failure although all imports of the file resolve (a needed library does not load), or of doubt."""
    if artifact.verdict is ArtifactVerdict.UNDECIDED:
        label = "  " + style.strong("because: ")
        return [line for note in artifact.notes for line in wrap(note, style, label, "    ")]
    reasons = () if artifact.causes else artifact.failure_reasons
    return [line for reason in reasons for line in wrap(reason, style, "  " + style.strong("cause: "), "    ")]


def _headline(artifact: ArtifactReport, target: TorchBuild | None, style: Style, *, by_member: bool) -> str:
    name = _name(artifact, by_member)
    if artifact.parts and artifact.verdict is ArtifactVerdict.FAILS:
        name += f" ({platform_of(artifact.machine or '').architecture})"
    target = artifact.checked_against(target)
    against = f" on {target_words(target)}" if target is not None else ""
    counts = status_counts(artifact.imports)
    missing = counts[Status.MISSING] + counts[Status.UNREACHABLE]
    if artifact.kind is not ArtifactKind.SHARED_OBJECT:
        return f"{name}: read, nothing found"
    refusal = refusal_of(artifact)
    if refusal is not None:
        return f"{name}: {refusal.message}"
    failing = _failed_checks(artifact, style)
    match artifact.verdict:
        case ArtifactVerdict.LOADS if failing:
            return f"{name}: fails {_checks(failing)}; the file {loading_words([artifact.machine]).one}{against}"
        case ArtifactVerdict.LOADS:
            resolved = sum(each.owner in (Owner.TORCH, Owner.PYTHON) for each in artifact.imports)
            if not resolved:
                return f"{name}: {loading_words([artifact.machine]).clause}{against}"
            return f"{name}: {counted(resolved, 'torch or Python symbol')} resolve{'s' * (resolved == 1)}{against}"
        case ArtifactVerdict.FAILS:
            unresolved = [each for each in artifact.imports if each.status.is_unresolved]
            if missing and all(each.owner is Owner.PYTHON for each in unresolved):
                against = f" on {_python_words(artifact)}"
            if missing:
                be = "is" if missing == 1 else "are"
                return f"{name}: {missing} of {counted(len(artifact.imports), 'symbol')} {be} undefined{against}"
            return f"{name}: does not load{against}"
        case ArtifactVerdict.UNDECIDED:
            if not counts[Status.UNDECIDED]:
                return f"{name}: cannot be decided{against}"
            return f"{name}: cannot be decided{against}: {counted(counts[Status.UNDECIDED], 'import')} undecided"
        case ArtifactVerdict.NOT_TORCH:
            return f"{name}: does not use torch"
        case _:
            return f"{name}: could not be read"


def _failed_checks(artifact: ArtifactReport, style: Style) -> list[str]:
    """The rules whose findings fail the run."""
    return list(dict.fromkeys(f.rule for f in artifact.standing if style.fails(f.severity)))


def _checks(rules: Collection[str]) -> str:
    """`the check layout-drift`, `2 checks (const-data-ptr, layout-drift)`."""
    if len(rules) == 1:
        return f"the check {', '.join(rules)}"
    more = f" and {len(rules) - _CHECKS} more" if len(rules) > _CHECKS else ""
    return f"{len(rules)} checks ({', '.join(list(rules)[:_CHECKS])}{more})"


def _python_words(artifact: ArtifactReport) -> str:
    """`Python 3.13 (...)`, `some Python of >=3.8 (wheel tag cp38-abi3)`: the cause says which."""
    python = None if artifact.target is None else artifact.target.python
    if python is None:
        return "its Python"
    some = "some Python of" if python.value.startswith(">=") else "Python"
    return f"{some} {python.value} ({python.detected_from})"


def target_words(target: TorchBuild) -> str:
    """`torch 2.13.0 (cpu, installed)`."""
    return f"torch {target.version} ({target.variant}, {TARGET_KINDS[target.kind]})"


def _loader_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    loader = artifact.loader
    if loader.outcome is LoaderOutcome.FAILS and refusal_of(artifact) is None:
        # Drop the path, which is in the headline; keep the symbol whole, for searching.
        error = loader.error or ""
        own = error.partition(": ")
        if own[0].endswith(artifact.member or artifact.path):
            error = own[2]
        return wrap(
            error, style, "  " + style.strong("loader error: "), "    ", chop=len(error) > _LONG and not style.verbose
        )
    if loader.outcome is None and loader.undecided and artifact.verdict is not ArtifactVerdict.NOT_TORCH:
        return wrap(loader.undecided, style, "  loader: ", "    ") if style.verbose else []
    return []


def _run_notes(report: Report, style: Style) -> list[str]:
    lines: list[str] = []
    # The note on the choice of the torch is useful only if a file was checked against it.
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
        lines += wrap(f"{entry.entry} ({entry.source})", style, style.paint("stale: ", "amber bold"), "  ")
    return lines
