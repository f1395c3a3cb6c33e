"""Make `abiscan/data/cpython_stable_abi.txt`: the names in CPython's stable ABI, with their first versions.

    pip install abi3info==2026.9.25
    python tools/make_stable_abi.py           write it
    python tools/make_stable_abi.py --check   exit 1 if it differs

The package is generated from CPython's Misc/stable_abi.toml. Functions and data are included, also those of some
platforms only, because a name that is in the stable ABI anywhere is guaranteed there.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from pathlib import Path

from abi3info import DATAS, FUNCTIONS

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "abiscan" / "data" / "cpython_stable_abi.txt"


def table() -> str:
    """The file's text."""
    added = {symbol.name: item.added for items in (FUNCTIONS, DATAS) for symbol, item in items.items()}
    lines = [f"{name} {since.major}.{since.minor}" for name, since in sorted(added.items())]
    head = f"# CPython's stable ABI (Misc/stable_abi.toml), from abi3info {version('abi3info')}: name, first version."
    return "\n".join([head, *lines]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    text = table()
    if parser.parse_args().check:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            print(f"{TARGET.relative_to(ROOT)} is stale: run tools/make_stable_abi.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
