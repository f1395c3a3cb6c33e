"""What is wrong with one file, as lines for a terminal: its causes, then the findings of rules."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.model.cause import CauseGroup
from abiscan.model.finding import DOES_NOT_LOAD, EXPLAINED_BY_CAUSES, Finding, Severity
from abiscan.model.report import ArtifactReport
from abiscan.report.escape import printable
from abiscan.report.style import Style, wrap
from abiscan.report.summary import refusal_of, severity_counts
from abiscan.report.wording import counted, place_words, readable_names

# How many of each a file's block may show before `-v` is named.
_CAUSES, _SYMBOLS_FIRST, _SYMBOLS_OTHER, _FINDINGS, _EVIDENCE = 3, 4, 2, 3, 2
SEVERITY_COLOR = {Severity.ERROR: "31;1", Severity.WARNING: "33;1", Severity.NOTE: "36"}


def cause_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    """Why imports do not bind, best explanation first, each with what to do and then its evidence."""
    lines: list[str] = []
    names = readable_names(artifact)
    groups = artifact.causes if style.verbose else artifact.causes[:_CAUSES]
    for number, group in enumerate(groups):
        title = style.strong("why") if number == 0 else "also"
        lines += wrap(f"{group.summary} [{group.cause}, {group.confidence} confidence]", style, f"  {title}: ", "    ")
        if group.fix:
            lines += _fix(group, style)
        evidence = group.evidence if style.verbose else group.evidence[: _EVIDENCE if number == 0 else 1]
        for place, sentence in enumerate(evidence):
            lines += wrap(
                sentence, style, "  because: " if place == 0 else "    - ", "    " if place == 0 else "      "
            )
        limit = len(group.symbols) if style.verbose else (_SYMBOLS_FIRST if number == 0 else _SYMBOLS_OTHER)
        if group.symbols:
            lines.append(f"    explains {counted(len(group.symbols), 'import')}:")
        for symbol in group.symbols[:limit]:
            lines += wrap(names.get(symbol, symbol), style, "      ", "        ", chop=not style.verbose)
        if len(group.symbols) > limit:
            lines.append(style.dim(f"      ... and {len(group.symbols) - limit} more"))
    if len(artifact.causes) > len(groups):
        lines.append(style.dim(f"  {counted(len(artifact.causes) - len(groups), 'further cause')}: -v shows all"))
    return lines


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
    lines: list[str] = []
    rules = list(by_rule)
    failing = sum(style.fails(found[0].severity) for found in by_rule.values())
    told = rules if style.verbose else rules[: max(_FINDINGS, failing)]
    for rule in told:
        lines += _rule_lines(by_rule[rule], style)
    if len(rules) > len(told):
        lines.append(style.dim(f"  findings of {counted(len(rules) - len(told), 'more rule')}: -v shows all"))
    hidden = 0 if style.fails(Severity.NOTE) else severity_counts(artifact.standing)[Severity.NOTE]
    if hidden and not style.verbose and len(lines) == 0 and not artifact.causes:
        lines.append(style.dim(f"  {counted(hidden, 'note')}: -v shows {'it' if hidden == 1 else 'them'}"))
    return lines


def _rule_lines(findings: Sequence[Finding], style: Style) -> list[str]:
    first = findings[0]
    label = f"  {style.paint(first.severity.value, SEVERITY_COLOR[first.severity])}[{first.rule}]: "
    lines: list[str] = []
    for finding in findings if style.verbose else findings[:1]:
        lines += wrap(finding.message, style, label, "    ")
        for location in finding.locations if style.verbose else finding.locations[:2]:
            where = place_words(location)
            if where:
                lines += wrap(where, style, "    at ", "      ", chop=not style.verbose)
        if finding.fix and finding is findings[-1 if style.verbose else 0]:
            lines += wrap(finding.fix.split("\n")[0], style, "    " + style.paint("fix: ", "32"), "      ")
            lines += [f"        {printable(line)}" for line in finding.fix.split("\n")[1:]]
    if not style.verbose and len(findings) > 1:
        lines.append(style.dim(f"    ... and {len(findings) - 1} more of this rule"))
    return lines
