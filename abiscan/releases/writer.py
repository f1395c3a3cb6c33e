"""Writes builds to a release index file: the counterpart of `table.py`, used by the maker and `abiscan releases
add`."""

from __future__ import annotations

import json
import os
import re
import sys
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict, replace

from abiscan.releases.build import Build, ReleaseExport
from abiscan.releases.omission import RULE_VERSION, omission
from abiscan.releases.table import FORMAT_VERSION, MAGIC, PREAMBLE_SIZE, VtableWord

# Measured over all builds (docs/explanation/release-index.md): smaller blocks need more space, larger ones more time.
NAMES_A_BLOCK = 256
VTABLE_BYTES_A_BLOCK = 1 << 16


# Vtable lines are separated by blanks; compilers never use one in a name, but a damaged string table can contain one.
_WORD = re.compile(r"[^\s?]*[^\s?\d-][^\s?]*")


class BuildExports(Struct, frozen=True):
    """A build with everything that the index records of it.

    Attributes:
        exports: by mangled name.
        vtables: words by mangled name (`_ZTV...`).
        omitted: number of names that the rule leaves out, by reason.
    """

    build: Build
    exports: Mapping[str, ReleaseExport]
    vtables: Mapping[str, tuple[VtableWord, ...]]
    omitted: Mapping[str, int]


def pack(builds: Iterable[BuildExports]) -> bytes:
    """The bytes of an index file; equal builds in the same order give equal bytes.

    Args:
        builds: in the order of the file (version order, one architecture after the other); consumed one by one, since
            each has some hundred thousand names.
    """
    listed: list[Build] = []
    histories: dict[str, list[tuple[int, int]]] = {}
    states: dict[ReleaseExport, int] = {}
    vtables: dict[str, list[tuple[int, tuple[VtableWord, ...]]]] = {}
    omitted: dict[str, dict[str, int]] = {}
    for number, item in enumerate(builds):
        listed.append(item.build)
        for name, export in item.exports.items():
            histories.setdefault(name, []).append((number, states.setdefault(export, len(states))))
        for name, words in item.vtables.items():
            if any(isinstance(word, str) and not _WORD.fullmatch(word) for word in (name, *words)):
                continue
            vtables.setdefault(name, []).append((number, words))
        omitted[item.build.key] = dict(sorted(item.omitted.items()))
    states = _by_use(histories, states)
    records, numbers = _records(histories)
    file = _File()
    header = {
        "builds": [_fields(build) for build in listed],
        "rule_version": RULE_VERSION,
        "statistics": {"names": len(histories), "records": len(records), "vtables": len(vtables), "omitted": omitted},
        "states": file.add(_states(states)),
        "records": file.add(_record_section(records)),
        "record_width": 2 if len(records) <= 1 << 16 else 4,
        "names": _name_blocks(file, numbers, "H" if len(records) <= 1 << 16 else "I"),
        "vtables": _vtable_blocks(file, vtables),
    }
    return file.finish(header)


def own_names(item: BuildExports) -> BuildExports:
    """A build with only torch's own names, as in the file of the earlier releases."""
    exports = {name: export for name, export in item.exports.items() if omission(name) is None}
    return BuildExports(replace(item.build, own_names=True), exports, {}, item.omitted)


def write_index(path: Path, builds: Iterable[BuildExports]) -> None:
    """Write an index file atomically."""
    data = pack(builds)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    unfinished.write_bytes(data)
    unfinished.replace(path)


def _fields(build: Build) -> dict[str, object]:
    own = {"user"} if build.own_names else {"user", "own_names"}
    return {key: value for key, value in asdict(build).items() if key not in own}


class _File:
    """Consecutive sections. Offsets count from the first one, so the size of the header does not matter."""

    def __init__(self) -> None:
        self._sections: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> list[int]:
        packed = zlib.compress(data, 9)
        self._sections.append(packed)
        self._size += len(packed)
        return [self._size - len(packed), len(packed)]

    def finish(self, header: dict[str, object]) -> bytes:
        packed = zlib.compress(_json(header), 9)
        fields = (
            (FORMAT_VERSION, 4),
            (len(packed), 4),
            (zlib.crc32(packed), 4),
            (0, 4),
            (PREAMBLE_SIZE + len(packed) + self._size, 8),
        )
        preamble = MAGIC + b"".join(value.to_bytes(size, "little") for value, size in fields)
        return b"".join([preamble, packed, *self._sections])


