"""Make abiscan/data/torch_preloads.json.gz: the libraries that each release of torch opens by path when imported.

    python tools/build_torch_preloads.py DIRECTORY [--check]

DIRECTORY contains wheels of torch, or zip files with at least their `torch/__init__.py`, with the names of wheels or
`VERSION-MACHINE.zip`. The shipped file was made from the 30 final releases 1.13.0 to 2.15.0 on the Python Package Index
for x86_64. A row is a release and its sequence, which applies until the release of the next row
(`abiscan.environment.torch_init` defines a sequence). `python tools/generate.py` writes it into
`docs/explanation/loader.md`.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import zipfile
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from abiscan.data import data_file  # noqa: E402 - of this work tree, installed or not
from abiscan.environment.preload_sequence import Preloads, PreloadTable  # noqa: E402
from abiscan.environment.preloads import mark_of  # noqa: E402
from abiscan.environment.torch_init import read_preloads  # noqa: E402
from abiscan.model.versions import is_release, order  # noqa: E402

_MACHINE = "x86_64"


def read_releases(directory: Path) -> dict[str, tuple[Preloads, str]]:
    """Release -> its sequence and the hash of its source, oldest first."""
    found = {}
    for path in directory.iterdir():
        if path.suffix not in {".zip", ".whl"} or not path.stem.endswith(_MACHINE):
            continue
        version = path.stem.removeprefix("torch-").partition("-")[0].partition("+")[0]
        if is_release(version):
            with zipfile.ZipFile(path) as archive:
                source = archive.read("torch/__init__.py")
            found[version] = read_preloads(source.decode("utf-8")), mark_of(source)
    return dict(sorted(found.items(), key=lambda item: order(item[0]) or ()))


def table(releases: dict[str, tuple[Preloads, str]]) -> bytes:
    """The file's contents, uncompressed."""
    rows: list[tuple[str, Preloads]] = []
    sources = {}
    for version, (preloads, mark) in releases.items():
        if not rows or rows[-1][1] != preloads:
            rows.append((version, preloads))
        sources[mark] = rows[-1][0]
    return msgspec.json.format(msgspec.json.encode(PreloadTable(tuple(rows), sources)), indent=0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 where the shipped file differs")
    options = parser.parse_args()
    releases = read_releases(options.directory)
    if not releases:
        parser.error(f"{options.directory}: no torch for {_MACHINE} in it")
    text = table(releases)
    target = Path(data_file("torch_preloads.json.gz"))
    if options.check:
        if not target.exists() or gzip.decompress(target.read_bytes()) != text:
            print(f"{target.name} is stale: run tools/build_torch_preloads.py", file=sys.stderr)
            return 1
        return 0
    target.write_bytes(gzip.compress(text, mtime=0))
    print(f"{len(releases)} releases, {target.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
