"""Findings in sources, for a terminal: one block per rule over all files."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.model.finding import Finding, Severity
from abiscan.model.report import ArtifactReport
from abiscan.model.words import counted
from abiscan.report.problems_text import SEVERITY_COLOR, rule_link
from abiscan.report.style import Style, fix_lines, wrap
from abiscan.report.wording import source_place

# Limits of a rule's block without -v, and with one: messages, and files of each.
_MESSAGES, _FILES = (3, 10), (4, 20)
# Maximum number of lines of one file.
_LINES = 12


# (message, fix) -> findings of a rule.
_Messages = dict[tuple[str, str], list[Finding]]


def source_lines(artifacts: Sequence[ArtifactReport], style: Style) -> list[str]:
    """The open findings of all source files, highest severity first."""
    rules: dict[tuple[int, str, Severity], _Messages] = {}
    for artifact in artifacts:
        for finding in artifact.standing:
            if style.quiet and not style.fails(finding.severity):
                continue
            messages = rules.setdefault((finding.severity.rank, finding.rule, finding.severity), {})
            messages.setdefault((finding.message, finding.fix), []).append(finding)
    lines: list[str] = []
    for (_rank, rule, severity), messages in sorted(rules.items()):
        lines += _rule_lines(rule, severity, messages, style)
    return lines


def _rule_lines(rule: str, severity: Severity, messages: _Messages, style: Style) -> list[str]:
    lines: list[str] = []
    label = f"{style.paint(severity.value, SEVERITY_COLOR[severity])}[{rule_link(rule, style)}]: "
    shown = list(messages)[: style.limit(*_MESSAGES)]
    for number, (message, fix) in enumerate(shown):
        lines += wrap(message, style, label, "  ")
        places = [_places(finding) for finding in messages[message, fix]]
        limit = style.limit(*_FILES)
        for place in places[:limit]:
            lines += wrap(place, style, "  at ", "    ")
        if len(places) > limit:
            lines.append(style.dim(f"  ... and in {counted(len(places) - limit, 'more file')}: {style.more}"))
        if number + 1 == len(shown) or shown[number + 1][1] != fix:
            lines += fix_lines(fix, style, colors="green")
    if len(messages) > len(shown):
        more = counted(len(messages) - len(shown), "more message")
        lines.append(style.dim(f"  ... and {more} of this rule: {style.more}"))
    return lines


def _places(finding: Finding) -> str:
    """`csrc/ops.cu:70, 146, 299`."""
    numbers = [str(place.line) for place in finding.locations[1:] if place.line is not None]
    first = source_place(finding.locations[0]) if finding.locations else None
    more = f" and {len(numbers) - _LINES} more lines" if len(numbers) > _LINES else ""
    return ", ".join([first or "", *numbers[:_LINES]]) + more
