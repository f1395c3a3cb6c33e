"""The layout index: layouts of torch records in each release (docs/explanation/layouts.md has the format).

Only files that may use a record with a changed layout need it, so it is separate from the release index and opened
late.
"""

from __future__ import annotations

import os
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec
from msgspec import Struct

from abiscan.data import data_file
from abiscan.errors import UnreadableFile, os_error_words
from abiscan.releases.assertions import Assertion
from abiscan.releases.layout import Field, Layout, change_of
from abiscan.releases.table import inflate

MAGIC = b"\x89ABILAY\n"
FORMAT_VERSION = 2
SHIPPED = data_file("layouts.idx")
SUFFIX = ".layouts"
# Architecture of the layouts; `open_layouts` has others.
MACHINE = "x86_64"
_PREAMBLE = 16
_RECORDS_A_BLOCK = 64


class Trace(Struct, frozen=True):
    """What the headers show about the code that imports a function.

    Attributes:
        fields: record -> the fields that every inline function in the headers that calls the import reads.
        only_inline: whether the import is not public, so no other code may call it.
        result: the record that it returns by value, in memory of its caller; empty for none.
    """

    fields: Mapping[str, tuple[str, ...]]
    only_inline: bool
    result: str = ""


class LayoutTable:
    """An open layout index.

    Attributes:
        releases: oldest first.
        read_from: release -> the release with the same headers whose layouts are used; itself if its own were read,
            empty if only its assertions are known.
        data: the bytes of the file.
        compared: cached results of `layout.is_moved` by record, fields and both numbers.

    Args:
        data: its contents, if it is not a file.

    Raises:
        UnreadableFile: it is not a layout index, is damaged, or has a later format.
    """

    def __init__(self, path: str | os.PathLike[str], data: bytes | None = None) -> None:
        self.path = os.fspath(path)
        if data is None:
            try:
                with open(self.path, "rb") as file:
                    data = file.read()
            except OSError as error:
                reason = os_error_words(error)
                raise UnreadableFile(self.path, f"the layout index cannot be opened: {reason}") from error
        if data[:8] != MAGIC or int.from_bytes(data[8:12], "little") != FORMAT_VERSION:
            raise UnreadableFile(self.path, "no layout index that this abiscan reads: install abiscan again")
        self.data = data
        end = _PREAMBLE + int.from_bytes(data[12:16], "little")
        self._data = data[end:]
        try:
            header = msgspec.json.decode(self._unpacked(data[_PREAMBLE:end]))
            self.releases: tuple[str, ...] = tuple(header["releases"])
            self.read_from: Mapping[str, str] = dict(zip(header["releases"], header["read_from"], strict=True))
            self._changing: tuple[int, int] = tuple(header["changing"])
            self._assertions: tuple[int, int] = tuple(header["assertions"])
            self._traces: tuple[int, int] = tuple(header["traces"])
            self._blocks: list[tuple[str, int, int]] = [(str(n), int(a), int(b)) for n, a, b in header["records"]]
        except (KeyError, TypeError, ValueError, msgspec.DecodeError) as error:
            raise self._damaged() from error
        self._first = [name for name, _offset, _size in self._blocks]
        self._known: dict[str, Mapping[str, Layout]] = {}
        self.compared: dict[tuple[str, tuple[str, ...], int, int], bool] = {}
        self._numbers: dict[str, Mapping[str, int]] = {}
        self._asserted: dict[tuple[str, int | None], list[tuple[Assertion, int]]] = {}

    @cached_property
    def changing(self) -> Mapping[str, str]:
        """Records with more than one layout: qualified name -> their numbers as text (`number`)."""
        return self._changing_lines()

    @property
    def headers(self) -> LayoutTable:
        """The table with the assertions of the headers."""
        return self

    def _changing_lines(self) -> Mapping[str, str]:
        return self._lines_by_name(self._changing)

    def number(self, record: str, release: str) -> int:
        """The number of a changing record's layout in a release: equal if no byte differs, including those of records
        that it contains by value; 0 if unknown."""
        numbers = self._numbers.get(record)
        if numbers is None:
            try:
                given = map(int, self.changing[record].split(" "))
                numbers = self._numbers[record] = dict(zip(self.releases, given, strict=True))
            except ValueError as error:
                raise self._damaged() from error
        return numbers.get(release, 0)

    @cached_property
    def _trace_lines(self) -> Mapping[str, str]:
        return self._lines_by_name(self._traces)

    def trace(self, name: str) -> Trace | None:
        """The trace of an import by mangled name; None if there is none."""
        line = self._trace_lines.get(name)
        if line is None:
            return None
        only_inline, result, *reads = line.split("\t")
        fields = {record: tuple(rest) for record, *rest in (each.split(" ") for each in reads)}
        return Trace(fields, only_inline == "1", result)

    @property
    def traces(self) -> Mapping[str, Trace]:
        """All traces, by mangled name."""
        found = ((name, self.trace(name)) for name in self._trace_lines)
        return {name: trace for name, trace in found if trace is not None}

    @cached_property
    def _assertion_lines(self) -> Mapping[str, str]:
        return self._lines_by_name(self._assertions)

    def asserting(self, seen: Assertion) -> int:
        """A bit for each release whose headers have the assertion of a file (`releases_in`); 0 if no header has it."""
        found = 0
        for each, releases in self._assertions_of(seen.header, seen.condition):
            if each.is_at(seen):
                found |= releases
        return found

    def releases_in(self, bits: int) -> tuple[str, ...]:
        """The releases of these bits; the lowest bit is the oldest."""
        return tuple(release for at, release in enumerate(self.releases) if bits >> at & 1)

    @property
    def assertions(self) -> Mapping[str, tuple[Assertion, ...]]:
        """All assertions, by release."""
        found: dict[str, list[Assertion]] = {release: [] for release in self.releases}
        for header in self._assertion_lines:
            for each, bits in self._assertions_of(header):
                for release in self.releases_in(bits):
                    found[release].append(each)
        return {release: tuple(each) for release, each in found.items()}

    def _assertions_of(self, header: str, condition: int | None = None) -> Sequence[tuple[Assertion, int]]:
        """Assertions of a header, optionally with one condition, and the bits of the releases that have each."""
        known = self._asserted.get((header, condition))
        if known is None:
            known = self._asserted[header, condition] = []
            line = self._assertion_lines.get(header)
            # A header has hundreds, of which a file uses one or two.
            marked = "" if condition is None else f" {condition:x} "
            for each in line.split("\t") if line is not None else ():
                if marked not in each:
                    continue
                try:
                    first, last, tested, bits = (int(part, 16) for part in each.split(" "))
                except ValueError as error:
                    raise self._damaged() from error
                if condition in (None, tested):
                    known.append((Assertion(header, first, last, tested), bits))
        return known

    @cached_property
    def by_last_name(self) -> Mapping[str, tuple[str, ...]]:
        """Unqualified name without template arguments -> changing records of that name."""
        found: dict[str, tuple[str, ...]] = {}
        for record in self.changing:
            last = record.partition("<")[0].rpartition("::")[2]
            found[last] = (*found.get(last, ()), record)
        return found

    def layout(self, record: str, release: str) -> Layout | None:
        """The layout of a record in a release; None if unknown."""
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

    def _lines_by_name(self, section: tuple[int, int]) -> Mapping[str, str]:
        return dict(line.split("\t", 1) for line in self._section(section).split("\n") if line)

    def _section(self, section: tuple[int, int]) -> str:
        offset, size = section
        return self._unpacked(self._data[offset : offset + size])

    def _unpacked(self, packed: bytes) -> str:
        try:
            return inflate(packed).decode("utf-8")
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
    layouts: Mapping[str, Mapping[str, Layout]],
    read_from: Mapping[str, str],
    traces: Mapping[str, Trace],
    assertions: Mapping[str, Iterable[Assertion]],
    base: LayoutTable | None = None,
) -> bytes:
    """The bytes of a layout index; equal layouts give equal bytes.

    Args:
        layouts: release -> record -> layout, for every release whose headers were read.
        read_from: as `LayoutTable.read_from`, in release order.
        assertions: release -> assertions of its headers.
        base: only differences from this table are written.
    """
    releases = list(read_from)
    records = sorted({record for each in layouts.values() for record in each})
    numbers = _numbers(records, [layouts.get(read_from[release], {}) for release in releases])
    changing = [record for record in records if len({number for number in numbers[record] if number}) > 1]
    if base is not None:
        numbers = _differing(numbers, releases, base)
        changing = list(numbers)
        records = [
            record
            for record in sorted({*records, *dict(base.records())})
            if any(layouts.get(read_from[at], {}).get(record) != base.layout(record, at) for at in releases)
        ]
    body = bytearray()

    def add(text: str) -> tuple[int, int]:
        packed = zlib.compress(text.encode(), 9)
        body.extend(packed)
        return len(body) - len(packed), len(packed)

    blocks = []
    for at in range(0, len(records), _RECORDS_A_BLOCK):
        block = records[at : at + _RECORDS_A_BLOCK]
        lines = [
            _line(record, [layouts.get(read_from[release], {}).get(record) for release in releases]) for record in block
        ]
        blocks.append((block[0], *add("\n".join(lines))))
    header = {
        "releases": releases,
        "read_from": list(read_from.values()),
        "changing": add("\n".join(f"{record}\t{' '.join(map(str, numbers[record]))}" for record in changing)),
        "assertions": add("\n".join(_assertion_lines(releases, assertions))),
        "traces": add("\n".join(_trace_lines(traces, frozenset(changing)))),
        "records": blocks,
    }
    import json

    packed = zlib.compress(json.dumps(header, separators=(",", ":")).encode(), 9)
    return MAGIC + FORMAT_VERSION.to_bytes(4, "little") + len(packed).to_bytes(4, "little") + packed + bytes(body)


