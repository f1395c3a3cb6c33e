"""`abiscan rules`: the list, or one rule in full, as text or JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from msgspec.structs import asdict

from abiscan.model.finding import RuleInfo


def render(rules: Sequence[RuleInfo], *, in_full: bool, as_json: bool, width: int | None) -> str:
    """The rules as text for a terminal of `width` columns (None: never wrapped), or as a JSON array."""
    if as_json:
        import json

        return json.dumps([asdict(rule) for rule in rules], indent=2, ensure_ascii=False) + "\n"
    if in_full:
        return "\n".join(_full(rule, width) for rule in rules)
    longest = max((len(rule.id) for rule in rules), default=0)
    return "".join(f"{rule.id:<{longest}}  {rule.severity.value:<7}  {_one_line(rule.summary)}\n" for rule in rules)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _full(rule: RuleInfo, width: int | None) -> str:
    parts = [f"{rule.id} ({rule.severity.value}, {rule.confidence.value} confidence, since abiscan {rule.since})", ""]
    parts += _paragraphs(rule.summary, width)
    for title, text in (("Why is this bad?", rule.why), ("Use instead", rule.use_instead)):
        if text:
            parts += ["", title, *_paragraphs(text, width, "  ")]
    if rule.example:
        parts += ["", "Example", *("  " + line for line in rule.example.strip("\n").splitlines())]
    if rule.references:
        parts += ["", "References", *(f"  {reference}" for reference in rule.references)]
    return "\n".join(parts) + "\n"


def _paragraphs(text: str, width: int | None, indent: str = "") -> list[str]:
    """Prose wrapped; lines that are indented or fenced are code and stay as they are."""
    lines: list[str] = []
    fenced = False
    for block in text.strip("\n").split("\n\n"):
        if lines:
            lines.append("")
        raw = block.splitlines()
        if fenced or any(line.startswith(("    ", "```", "- ", "| ")) for line in raw):
            for line in raw:
                fenced ^= line.startswith("```")
                lines.append(indent + line)
        elif width is None:
            lines.append(indent + _one_line(block))
        else:
            wrapper = textwrap.TextWrapper(
                max(width, 40), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
            )
            lines += wrapper.wrap(_one_line(block))
    return lines
