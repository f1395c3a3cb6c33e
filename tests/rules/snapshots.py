"""What every rule says of every fixture, as text: `python -m tests.rules.snapshots` writes the files anew.

Read the difference before committing it: a snapshot is a claim about each fixture, not a record of what the code did.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from abiscan.model.finding import Finding
from abiscan.rules import load_rules, run
from tests.rules.subjects import FIXTURES, subject

HERE = Path(__file__).parent / "snapshots"


def fixtures() -> list[Path]:
    """Every x86_64 fixture that is a shared object of its own (`loader/` holds libraries for the loader's tests)."""
    found = [*FIXTURES.glob("*.so"), *(FIXTURES / "rules").glob("*.so")]
    return sorted(path for path in found if subject(path).facts.machine == "x86_64")


def snapshot(path: Path) -> str:
    """The findings of a fixture bound to torch 2.13.0, one block each."""
    return "\n".join(line for finding in run(load_rules(), subject(path)) for line in _lines(finding))


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity} {finding.rule} ({finding.confidence})"
    yield f"    {finding.message}"
    yield f"    fix: {finding.fix}"
    for symbol in finding.symbols or (finding.symbol,):
        yield f"    - {symbol}"
    yield ""


def file_of(path: Path) -> Path:
    return HERE / f"{path.name}.txt"


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for old in HERE.glob("*.txt"):
        old.unlink()
    for fixture in fixtures():
        file_of(fixture).write_text(snapshot(fixture), encoding="utf-8")
