"""The findings in every fixture, as text: `python -m tests.rules.snapshots [NAME.so...]` writes all files, or those of
the named fixtures. Review the difference before committing it: a snapshot is a claim about each fixture, not a record
of the code's output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from abiscan.model.finding import Finding
from tests.rules.reports import report, reports

HERE = Path(__file__).parent / "snapshots"


def snapshot(name: str) -> str:
    """The findings of a fixture, one block each."""
    return "\n".join(_printable(line) for finding in report(name).findings for line in _lines(finding))


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity} {finding.rule} ({finding.confidence})"
    yield f"    {finding.message}"
    yield f"    fix: {finding.fix}"
    for symbol in finding.all_symbols:
        yield f"    - {symbol}"
    yield ""


def _printable(text: str) -> str:
    """Names in a file are any bytes; a snapshot is text."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def file_of(name: str) -> Path:
    return HERE / f"{name}.txt"


if __name__ == "__main__":
    named = sys.argv[1:]
    for old in HERE.glob("*.txt") if not named else ():
        old.unlink()
    for fixture in named or reports():
        file_of(fixture).write_text(snapshot(fixture), encoding="utf-8")
