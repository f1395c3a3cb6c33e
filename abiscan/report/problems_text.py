"""What is wrong with one file, as lines for a terminal: its causes, then the findings of rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from abiscan.model.cause import CauseGroup
from abiscan.model.finding import DOES_NOT_LOAD, EXPLAINED_BY_CAUSES, Finding, Severity
from abiscan.model.report import ArtifactReport
from abiscan.report.escape import printable
from abiscan.report.style import LineGroup, Style, wrap
from abiscan.report.summary import refusal_of, severity_counts
from abiscan.report.wording import counted, place_words, readable_names

# Shown without -v, and with one: causes; symbols and evidence of the first cause, and of others; rules; findings of a
# rule; places of a finding.
_CAUSES, _SYMBOLS, _EVIDENCE = (3, 8), ((4, 20), (2, 8)), ((2, 8), (1, 3))
_RULES, _FINDINGS, _PLACES = (3, 20), (1, 5), (2, 5)
SEVERITY_COLOR = {Severity.ERROR: "31;1", Severity.WARNING: "33;1", Severity.NOTE: "36"}


def cause_sections(artifact: ArtifactReport, style: Style) -> Iterator[LineGroup]:
    """Why imports do not bind, best explanation first, each with what to do and then its evidence."""
    names = readable_names(artifact)
    groups = artifact.causes[: style.most(*_CAUSES)]
    for number, group in enumerate(groups):
        other = number > 0
        title = "also" if other else style.strong("cause")
        why = wrap(f"{group.summary} [{group.cause}, {group.confidence} confidence]", style, f"  {title}: ", "    ")
        yield LineGroup(other * 3, [*why, *(_fix(group, style) if group.fix else ())])
        evidence = [
            wrap(sentence, style, "    - " if place else "  because: ", "      " if place else "    ")
            for place, sentence in enumerate(group.evidence[: style.most(*_EVIDENCE[other])])
        ]
        yield LineGroup(2 + other * 3, [line for sentence in evidence for line in sentence])
        symbols = group.symbols[: style.most(*_SYMBOLS[other])]
        lines = [f"    explains {counted(len(group.symbols), 'import')}:"] if symbols else []
        for symbol in symbols:
            lines += wrap(names.get(symbol, symbol), style, "      ", "        ", chop=not style.verbose)
        if len(group.symbols) > len(symbols):
            lines.append(style.dim(f"      ... and {len(group.symbols) - len(symbols)} more: {style.more}"))
        yield LineGroup(4 + other * 2, lines)
    if len(artifact.causes) > len(groups):
        more = counted(len(artifact.causes) - len(groups), "further cause")
        yield LineGroup(1, [style.dim(f"  {more}: {style.more}")])


def _fix(group: CauseGroup, style: Style) -> list[str]:
    first, *rest = group.fix.split("\n")
    lines = wrap(first, style, "  " + style.paint("fix: ", "32;1"), "    ")
    lines += [f"      {printable(line)}" for line in rest]
    return lines


def declaration_lines(members: Sequence[ArtifactReport], style: Style) -> list[str]:
    """What a wheel declares wrongly, which is found in one of its members and is so of all."""
    found = [f for member in members for f in member.standing if of_wheel(f)]
    return [line for f in found for line in _rule_lines([f], style)]


def of_wheel(finding: Finding) -> bool:
    """Whether it is told with the wheel, behind its verdict, whichever member it stands at."""
    return finding.rule.startswith("torch-requirement-") and finding.severity is not Severity.NOTE


def finding_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    """What rules found and nothing accepts, a block a rule, without what the causes have said and what is told of its
    wheel."""
    return [line for section in finding_sections(artifact, style) for line in section.lines]


def finding_sections(artifact: ArtifactReport, style: Style) -> Iterator[LineGroup]:
    """A section for each rule of `finding_lines`."""
    refusal = refusal_of(artifact)  # the first line is its message
    standing = [f for f in artifact.standing if f is not refusal and not of_wheel(f)]
    shown = sorted(standing, key=lambda f: f.severity.rank)
    explained = {s for group in artifact.causes for s in group.symbols}
    if not style.verbose:
        shown = [
            f
            for f in shown
            if (f.severity is not Severity.NOTE or style.fails(f.severity))
            and f.rule != DOES_NOT_LOAD  # the lines above say so
            and not (f.rule in EXPLAINED_BY_CAUSES and artifact.causes and explained.issuperset(f.all_symbols))
        ]
    by_rule: dict[str, list[Finding]] = {}
    for finding in shown:
        by_rule.setdefault(finding.rule, []).append(finding)
    rules = list(by_rule)
    failing = sum(style.fails(found[0].severity) for found in by_rule.values())
    told = rules[: max(style.most(*_RULES), failing)]
    for rule in told:
        yield LineGroup(1 if style.fails(by_rule[rule][0].severity) else 4, _rule_lines(by_rule[rule], style))
    if len(rules) > len(told):
        more = counted(len(rules) - len(told), "more rule")
        yield LineGroup(1, [style.dim(f"  findings of {more}: {style.more}")])
    hidden = 0 if style.fails(Severity.NOTE) else severity_counts(artifact.standing)[Severity.NOTE]
    if hidden and not style.verbose and not told and not artifact.causes:
        yield LineGroup(1, [style.dim(f"  {counted(hidden, 'note')}: -v shows {'it' if hidden == 1 else 'them'}")])


def _rule_lines(findings: Sequence[Finding], style: Style) -> list[str]:
    first = findings[0]
    label = f"  {style.paint(first.severity.value, SEVERITY_COLOR[first.severity])}[{first.rule}]: "
    lines: list[str] = []
    shown = findings[: style.most(*_FINDINGS)]
    for finding in shown:
        lines += wrap(finding.message, style, label, "    ")
        for location in finding.locations[: style.most(*_PLACES)]:
            where = place_words(location)
            if where:
                lines += wrap(where, style, "    at ", "      ", chop=not style.verbose)
        if finding.fix and finding is shown[-1]:
            lines += wrap(finding.fix.split("\n")[0], style, "    " + style.paint("fix: ", "32"), "      ")
            lines += [f"        {printable(line)}" for line in finding.fix.split("\n")[1:]]
    if len(findings) > len(shown):
        lines.append(style.dim(f"    ... and {len(findings) - len(shown)} more of this rule: {style.more}"))
    return lines
