"""Make abiscan/data/kernel_lists.json: the GPUs that each released CUDA build of torch was compiled for.

    python tools/build_kernel_lists.py DIRECTORY [--check]

DIRECTORY contains wheels of torch, or zip files with at least their `torch/lib/libtorch_python.so`, with the names of
wheels or `VERSION-MACHINE.zip`. The shipped file was made from the final releases 1.13.0 to 2.15.0 on the Python
Package Index with CUDA: 30 for x86_64, 7 for aarch64. A row is a build of the release index and the text of
`CUDA_ARCH_FLAGS` in that library (`abiscan.releases.kernel_lists`).
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from abiscan.data import data_file  # noqa: E402 - of this work tree, installed or not
from abiscan.releases.build import Build  # noqa: E402
from abiscan.releases.index import open_index  # noqa: E402
from abiscan.releases.kernel_lists import TABLE  # noqa: E402

_MEMBER = "torch/lib/libtorch_python.so"
# At least two entries, as no torch build has fewer. A compiler may move the start of a longer text into code, so there
# need not be a zero byte before it.
_LIST = re.compile(rb"(?:(?:sm|compute)_\d{2,3}[af]? )+(?:sm|compute)_\d{2,3}[af]?(?=\0)")


def list_in(libtorch_python: bytes) -> tuple[str, ...]:
    """The list in the bytes of a libtorch_python; empty if there is none or more than one."""
    found = {match[0] for match in _LIST.finditer(libtorch_python)}
    return tuple(found.pop().decode("ascii").split()) if len(found) == 1 else ()


def read_lists(directory: Path, builds: tuple[Build, ...]) -> dict[str, tuple[str, ...]]:
    """Key of a build -> its list, in the order of the builds."""
    files = {}
    for path in directory.iterdir():
        if path.suffix in {".zip", ".whl"}:
            version, _, rest = path.stem.removeprefix("torch-").partition("-")
            machine = "aarch64" if rest.endswith("aarch64") else "x86_64"
            files[version.partition("+")[0], machine] = path
    found = {}
    for build in builds:
        path = files.get((build.torch, build.machine))
        if path is None or build.cuda is None:
            continue
        with zipfile.ZipFile(path) as archive:
            listed = list_in(archive.read(_MEMBER))
        if not listed:
            raise SystemExit(f"{path}: no list of GPUs in {_MEMBER}, or several")
        found[build.key] = listed
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 where the shipped file differs")
    options = parser.parse_args()
    lists = read_lists(options.directory, open_index().builds())
    rows = (f"{msgspec.json.encode(k).decode()}: {msgspec.json.encode(v).decode()}" for k, v in lists.items())
    text = "{\n" + ",\n".join(rows) + "\n}\n"
    target = Path(data_file(TABLE))
    if options.check:
        if not target.exists() or target.read_text() != text:
            print(f"{target.name} is stale: run tools/build_kernel_lists.py", file=sys.stderr)
            return 1
        return 0
    target.write_text(text)
    print(f"{len(lists)} builds, {target.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
