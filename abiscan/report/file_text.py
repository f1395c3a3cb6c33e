"""One file in the text report: a block, a short block, or a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from abiscan.model.cause import CauseGroup
from abiscan.model.finding import Severity
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import LoaderOutcome, StopKind
from abiscan.model.outcome import GateOutcome, load_outcome, outcome_of
from abiscan.model.platforms import loading_words, platform_of
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict, Verdict
from abiscan.model.target import TorchBuild
from abiscan.model.words import counted, shortened
from abiscan.report.escape import printable
from abiscan.report.facts_text import detail_sections, fact_sections, matrix_line, part_words
from abiscan.report.problems_text import (
    cause_sections,
    declaration_lines,
    finding_lines,
    finding_sections,
    is_about_wheel,
)
from abiscan.report.style import LineGroup, Style, fit_sections, wrap
from abiscan.report.summary import is_refused_here, refusal_of, severity_counts, status_counts
from abiscan.report.wording import TARGET_KINDS, machines_of, verdict_words

# Number of failed checks in a headline.
_CHECKS = 3
# Characters of a loader message that are not cut without -v.
_LONG = 400

# SGR parameters (ECMA-48) of each verdict.
COLORS: dict[GateOutcome | Verdict, str] = {
    GateOutcome.LOADS: "green bold",
    GateOutcome.FAILS: "red bold",
    GateOutcome.UNDECIDED: "amber bold",
    GateOutcome.UNREADABLE: "red bold",
    GateOutcome.NOT_TORCH: "cyan",
    GateOutcome.ACCEPTED: "cyan",
    GateOutcome.IGNORED: "cyan",
    GateOutcome.REPLACED: "cyan",
    Verdict.PASS: "green bold",
    Verdict.FAIL: "red bold",
    Verdict.INCOMPLETE: "amber bold",
}


def verdict_label(artifact: ArtifactReport, style: Style, width: int = 0) -> str:
    """The first word of its lines, padded to `width` columns."""
    if artifact.kind is not ArtifactKind.SHARED_OBJECT:
        return style.paint("source".ljust(width), "cyan")
    return outcome_label(outcome_of(artifact, style.fail_on, style.accepted), [artifact], style, width)


def outcome_label(outcome: GateOutcome, files: Sequence[ArtifactReport], style: Style, width: int = 0) -> str:
    # Failures stand out without colours too.
    word = "FAILS" if outcome is GateOutcome.FAILS else verdict_words(outcome, machines_of(files))
    return style.paint(word.ljust(width), COLORS[outcome])


def is_accepted(artifact: ArtifactReport, style: Style) -> bool:
    """Whether a baseline, ignores or the selection of rules accept all of its failures."""
    outcome = outcome_of(artifact, style.fail_on, style.accepted)
    return outcome in (GateOutcome.ACCEPTED, GateOutcome.IGNORED, GateOutcome.REPLACED)


def failed_checks(artifact: ArtifactReport, style: Style) -> list[str]:
    """The rules whose findings fail the run."""
    return list(dict.fromkeys(f.rule for f in artifact.standing if style.fails(f.severity)))


def causes_to_print(artifact: ArtifactReport, style: Style) -> Sequence[CauseGroup]:
    """Its causes; without -v none that are accepted, if another check fails."""
    return () if load_outcome(artifact) and not style.verbose else artifact.causes


def checks_words(rules: Collection[str]) -> str:
    """`the check layout-drift`, `2 checks (const-data-ptr, layout-drift)`."""
    if len(rules) == 1:
        return f"the check {', '.join(rules)}"
    return f"{len(rules)} checks ({shortened(list(rules), _CHECKS)})"


def target_words(target: TorchBuild) -> str:
    """`torch 2.13.0 (cpu, installed)`."""
    return f"torch {target.version} ({target.variant}, {TARGET_KINDS[target.kind]})"


def own_declaration(artifact: ArtifactReport, style: Style, by_member: bool) -> list[str]:
    """Findings about the metadata of a wheel with one file; a wheel with several files has its own line for them."""
    return [] if by_member else declaration_lines([artifact], style)


def one_line(artifact: ArtifactReport, style: Style, *, by_member: bool) -> str:
    if artifact.kind is not ArtifactKind.SHARED_OBJECT:
        return f"{verdict_label(artifact, style, 9)} {printable(_headline(artifact, None, style, by_member=by_member))}"
    counts = severity_counts([f for f in artifact.standing if not is_about_wheel(f)])
    extra = [counted(counts[s], s.value) for s in (Severity.ERROR, Severity.WARNING) if counts[s]]
    if extra:
        extra[-1] += f": {_rules_of_worse(artifact)}"
    stop = artifact.loader.stop
    # A library of its package, which the package opens itself.
    in_package = stop is not None and stop.kind is StopKind.LIBRARY_NOT_FOUND and not is_refused_here(artifact)
    if _fails_here(artifact) and not in_package:
        error = artifact.loader.error or ""
        # The line has the path already.
        error = error.split(": ", 1)[-1] if error.startswith("/") else error
        extra.append(f"this machine's loader: {printable(error)}")
    if artifact.replaced_by is not None:
        extra.append(f"replaced by {artifact.replaced_by.rpartition('!')[2]}")
    # A build that its package does not load has no accepted findings: it does not count.
    others = [f for f in artifact.findings if f.suppressed and artifact.replaced_by is None]
    reasons = Counter(f.suppression if f.is_left_out else "accepted" for f in others)
    extra += [f"{counted(number, 'finding')} {reason}" for reason, number in reasons.items()]
    if len({part.verdict for part in artifact.parts}) > 1:
        extra.append("; ".join(map(part_words, artifact.parts)))
    compatible_with = printable(matrix_line(artifact).partition(";")[0])
    if compatible_with:
        extra.insert(0, compatible_with)
    tail = style.dim("  (" + "; ".join(extra) + ")") if extra else ""
    return f"{verdict_label(artifact, style, 9)} {printable(_name(artifact, by_member))}{tail}"


def _first_lines(artifact: ArtifactReport, target: TorchBuild | None, style: Style, *, by_member: bool) -> list[str]:
    words = _headline(artifact, target, style, by_member=by_member)
    return [
        *wrap(words, style, verdict_label(artifact, style) + " ", "  "),
        *own_declaration(artifact, style, by_member),
    ]


def block(artifact: ArtifactReport, target: TorchBuild | None, style: Style, *, by_member: bool) -> list[str]:
    """Verdict, fix, causes, loader error, findings and facts."""
    lines = _first_lines(artifact, target, style, by_member=by_member)
    refusal = refusal_of(artifact)
    if refusal is not None and refusal.fix:
        lines += wrap(refusal.fix, style, "  " + style.paint("fix: ", "green bold"), "    ")
    lines += _derived_lines(artifact, style)
    sections = [LineGroup(0, lines)]
    if causes_to_print(artifact, style):
        sections += cause_sections(artifact, style)
    if artifact.kind is ArtifactKind.SHARED_OBJECT:
        sections.append(LineGroup(1, _loader_lines(artifact, style)))
    sections += finding_sections(artifact, style)
    sections += fact_sections(artifact, style)
    if style.verbose:
        sections += detail_sections(artifact, style)
    return fit_sections(sections, style)


def short_block(artifact: ArtifactReport, target: TorchBuild | None, style: Style, *, by_member: bool) -> list[str]:
    """Verdict, main cause, loader error and releases, one line each."""
    lines = _first_lines(artifact, target, style, by_member=by_member)
    causes = causes_to_print(artifact, style)
    for group in causes[:1]:
        more = f" ({counted(len(causes) - 1, 'more cause')}: -v)" if len(causes) > 1 else ""
        lines += wrap(f"{group.summary} [{group.cause}]{more}", style, "  " + style.strong("cause: "), "    ")
    lines += _derived_lines(artifact, style)
    lines += _loader_lines(artifact, style)
    if not causes:
        lines += finding_lines(artifact, style)
    releases = matrix_line(artifact)
    if releases:
        lines += wrap(releases, style, "  releases: ", "    ")
    return lines


def _name(artifact: ArtifactReport, by_member: bool) -> str:
    return artifact.member if by_member and artifact.member is not None else artifact.display


def _rules_of_worse(artifact: ArtifactReport) -> str:
    """The rules of its warnings and errors: `layout-drift`, `const-data-ptr and 2 more rules`."""
    rules = dict.fromkeys(
        f.rule for f in artifact.standing if f.severity is not Severity.NOTE and not is_about_wheel(f)
    )
    first, *rest = rules
    return f"{first} and {counted(len(rest), 'more rule')}" if rest else first


def _derived_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    """Reasons of a failure although all imports of the file resolve (a needed library does not load), or of doubt."""
    if artifact.verdict is ArtifactVerdict.UNDECIDED:
        label = "  " + style.strong("because: ")
        return [line for note in artifact.notes for line in wrap(note, style, label, "    ")]
    reasons = () if artifact.causes or load_outcome(artifact) else artifact.failure_reasons
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
    failing = failed_checks(artifact, style)
    match artifact.verdict:
        case ArtifactVerdict.LOADS if failing:
            return f"{name}: fails {checks_words(failing)}; the file {loading_words([artifact.machine]).one}{against}"
        case ArtifactVerdict.LOADS:
            owners = Counter(each.owner for each in artifact.imports)
            named = {"torch": owners[Owner.TORCH], "Python": owners[Owner.PYTHON]}
            resolved, words = sum(named.values()), " or ".join(word for word, number in named.items() if number)
            if not resolved:
                return f"{name}: {loading_words([artifact.machine]).clause}{against}"
            return f"{name}: {counted(resolved, f'{words} symbol')} resolve{'s' * (resolved == 1)}{against}"
        case ArtifactVerdict.FAILS if failing and (accepted := load_outcome(artifact)):
            return f"{name}: fails {checks_words(failing)}; {accepted.value}: the file does not load{against}"
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


def _python_words(artifact: ArtifactReport) -> str:
    """`Python 3.13 (...)`, `some Python of >=3.8 (wheel tag cp38-abi3)`: the cause says which."""
    python = None if artifact.target is None else artifact.target.python
    if python is None:
        return "its Python"
    some = "some Python of" if python.value.startswith(">=") else "Python"
    return f"{some} {python.value} ({python.detected_from})"


def _fails_here(artifact: ArtifactReport) -> bool:
    """Whether the loader refuses the file; one that does not use torch may be loaded without it."""
    without_torch = artifact.loader.torch_fails and artifact.verdict is ArtifactVerdict.NOT_TORCH
    return artifact.loader.outcome is LoaderOutcome.FAILS and not without_torch


def _loader_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    loader = artifact.loader
    if _fails_here(artifact) and refusal_of(artifact) is None:
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
