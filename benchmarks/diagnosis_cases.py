"""How often the confirmed cause of a real report comes first, or among the first two.

    python -m benchmarks.diagnosis_cases [-v] [CASES.jsonl ...]

Prints every case whose cause is not first (`-v`: every case), then the figures. `tests/diagnosis/reported.py` has the
cases.
"""

from __future__ import annotations

import sys
from pathlib import Path

from abiscan.releases import open_index
from tests.diagnosis.reported import FILES, cases


def main() -> None:
    """Print the misses and the figures."""
    verbose = "-v" in sys.argv[1:]
    index = open_index()
    for path in [Path(a) for a in sys.argv[1:] if a != "-v"] or FILES:
        rows = []
        for case in cases(path):
            answer = case.answer(index)
            rank = case.rank(answer)
            rows.append((case, rank))
            if verbose or rank != 0:
                word = {0: "first", 1: "second"}.get(-1 if rank is None else rank, "MISS")
                sure = "confirmed" if case.confirmed else "inferred"
                print(f"{word:6} {sure:9} {case.cause}: {case.symbol[:100]}")
                print(f"       torch {case.torch_installed!r}, needed by {case.needed_by!r}")
                print(f"       wanted {' or '.join(case.wanted)}; given {', '.join(answer) or 'nothing'}")
        print(f"\n{path.name}: cases, cause first, cause among the first two")
        for name, ranks in (("all", [r for _c, r in rows]), ("confirmed", [r for c, r in rows if c.confirmed])):
            count = max(len(ranks), 1)
            first, second = sum(r == 0 for r in ranks), sum(r in (0, 1) for r in ranks)
            print(f"  {name:9} {len(ranks):4}  {first:3} ({first / count:.0%})  {second:3} ({second / count:.0%})")


if __name__ == "__main__":
    main()
