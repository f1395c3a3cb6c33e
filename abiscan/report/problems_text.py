"""Problems of one file as lines for a terminal: causes, then findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from abiscan.model.finding import DOES_NOT_LOAD, EXPLAINED_BY_CAUSES, Finding, Severity
from abiscan.model.report import ArtifactReport
from abiscan.model.words import counted
from abiscan.report.style import LineGroup, Style, fix_lines, new_fix_lines, wrap
from abiscan.report.summary import refusal_of, severity_counts
from abiscan.report.wording import place_words, readable_names

# Limits without -v, and with one: causes; symbols and evidence of the first cause, and of others; rules; findings of a
# rule; places of a finding.
_CAUSES, _SYMBOLS, _EVIDENCE = (3, 8), ((4, 20), (2, 8)), ((2, 8), (1, 3))
_RULES, _FINDINGS, PLACES = (3, 20), (1, 5), (2, 5)
# Rank of a line that says no more than "more lines (-v)".
_LAST = 9
# Notes about what fails when a loaded file is used: the verdict does not tell.
_AFTER_LOAD = frozenset({"op-not-registered"})
SEVERITY_COLOR = {Severity.ERROR: "red bold", Severity.WARNING: "amber bold", Severity.NOTE: "cyan"}


def cause_sections(artifact: ArtifactReport, style: Style) -> Iterator[LineGroup]:
    """The causes of unresolved imports, best first, each with fix and evidence."""
    names = readable_names(artifact)
    groups = artifact.causes[: style.limit(*_CAUSES)]
    printed: set[str] = set()
    for number, group in enumerate(groups):
        other = number > 0
        title = f"cause {number + 1}" if other else style.strong("cause")
        title = style.hyperlink(title, f"causes/{group.cause}.md")
        why = wrap(f"{group.summary} [{group.cause}, {group.confidence} confidence]", style, f"  {title}: ", "    ")
        head = LineGroup(other * 3, [*why, *new_fix_lines(group.fix, style, printed)])
        yield head
        evidence = [
            wrap(sentence, style, "    - " if place else "  because: ", "      " if place else "    ")
            for place, sentence in enumerate(group.evidence[: style.limit(*_EVIDENCE[other])])
        ]
        yield LineGroup(2 + other * 3, [line for sentence in evidence for line in sentence], head)
        yield LineGroup(_LAST, style.left_out(len(group.evidence) - len(evidence), "    ", "fact"), head)
        symbols = group.symbols[: style.limit(*_SYMBOLS[other])]
        lines = [f"    affected symbols ({len(group.symbols)}):"] if symbols else []
        for symbol in symbols:
            lines += wrap(names.get(symbol, symbol), style, "      ", "        ", chop=not style.verbose)
        lines += style.left_out(len(group.symbols) - len(symbols), "      ")
        yield LineGroup(4 + other * 2, lines, head)
    yield LineGroup(1, style.left_out(len(artifact.causes) - len(groups), "  ", "cause"))


def declaration_lines(members: Sequence[ArtifactReport], style: Style) -> list[str]:
    """Findings about the metadata of a wheel, which belong to one of its members."""
    found = [f for member in members for f in member.standing if is_about_wheel(f)]
    return [line for f in found for line in _rule_lines([f], style)]


def is_about_wheel(finding: Finding) -> bool:
    """Whether a finding concerns the metadata of the wheel and is printed after its verdict."""
    return finding.rule.startswith("torch-requirement-") and finding.severity is not Severity.NOTE


def finding_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    """Findings that are not accepted, grouped by rule, without those that the causes or the lines of the wheel
    state."""
    return [line for section in finding_sections(artifact, style) for line in section.lines]


def finding_sections(artifact: ArtifactReport, style: Style) -> Iterator[LineGroup]:
    """A section for each rule of `finding_lines`."""
    refusal = refusal_of(artifact)  # the first line is its message
    standing = [f for f in artifact.standing if f is not refusal and not is_about_wheel(f)]
    # First what the user asked to be checked.
    shown = sorted(standing, key=lambda f: (not f.rule.startswith("require-"), f.severity.rank))
    explained = {s for group in artifact.causes for s in group.symbols}
    if not style.verbose:
        shown = [
            f
            for f in shown
            if (f.severity is not Severity.NOTE or style.fails(f.severity) or f.rule in style.selected)
            and f.rule != DOES_NOT_LOAD  # stated by the lines above
            and not (f.rule in EXPLAINED_BY_CAUSES and artifact.causes and explained.issuperset(f.all_symbols))
        ]
    by_rule: dict[str, list[Finding]] = {}
    for finding in shown:
        by_rule.setdefault(finding.rule, []).append(finding)
    rules = list(by_rule)
    failing = sum(style.fails(found[0].severity) for found in by_rule.values())
    printed = rules[: max(style.limit(*_RULES), failing)]
    for rule in printed:
        yield LineGroup(1 if style.fails(by_rule[rule][0].severity) else 4, _rule_lines(by_rule[rule], style))
    if len(rules) > len(printed):
        more = counted(len(rules) - len(printed), "more rule")
        have = "has" if len(rules) == len(printed) + 1 else "have"
        yield LineGroup(1, [style.dim(f"  {more} {have} findings ({style.more})")])
    if style.verbose or style.fails(Severity.NOTE) or artifact.causes:
        return
    brief = [finding for finding in standing if finding.rule in _AFTER_LOAD and finding not in shown]
    for finding in brief:
        yield LineGroup(2, _rule_lines([finding], style))
    hidden = severity_counts(artifact.standing)[Severity.NOTE] - len(brief)
    if hidden and not printed:
        yield LineGroup(1, [style.dim(f"  {counted(hidden, 'more note' if brief else 'note')} (-v)")])


def rule_link(rule: str, style: Style) -> str:
    """The id of a rule, with a link to its page if it has one; those of requirements have none."""
    has_page = rule != DOES_NOT_LOAD and not rule.startswith("require-")
    return style.hyperlink(rule, f"rules/{rule}.md") if has_page else rule


def _rule_lines(findings: Sequence[Finding], style: Style) -> list[str]:
    lines: list[str] = []
    shown = findings[: style.limit(*_FINDINGS)]
    for finding in shown:
        severity = style.paint(finding.severity.value, SEVERITY_COLOR[finding.severity])
        label = f"  {severity}[{rule_link(finding.rule, style)}]: "
        lines += wrap(finding.message, style, label, "    ")
        places = list(filter(None, map(place_words, finding.locations)))
        limit = style.limit(*PLACES)
        for number, where in enumerate(places[:limit], 1):
            more = f" ({len(places) - limit} more: {style.more})" if number == limit < len(places) else ""
            lines += wrap(where + more, style, "    at ", "      ", chop=not style.verbose)
        if finding.fix and finding is shown[-1]:
            lines += fix_lines(finding.fix, style, "    ", "green")
    if len(findings) > len(shown):
        more = counted(len(findings) - len(shown), "more finding")
        lines.append(style.dim(f"    {more} of this rule ({style.more})"))
    return lines