def _differing(numbers: Mapping[str, list[int]], releases: Sequence[str], base: LayoutTable) -> dict[str, list[int]]:
    """Numbers of the records whose changes differ from those in another table, or that only one of both has; sorted."""
    absent = [0] * len(releases)
    found = {}
    for record in sorted({*numbers, *base.changing}):
        own = numbers.get(record, absent)
        known = [base.number(record, release) for release in releases] if record in base.changing else None
        if _partition(own) != _partition(known) if known is not None else len(set(own) - {0}) > 1:
            found[record] = own
    return found


def _partition(numbers: Sequence[int]) -> list[int]:
    """The equality pattern of the numbers: which are equal and which are 0."""
    order: dict[int, int] = {0: 0}
    return [order.setdefault(number, len(order)) for number in numbers]


def _numbers(records: Iterable[str], builds: Sequence[Mapping[str, Layout]]) -> dict[str, list[int]]:
    """For each record the number of its layout in each build, 0 for none; equal if no byte has another meaning."""
    found = {}
    unsteady = _unsteady(builds)
    for record in records:
        if record not in unsteady:
            found[record] = [int(record in build) for build in builds]
            continue
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


def _unsteady(builds: Iterable[Mapping[str, Layout]]) -> frozenset[str]:
    """Records with more than one layout, or that contain one with more."""
    held_by: dict[str, set[str]] = {}
    known: dict[str, Layout] = {}
    found = []
    for build in builds:
        for record, layout in build.items():
            if known.setdefault(record, layout) != layout:
                found.append(record)
            for field in layout.fields:
                if field.record:
                    held_by.setdefault(field.record, set()).add(record)
    reached: set[str] = set()
    while found:
        record = found.pop()
        if record not in reached:
            reached.add(record)
            found += held_by.get(record, ())
    return frozenset(reached)


