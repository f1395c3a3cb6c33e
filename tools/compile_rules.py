"""Make `abiscan/rules/compiled.py` of the rules' TOML files, after checking each against the law.

python tools/compile_rules.py           write it
python tools/compile_rules.py --check   exit 1 if it is not what the files say
"""

from __future__ import annotations

import argparse
import pprint
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from abiscan.rules.check import read_rule_file  # noqa: E402 - of this work tree, installed or not

RULES = ROOT / "abiscan" / "rules"
TARGET = RULES / "compiled.py"

HEADER = '''"""The rules' TOML files as one table. Made by tools/compile_rules.py; change the files, not this."""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from typing import Any

'''


def compiled() -> str:
    """The module's text.

    Raises:
        InvalidRule: a file breaks the law.
    """
    tables = {}
    for path in sorted((RULES / "catalogue").glob("*.toml")):
        read_rule_file(path)
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        tables[path.stem] = {key: value.strip() if isinstance(value, str) else value for key, value in table.items()}
    return f"{HEADER}RULES: dict[str, dict[str, Any]] = {pprint.pformat(tables, width=120, sort_dicts=False)}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    text = compiled()
    if check:
        current = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
        if current != text:
            print(f"{TARGET.relative_to(ROOT)} is stale: run tools/compile_rules.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
