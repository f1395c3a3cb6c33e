"""The layout index: how the records of torch lay in each release (docs/layouts.md has the format).

It is asked only where a file takes something of torch that may concern a record whose layout changed, so it is a file
beside the release index, opened late.
"""

from __future__ import annotations

import json
import os
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from abiscan.data import data_file
from abiscan.errors import UnreadableFile
from abiscan.releases.layout import Field, Layout, change_of

MAGIC = b"\x89ABILAY\n"
FORMAT_VERSION = 1
SHIPPED = data_file("layouts.idx")
SUFFIX = ".layouts"
# The layouts are those of this architecture: the wheels of others carry no headers of their own.
MACHINE = "x86_64"
_PREAMBLE = 16
_MAX_UNPACKED = 1 << 26
_RECORDS_A_BLOCK = 64


class Trace(Struct, frozen=True):
    """What an import tells of the inline functions that were compiled into its importer.

    Attributes:
        fields: record -> the fields that every inline function of the headers which calls the import reads.
        only_inline: the import is not public: no other code may call it.
    """

    fields: Mapping[str, tuple[str, ...]]
    only_inline: bool


class LayoutTable:
    """An open layout index.

    Attributes:
        releases: oldest first.
        read_from: release -> the one of the same headers whose layouts stand for it; itself where its own were read.

    Raises:
        UnreadableFile: no layout index, a damaged one, or one of a later format.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            with open(self.path, "rb") as file:
                data = file.read()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UnreadableFile(self.path, f"the layout index cannot be opened: {reason}") from error
        if data[:8] != MAGIC or int.from_bytes(data[8:12], "little") != FORMAT_VERSION:
            raise UnreadableFile(self.path, "no layout index that this abiscan reads: install abiscan again")
        end = _PREAMBLE + int.from_bytes(data[12:16], "little")
        self._data = data[end:]
        try:
            header = json.loads(self._unpacked(data[_PREAMBLE:end]))
            self.releases: tuple[str, ...] = tuple(header["releases"])
            self.read_from: Mapping[str, str] = dict(zip(header["releases"], header["read_from"], strict=True))
            self._changing: tuple[int, int] = tuple(header["changing"])
            self._traces: tuple[int, int] = tuple(header["traces"])
            self._blocks: list[tuple[str, int, int]] = [(str(n), int(a), int(b)) for n, a, b in header["records"]]
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged() from error
        self._first = [name for name, _offset, _size in self._blocks]
        self._known: dict[str, Mapping[str, Layout]] = {}

    @cached_property
    def changing(self) -> Mapping[str, str]:
        """Records that have more than one layout: qualified name -> their numbers as text (`number`)."""
        return dict(line.split("\t", 1) for line in self._section(self._changing).split("\n") if line)

    def number(self, record: str, release: str) -> int:
        """The number of a changing record's layout in a release, the same where no byte differs, what it holds by value
        included; 0 where it is not known."""
        try:
            given = zip(self.releases, self.changing[record].split(" "), strict=True)
            return next((int(number) for each, number in given if each == release), 0)
        except ValueError as error:
            raise self._damaged() from error

    @cached_property
    def _trace_lines(self) -> Mapping[str, str]:
        return dict(line.split("\t", 1) for line in self._section(self._traces).split("\n") if line)

    def trace(self, name: str) -> Trace | None:
        """What the import of a mangled name tells; None where it tells nothing."""
        line = self._trace_lines.get(name)
        if line is None:
            return None
        only_inline, *reads = line.split("\t")
        return Trace({record: tuple(rest) for record, *rest in (each.split(" ") for each in reads)}, only_inline == "1")

    @property
    def traces(self) -> Mapping[str, Trace]:
        """All of them, by mangled name."""
        found = ((name, self.trace(name)) for name in self._trace_lines)
        return {name: trace for name, trace in found if trace is not None}

    @cached_property
    def by_last_name(self) -> Mapping[str, tuple[str, ...]]:
        """Unqualified name without template arguments -> the changing records of that name."""
        found: dict[str, tuple[str, ...]] = {}
        for record in self.changing:
            last = record.partition("<")[0].rpartition("::")[2]
            found[last] = (*found.get(last, ()), record)
        return found

    def layout(self, record: str, release: str) -> Layout | None:
        """The layout of a record in a release; None where it is not known."""
        return self._layouts_of(record).get(self.read_from.get(release, ""))

    def records(self) -> Iterator[tuple[str, Mapping[str, Layout]]]:
        """Every record with its layouts by release, sorted by name."""
        for _first, offset, size in self._blocks:
            for line in self._section((offset, size)).splitlines():
                yield self._record(line)

    def _layouts_of(self, record: str) -> Mapping[str, Layout]:
        known = self._known.get(record)
        if known is None:
            at = bisect_right(self._first, record) - 1
            if at >= 0:
                _first, offset, size = self._blocks[at]
                prefix = record + "\t"
                line = next((row for row in self._section((offset, size)).splitlines() if row.startswith(prefix)), None)
                known = self._record(line)[1] if line is not None else {}
            known = self._known[record] = known or {}
        return known

    def _record(self, line: str) -> tuple[str, Mapping[str, Layout]]:
        name, numbers, *layouts = line.split("\t")
        read = [_layout(text) for text in layouts]
        try:
            given = zip(self.releases, numbers.split(" "), strict=True)
            return name, {release: read[int(number) - 1] for release, number in given if int(number)}
        except (IndexError, ValueError) as error:
            raise self._damaged() from error

    def _section(self, section: tuple[int, int]) -> str:
        offset, size = section
        return self._unpacked(self._data[offset : offset + size])

    def _unpacked(self, packed: bytes) -> str:
        unpacker = zlib.decompressobj()
        try:
            data = unpacker.decompress(packed, _MAX_UNPACKED)
            if not unpacker.eof:
                raise self._damaged()
            return data.decode("utf-8")
        except (zlib.error, UnicodeDecodeError) as error:
            raise self._damaged() from error

    def _damaged(self) -> UnreadableFile:
        return UnreadableFile(self.path, "a damaged layout index: install abiscan again")


def _layout(text: str) -> Layout:
    sizes, *fields = text.split(";")
    size, _, align = sizes.partition(" ")
    return Layout(int(size), int(align), tuple(_field(field) for field in fields))


def _field(text: str) -> Field:
    offset, name, record = text.split("|")
    return Field(int(offset), name, record)


# --- writing ----------------------------------------------------------------------------------------------------


def pack(
    layouts: Mapping[str, Mapping[str, Layout]], read_from: Mapping[str, str], traces: Mapping[str, Trace]
) -> bytes:
    """The bytes of a layout index; the same layouts always give the same bytes.

    Args:
        layouts: release -> record -> layout, of every release whose headers were read.
        read_from: as `LayoutTable.read_from`, in the order of the releases.
    """
    releases = list(read_from)
    records = sorted({record for each in layouts.values() for record in each})
    numbers = _numbers(records, [layouts[read_from[release]] for release in releases])
    changing = [record for record in records if len({number for number in numbers[record] if number}) > 1]
    body = bytearray()

    def add(text: str) -> tuple[int, int]:
        packed = zlib.compress(text.encode(), 9)
        body.extend(packed)
        return len(body) - len(packed), len(packed)

    blocks = []
    for at in range(0, len(records), _RECORDS_A_BLOCK):
        block = records[at : at + _RECORDS_A_BLOCK]
        lines = [_line(record, [layouts[read_from[release]].get(record) for release in releases]) for record in block]
        blocks.append((block[0], *add("\n".join(lines))))
    header = {
        "releases": releases,
        "read_from": list(read_from.values()),
        "changing": add("\n".join(f"{record}\t{' '.join(map(str, numbers[record]))}" for record in changing)),
        "traces": add("\n".join(_trace_line(name, trace) for name, trace in sorted(traces.items()))),
        "records": blocks,
    }
    packed = zlib.compress(json.dumps(header, separators=(",", ":")).encode(), 9)
    return MAGIC + FORMAT_VERSION.to_bytes(4, "little") + len(packed).to_bytes(4, "little") + packed + bytes(body)


def _numbers(records: Iterable[str], builds: Sequence[Mapping[str, Layout]]) -> dict[str, list[int]]:
    """For each record the number of its layout in each build, 0 for none: equal where no byte means something else."""
    found = {}
    for record in records:
        shown: list[int] = []
        given: list[Mapping[str, Layout]] = []
        for build in builds:
            if record not in build:
                shown.append(0)
                continue
            same = next((n for n, old in enumerate(given, 1) if change_of(record, old.get, build.get) is None), 0)
            if not same:
                given.append(build)
            shown.append(same or len(given))
        found[record] = shown
    return found


def _line(record: str, layouts: Sequence[Layout | None]) -> str:
    distinct = list(dict.fromkeys(layout for layout in layouts if layout is not None))
    numbers = " ".join("0" if layout is None else str(distinct.index(layout) + 1) for layout in layouts)
    texts = [
        ";".join([f"{layout.size} {layout.align}", *(f"{f.offset}|{f.name}|{f.record}" for f in layout.fields)])
        for layout in distinct
    ]
    return "\t".join([record, numbers, *texts])


def _trace_line(name: str, trace: Trace) -> str:
    reads = [" ".join([record, *fields]) for record, fields in sorted(trace.fields.items())]
    return "\t".join([name, str(int(trace.only_inline)), *reads])