def _line(record: str, layouts: Sequence[Layout | None]) -> str:
    distinct = list(dict.fromkeys(layout for layout in layouts if layout is not None))
    numbers = " ".join("0" if layout is None else str(distinct.index(layout) + 1) for layout in layouts)
    texts = [
        ";".join([f"{layout.size} {layout.align}", *(f"{f.offset}|{f.name}|{f.record}" for f in layout.fields)])
        for layout in distinct
    ]
    return "\t".join([record, numbers, *texts])


def _assertion_lines(releases: Sequence[str], assertions: Mapping[str, Iterable[Assertion]]) -> Iterator[str]:
    """A line for each header: its name, then `first last condition releases` of each assertion, in hexadecimal."""
    found: dict[tuple[str, int, int, int], int] = {}
    for at, release in enumerate(releases):
        for each in assertions.get(release, ()):
            key = (each.header, each.first, each.last, each.condition)
            found[key] = found.get(key, 0) | 1 << at
    lines: dict[str, list[str]] = {}
    for (header, *place), given in sorted(found.items()):
        lines.setdefault(header, [header]).append(" ".join(f"{number:x}" for number in (*place, given)))
    return ("\t".join(line) for line in lines.values())


def _trace_lines(traces: Mapping[str, Trace], changing: frozenset[str]) -> Iterator[str]:
    for name, trace in sorted(traces.items()):
        reads = [" ".join([record, *fields]) for record, fields in sorted(trace.fields.items()) if record in changing]
        result = trace.result if trace.result in changing else ""
        if reads or result:
            yield "\t".join([name, str(int(trace.only_inline)), result, *reads])
