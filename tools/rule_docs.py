"""Render `docs/rules.md`, the table of the rules, and `docs/rules/ID.md`, a page for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from abiscan.rules import Rule
from abiscan.rules.computed.wheel_metadata_rules import WHEEL_RULES
from tools.read_rule_file import read_rule_file
from tools.rule_data import CATALOGUE
from tools.rule_data import rules as rules_of_the_catalogue


def pages() -> dict[str, Callable[[str], str]]:
    """File -> function that renders its text."""
    return {f"docs/rules/{path.stem}.md": partial(_page, path) for path in CATALOGUE.glob("*.toml")}


def _page(path: Path, _current: str) -> str:
    return "\n".join(_section(read_rule_file(path))) + "\n"


def render(_current: str) -> str:
    """Render the table."""
    rules = rules_of_the_catalogue()
    lines = [
        "# Rules",
        "",
        "<!-- Made by tools/generate.py from abiscan/rules/catalogue/*.toml. -->",
        "",
        "For users who read or configure a report. `abiscan rules ID` prints one rule. To ignore a rule or to",
        "change its severity, see [the policy](how-to/ci.md#policy). The severity is for a symbol that resolves.",
        "Some rules are more severe if the symbol is missing.",
        "",
        "| rule | severity | checks | finding |",
        "| --- | --- | --- | --- |",
        *(
            f"| [{rule.id}](rules/{rule.id}.md) | {rule.severities()} | {_looks_at(rule)} | {rule.summary} |"
            for rule in rules
        ),
    ]
    return "\n".join(lines) + "\n"


def _looks_at(rule: Rule) -> str:
    is_of_kernels = rule.id == "generated-kernel"
    of_binaries = rule.computed and not is_of_kernels and rule.id not in WHEEL_RULES
    kinds = {
        "binary": rule.imports or rule.libraries or of_binaries,
        "source": rule.sources,
        "generated kernel": is_of_kernels,
        "wheel": rule.id in WHEEL_RULES,
    }
    return ", ".join(kind for kind, looked_at in kinds.items() if looked_at)


def _section(rule: Rule) -> Iterator[str]:
    yield f"# {rule.id}"
    yield ""
    yield "<!-- Made by tools/generate.py from abiscan/rules/catalogue. -->"
    yield ""
    yield f"{rule.summary}. Severity: {rule.severities()}; confidence: {rule.confidence.value}; since {rule.since}."
    yield ""
    yield "**Why is this bad?**"
    yield ""
    yield rule.why
    yield ""
    yield "**Example**"
    yield ""
    yield "```cpp" if "::" in rule.example or ";" in rule.example else "```"
    yield rule.example
    yield "```"
    yield ""
    yield "**Fix**"
    yield ""
    yield rule.use_instead
    if rule.facts:
        yield ""
        yield "**Exported by** (x86_64 wheels of torch 1.13 and later; a test compares them with the release index)"
        yield ""
        for fact in rule.facts:
            releases = ", ".join(f"{first}-{last}" for first, last in fact.exported_in) or "no release"
            yield f"- `{fact.symbol}`: {releases}"
    yield ""
    yield "**References**"
    yield ""
    for reference in rule.references:
        yield f"- <{reference}>"
