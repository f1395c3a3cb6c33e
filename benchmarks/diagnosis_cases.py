"""How often the confirmed cause of a real report comes first, or among the first two.

    python -m benchmarks.diagnosis_cases [-v] [CASES.jsonl ...]

Prints every case whose cause is not first (`-v`: every case), then the figures, for each case typed in (the symbol,
with the torch that the report names) and pasted (the text alone). `tests/diagnosis/reported.py` has the cases.
"""

from __future__ import annotations

import sys
from pathlib import Path

from abiscan.releases import open_index
from tests.diagnosis.reported import FILES, Case, cases


def main() -> None:
    """Print the misses and the figures."""
    verbose = "-v" in sys.argv[1:]
    index = open_index(earlier=True)
    for path in [Path(a) for a in sys.argv[1:] if a != "-v"] or FILES:
        for how in ("typed", "pasted"):
            ranks: list[tuple[Case, int | None]] = []
            for case in cases(path):
                answer = case.typed(index) if how == "typed" else case.pasted(index)
                if answer is None:
                    continue
                rank = case.rank(answer)
                ranks.append((case, rank))
                if verbose or rank != 0:
                    print(_line(case, answer, rank, how))
            print(f"\n{path.name}, {how}: cases, cause first, cause among the first two")
            confirmed = [(case, rank) for case, rank in ranks if case.confirmed]
            for name, of in (("all", ranks), ("confirmed", confirmed)):
                count = max(len(of), 1)
                first, second = sum(r == 0 for _c, r in of), sum(r in (0, 1) for _c, r in of)
                print(f"  {name:9} {len(of):4}  {first:3} ({first / count:.0%})  {second:3} ({second / count:.0%})")


def _line(case: Case, answer: tuple[str, ...], rank: int | None, how: str) -> str:
    place = "MISS" if rank is None else {0: "first", 1: "second"}.get(rank, f"{rank + 1}th")
    sure = "confirmed" if case.confirmed else "inferred"
    return (
        f"{place:6} {how:6} {sure:9} {case.cause}: {(case.symbol or case.text or '')[:100]!r}\n"
        f"       torch {case.torch_installed!r}, needed by {case.needed_by!r}\n"
        f"       wanted {' or '.join(case.wanted)}; given {', '.join(answer) or 'nothing'}"
    )


if __name__ == "__main__":
    main()
