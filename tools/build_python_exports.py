"""Make abiscan/data/python_exports.txt.xz: which CPython exports which C name.

    python tools/build_python_exports.py [--check] INTERPRETER_OR_LIBPYTHON...

Reads the dynamic symbols of real interpreters (or of their libpython), one for each version, and keeps the names of
the C
API, public and private (`Py...`, `_Py...`). Nothing is executed. `--check` compares with what is in the package
instead of
writing, and needs the same set of versions.

The file is xz text. Line 1: the versions, oldest first. Each further line: a hexadecimal mask (bit i: version i exports
the name), a space, the name.
"""

from __future__ import annotations

import argparse
import lzma
import re
import sys
from pathlib import Path

from abiscan.elf import open_elf

TABLE = Path(__file__).parents[1] / "abiscan" / "data" / "python_exports.txt.xz"
_NAME = re.compile(r"_{0,2}Py[A-Z_]\w*$")
_VERSION = re.compile(r"python(\d)\.(\d+)m?(?:\.so[.\d]*)?$")


def read(path: Path) -> tuple[tuple[int, int], set[str]]:
    """The version that the file's name states, and the names it exports."""
    version = _VERSION.search(path.name)
    if version is None:
        sys.exit(f"{path}: the file's name does not end in pythonX.Y or libpythonX.Y.so")
    with open_elf(path) as elf:
        return (int(version[1]), int(version[2])), {e.name for e in elf.exports() if _NAME.match(e.name)}


def table(paths: list[Path]) -> bytes:
    """The table's bytes, before compression."""
    exports: dict[tuple[int, int], set[str]] = {}
    for path in paths:
        version, names = read(path)
        exports.setdefault(version, set()).update(names)
    versions = sorted(exports)
    lines = [" ".join(f"{major}.{minor}" for major, minor in versions)]
    for name in sorted(set().union(*exports.values())):
        mask = sum(1 << at for at, version in enumerate(versions) if name in exports[version])
        lines.append(f"{mask:x} {name}")
    return ("\n".join(lines) + "\n").encode()


def main() -> None:
    """Write or check the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the packaged table, write nothing")
    parser.add_argument("paths", nargs="+", type=Path, metavar="INTERPRETER_OR_LIBPYTHON")
    arguments = parser.parse_args()
    made = table(arguments.paths)
    if arguments.check:
        if lzma.decompress(TABLE.read_bytes()) != made:
            sys.exit(f"{TABLE}: differs from these interpreters")
        return
    TABLE.write_bytes(lzma.compress(made, preset=9 | lzma.PRESET_EXTREME))
    names = made.count(b"\n") - 1
    print(f"{TABLE}: {names} names, {TABLE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
