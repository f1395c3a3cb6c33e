"""`abiscan rules`: the list, or one rule in full, as text or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from abiscan.model.finding import RuleInfo
from abiscan.report.style import wrap_paragraphs


def render(
    rules: Sequence[RuleInfo], severities: Mapping[str, str], *, in_full: bool, as_json: bool, width: int | None
) -> str:
    """The rules as text for a terminal of `width` columns (None: never wrapped), or as a JSON array.

    Args:
        severities: by rule, every severity of its findings in words, for rules with more than one.
    """
    if as_json:
        import json

        return json.dumps([asdict(rule) for rule in rules], indent=2, ensure_ascii=False) + "\n"
    if in_full:
        return "\n".join(_full(rule, severities.get(rule.id, rule.severity.value), width) for rule in rules)
    longest = max((len(rule.id) for rule in rules), default=0)
    return "".join(
        f"{rule.id:<{longest}}  {rule.severity.value:<7}  {' '.join(rule.summary.split())}\n" for rule in rules
    )


def _full(rule: RuleInfo, severities: str, width: int | None) -> str:
    parts = [f"{rule.id} ({severities}; {rule.confidence.value} confidence; since abiscan {rule.since})", ""]
    parts += wrap_paragraphs(rule.summary, width)
    for title, text in (("Why is this bad?", rule.why), ("Fix", rule.use_instead)):
        if text:
            parts += ["", title, *wrap_paragraphs(text, width, "  ")]
    if rule.example:
        parts += ["", "Example", *("  " + line for line in rule.example.strip("\n").splitlines())]
    if rule.references:
        parts += ["", "References", *(f"  {reference}" for reference in rule.references)]
    return "\n".join(parts) + "\n"
