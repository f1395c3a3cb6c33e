"""Make `docs/rules.md` of the rules.

python tools/generate_docs.py           write it
python tools/generate_docs.py --check   exit 1 if it is not what the rules say
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from abiscan.model.binding import Status  # noqa: E402 - of this work tree, installed or not
from abiscan.rules import Rule, load_rules  # noqa: E402

TARGET = ROOT / "docs" / "rules.md"


def page() -> str:
    """The page's text."""
    rules = load_rules()
    lines = [
        "# Rules",
        "",
        "<!-- Made by tools/generate_docs.py from abiscan/rules/*.toml. -->",
        "",
        "`abiscan rules ID` prints one of these. A rule that is to be silent goes into `[tool.abiscan]`; see usage.md.",
        "The severity is that of a file that binds; where an import is missing, some rules are graver.",
        "",
        "| rule | severity | looks at | what it finds |",
        "| --- | --- | --- | --- |",
        *(f"| [{rule.id}](#{rule.id}) | {_severities(rule)} | {_looks_at(rule)} | {rule.summary} |" for rule in rules),
    ]
    for rule in rules:
        lines += ["", *_section(rule)]
    return "\n".join(lines) + "\n"


def _severities(rule: Rule) -> str:
    text = rule.severity.value
    when = dict(rule.severity_when)
    missing = when.get(Status.MISSING)
    if missing is not None and missing is not rule.severity:
        text += f", {missing.value} where the import is missing"
    patterns = [*(p.severity for p in rule.libraries), *(p.severity for p in rule.sources)]
    for severity in dict.fromkeys(each for each in patterns if each is not None and each is not rule.severity):
        text += f", {severity.value} for some"
    return text


def _looks_at(rule: Rule) -> str:
    kinds = []
    if rule.imports or rule.libraries or rule.id == "vtable-drift":
        kinds.append("binary")
    if rule.sources:
        kinds.append("source")
    if rule.id == "generated-kernel":
        kinds.append("generated kernel")
    return ", ".join(kinds)


def _section(rule: Rule) -> Iterator[str]:
    yield f"## {rule.id}"
    yield ""
    yield f"{rule.summary}. Severity: {_severities(rule)}; confidence: {rule.confidence.value}; since {rule.since}."
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
    yield "**Use instead**"
    yield ""
    yield rule.use_instead
    if rule.facts:
        yield ""
        yield "**Exported by** (x86_64 wheels of the package index; compared with the shipped release index by a test)"
        yield ""
        for fact in rule.facts:
            windows = ", ".join(f"{first} - {last}" for first, last in fact.windows) or "no release"
            yield f"- `{fact.symbol}`: {windows}"
    yield ""
    yield "**References**"
    yield ""
    for reference in rule.references:
        yield f"- <{reference}>"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    text = page()
    if parser.parse_args().check:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            print(f"{TARGET.relative_to(ROOT)} is stale: run tools/generate_docs.py", file=sys.stderr)
            return 1
        return 0
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
