"""Make abiscan/data/python_exports.txt.gz, and the same for Windows and macOS: the C names that each CPython exports.

    python tools/build_python_exports.py [--check] INTERPRETER_OR_LIBPYTHON...

The files of one system make one table.

Reads the dynamic symbols of real interpreters (or of their libpython), any number for each version, and keeps the names
of the C API, public and private (`Py...`, `_Py...`). A name counts if any file of a version exports it: patch releases
add names, mostly private ones. Nothing is executed. `--check` compares with what is in the package instead
of writing, and needs the same files.

The file is text under gzip. Line 1: the versions, oldest first, `t` for a free-threaded build. Each further line: a
hexadecimal mask (bit i: version i exports the names), then all names that these versions and no others export.

The packaged table is made of (x86_64, Linux):

    2.7.18, 3.6.15, 3.7.16, 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0: pyenv, --enable-shared
    3.13.18, 3.14.10: Debian's libpython3.13 3.13.18-1 and libpython3.14 3.14.10-1
    3.14.0: Ubuntu's libpython3.14 3.14.0-1
    3.13.15t, 3.14.4t: CPython's sources without a patch, --disable-gil --enable-shared

Debian's libpython3.11, 3.13 and 3.14 for aarch64 export the same names as those for x86_64. Debian's 3.14 is built with
the JIT compiler's second tier, whose private names (`_Py_Executor...`) the free-threaded build does not have.

That of Windows (python_exports-windows.txt.gz, x86-64) is made of python37.dll to python314.dll, and that of macOS
(python_exports-macos.txt.gz) of libpython3.8.dylib to libpython3.14.dylib, which the wheels of panda3d 1.10.16 bundle.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
from pathlib import Path

from abiscan.binary import open_binary
from abiscan.environment.python_names import FILES
from abiscan.model.platforms import OperatingSystem, system_of
from abiscan.model.python_version import PythonVersion
from abiscan.ownership.names import is_python_name

DATA = Path(__file__).parents[1] / "abiscan" / "data"
_VERSION = re.compile(r"python(\d)\.?(\d+)(t?)m?(?:\.so[.\d]*|\.dll|\.dylib)?$")


def read(path: Path) -> tuple[PythonVersion, set[str]]:
    """The version in the file name, and the exported names."""
    version = _VERSION.search(path.name)
    if version is None:
        sys.exit(f"{path}: the file's name does not end in pythonX.Y[t] or libpythonX.Y[t].so, .dylib, pythonXY.dll")
    names = {export.name for export in open_binary(path).exports() if is_python_name(export.name)}
    return PythonVersion(int(version[1]), int(version[2]), bool(version[3])), names


def table(paths: list[Path]) -> bytes:
    """The table's bytes, before compression."""
    exports: dict[PythonVersion, set[str]] = {}
    for path in paths:
        version, names = read(path)
        exports.setdefault(version, set()).update(names)
    versions = sorted(exports)
    names_of: dict[int, list[str]] = {}
    for name in sorted(set().union(*exports.values())):
        mask = sum(1 << at for at, version in enumerate(versions) if name in exports[version])
        names_of.setdefault(mask, []).append(name)
    lines = [" ".join(map(str, versions))]
    lines += [f"{mask:x} {' '.join(names)}" for mask, names in sorted(names_of.items())]
    return ("\n".join(lines) + "\n").encode()


def main() -> None:
    """Write or check the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the packaged table, write nothing")
    parser.add_argument("paths", nargs="+", type=Path, metavar="INTERPRETER_OR_LIBPYTHON")
    arguments = parser.parse_args()
    systems: set[OperatingSystem] = {system_of(open_binary(path).machine) for path in arguments.paths}
    if len(systems) != 1:
        sys.exit("the files are of several systems: each has a table of its own")
    target = DATA / FILES[systems.pop()]
    made = table(arguments.paths)
    if arguments.check:
        if gzip.decompress(target.read_bytes()) != made:
            sys.exit(f"{target}: differs from these interpreters")
        return
    target.write_bytes(gzip.compress(made, mtime=0))
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