def _by_use(histories: dict[str, list[tuple[int, int]]], states: dict[ReleaseExport, int]) -> dict[ReleaseExport, int]:
    """Renumber in place, most used first: small numbers take fewer bytes, and the order is deterministic."""
    uses = Counter(state for history in histories.values() for _build, state in history)
    ordered = sorted(states.items(), key=lambda item: (-uses[item[1]], str(item[0])))
    renumbered = {old: new for new, (_export, old) in enumerate(ordered)}
    for history in histories.values():
        history[:] = [(build, renumbered[state]) for build, state in history]
    return {export: new for new, (export, _old) in enumerate(ordered)}


def _records(histories: dict[str, list[tuple[int, int]]]) -> tuple[list[bytes], list[tuple[bytes, int]]]:
    """The distinct histories, most used first, and the number of each name, names sorted as bytes."""
    encoded = {name: _encode(history) for name, history in histories.items()}
    uses = Counter(encoded.values())
    records = sorted(uses, key=lambda record: (-uses[record], record))
    number = {record: i for i, record in enumerate(records)}
    names = [(name.encode("utf-8", "surrogateescape"), number[record]) for name, record in encoded.items()]
    # Names are separated by line breaks, which compilers and assemblers never use in a name.
    return records, sorted(pair for pair in names if b"\n" not in pair[0])


def _encode(history: list[tuple[int, int]]) -> bytes:
    """Runs of (builds skipped, builds in the run, state)."""
    data = bytearray()
    at = 0
    position = 0
    while position < len(history):
        build, state = history[position]
        run = 1
        while position + run < len(history) and history[position + run] == (build + run, state):
            run += 1
        for number in (build - at, run, state):
            _put_varint(data, number)
        at = build + run
        position += run
    return bytes(data)


def _record_section(records: list[bytes]) -> bytes:
    offsets = [0]
    for record in records:
        offsets.append(offsets[-1] + len(record))
    return len(records).to_bytes(4, "little") + _packed(offsets, "I") + b"".join(records)


def _states(states: dict[ReleaseExport, int]) -> bytes:
    sonames: dict[str, int] = {}
    rows = []
    for export in states:
        libraries = [sonames.setdefault(library, len(sonames)) for library in export.libraries]
        rows.append([libraries, export.kind.value, export.size, int(export.weak)])
    return _json({"libraries": list(sonames), "states": rows})


def _name_blocks(file: _File, numbers: list[tuple[bytes, int]], code: str) -> list[list[object]]:
    rows: list[list[object]] = []
    for start in range(0, len(numbers), NAMES_A_BLOCK):
        part = numbers[start : start + NAMES_A_BLOCK]
        text = b"\n".join(name for name, _number in part)
        data = len(part).to_bytes(4, "little") + _packed([number for _name, number in part], code) + text
        rows.append([part[0][0].decode("utf-8", "surrogateescape"), *file.add(data)])
    return rows


def _vtable_blocks(file: _File, vtables: dict[str, list[tuple[int, tuple[VtableWord, ...]]]]) -> list[list[object]]:
    rows: list[list[object]] = []
    lines: list[bytes] = []
    first = ""

    def flush() -> None:
        if lines:
            rows.append([first, *file.add(b"\n" + b"\n".join(lines) + b"\n")])
            lines.clear()

    for name, tables in sorted(vtables.items(), key=lambda item: item[0].encode("utf-8", "surrogateescape")):
        if sum(map(len, lines)) > VTABLE_BYTES_A_BLOCK:
            flush()
        first = first if lines else name
        lines.append(_vtable_line(name, tables).encode("utf-8", "surrogateescape"))
    flush()
    return rows


def _vtable_line(name: str, tables: list[tuple[int, tuple[VtableWord, ...]]]) -> str:
    sequences: dict[tuple[VtableWord, ...], int] = {}
    runs: list[list[int]] = []
    for build, words in tables:
        number = sequences.setdefault(words, len(sequences))
        if runs and runs[-1][2] == number and runs[-1][0] + runs[-1][1] == build:
            runs[-1][1] += 1
        else:
            runs.append([build, 1, number])
    listed = ",".join(f"{start}:{count}:{number}" for start, count, number in runs)
    texts = [" ".join("?" if word is None else str(word) for word in words) for words in sequences]
    return "\t".join([name, listed, *texts])


def _put_varint(data: bytearray, value: int) -> None:
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)


def _packed(values: list[int], code: str) -> bytes:
    packed = array(code, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
