"""Writes the release index as static files that a browser can search: docs/symbol-history.md.

Two sorted tables in parts. `names` has the symbols by qualified name (`at::Tensor::data_ptr`). `mangled` has mangled
names, each with the part of `names` that it is in. A part is JSON, compressed as zlib does. `index.json` has the first
name of each part, so that a search loads one part of a table, and for a mangled name one of the other.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this work tree, even if another is installed

from abiscan.mangling import parse  # noqa: E402
from abiscan.mangling.demangle import Demangler  # noqa: E402
from abiscan.model.versions import ReleaseRanges  # noqa: E402
from abiscan.releases import SymbolHistory, open_index  # noqa: E402

MACHINE = "x86_64"
LARGEST = 200_000
"""Maximum size of a file, in bytes."""
# Symbols in a part: a name takes about 18 bytes of a compressed part of `names`, and 10 of `mangled`.
_ROWS, _MANGLED_ROWS = 4000, 12000
# A part of `names` ends where a qualified name ends, unless there are more of it than this.
_SAME = 1000

Row = tuple[str, str, str, list[Any]]
"""Qualified name, mangled name, demangled name or "", history."""


def history_of(history: SymbolHistory) -> list[Any]:
    """The releases that export a symbol, as `abiscan explain` prints them, and those of each library."""
    library: dict[str, str] = {}
    for build, export in zip(history.builds, history.exports, strict=True):
        if export is not None:
            library[build.torch] = export.library
    versions = dict.fromkeys(build.torch for build in history.builds)
    return [
        history.exported_in.text(),
        [
            [name, ReleaseRanges.of_known(versions, lambda version, name=name: library.get(version) == name).text()]
            for name in dict.fromkeys(library.values())
        ],
    ]


def rows() -> Iterator[Row]:
    """Every symbol of torch, in any order."""
    demangler = Demangler()
    histories: dict[int, list[Any]] = {}
    for name, history in open_index(earlier=True).prefix("", MACHINE, limit=sys.maxsize).items():
        # Symbols with one history share a tuple.
        known = histories.get(id(history.exports))
        if known is None:
            known = histories[id(history.exports)] = history_of(history)
        cxx = parse(name)
        text = demangler.demangle(name).text
        yield cxx.qualified if cxx is not None else name, name, text or "", known


def parts(sorted_rows: Sequence[Row]) -> list[list[Row]]:
    """Rows of one qualified name stay together."""
    found: list[list[Row]] = [[]]
    for _key, same in groupby(sorted_rows, key=lambda row: row[0]):
        group = list(same)
        for start in range(0, len(group), _SAME):
            piece = group[start : start + _SAME]
            if found[-1] and len(found[-1]) + len(piece) > _ROWS:
                found.append([])
            found[-1] += piece
    return found


def write(folder: Path) -> None:
    """Write `index.json` and the parts.

    Raises:
        ValueError: a file is larger than `LARGEST`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = parts(sorted(rows()))
    for number, part in enumerate(names):
        # Each history once.
        histories: dict[str, int] = {}
        listed = [
            [key, mangled, text, histories.setdefault(json.dumps(history), len(histories))]
            for key, mangled, text, history in part
        ]
        _save(folder / f"names-{number}.bin", {"histories": [json.loads(each) for each in histories], "rows": listed})
    mangled = sorted((row[1], number) for number, part in enumerate(names) for row in part)
    chunks = [mangled[start : start + _MANGLED_ROWS] for start in range(0, len(mangled), _MANGLED_ROWS)]
    for number, chunk in enumerate(chunks):
        _save(folder / f"mangled-{number}.bin", {"rows": chunk})
    index = open_index(earlier=True)
    about = {
        "machine": MACHINE,
        "releases": list(dict.fromkeys(build.torch for build in index.builds(MACHINE))),
        "symbols": len(mangled),
        "names": [part[0][0] for part in names],
        "mangled": [chunk[0][0] for chunk in chunks],
    }
    (folder / "index.json").write_text(json.dumps(about, separators=(",", ":")), encoding="utf-8")
    for file in folder.iterdir():
        if file.stat().st_size > LARGEST:
            raise ValueError(f"{file.name} has {file.stat().st_size} bytes, more than {LARGEST}")


def _save(file: Path, value: object) -> None:
    file.write_bytes(zlib.compress(json.dumps(value, separators=(",", ":")).encode("ascii"), 9))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
