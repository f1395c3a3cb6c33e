"""Counts for each rule and each cause of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from abiscan.model.report import Report
from abiscan.report.escape import printable


def render(report: Report) -> str:
    """Two tables, the most frequent first; empty if nothing was found."""
    findings: Counter[str] = Counter()
    in_files: Counter[str] = Counter()
    imports: Counter[str] = Counter()
    failing: Counter[str] = Counter()
    for artifact in report.artifacts:
        rules = [f"{finding.severity.value}[{finding.rule}]" for finding in artifact.standing]
        findings.update(rules)
        in_files.update(set(rules))
        for group in artifact.causes:
            imports[group.cause] += len(group.symbols)
        failing.update({group.cause for group in artifact.causes})
    tables = (
        _table(("findings", "files", "rule"), [(findings[rule], in_files[rule], rule) for rule in findings]),
        _table(("symbols", "files", "cause"), [(imports[cause], failing[cause], cause) for cause in imports]),
    )
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in map(list, tables) if lines)


def _table(columns: tuple[str, str, str], rows: Sequence[tuple[int, int, str]]) -> Iterator[str]:
    ordered = sorted(rows, key=lambda row: (-row[0], -row[1], row[2]))
    for first, second, name in (columns, *ordered) if rows else ():
        yield f"{first:>8}  {second:>5}  {printable(name)}"
