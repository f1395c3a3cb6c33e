"""One release index file, read through a memory map: nothing is unpacked but the blocks a query touches.

The layout is in docs/release-index.md; `writer.py` is its other half. Integers are little-endian.
"""

from __future__ import annotations

import os
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from abiscan.errors import UnreadableFile
from abiscan.libtorch.releases.build import Build, ExportKind, ReleaseExport

MAGIC = b"\x89ABIREL\n"
FORMAT_VERSION = 1
PREAMBLE_SIZE = 32
# No block of a sound file unpacks to more than this (the writer cuts them far smaller): a bomb stops here.
MAX_UNPACKED = 1 << 26
# Blocks kept unpacked, some 50 KB each.
_KEPT_BLOCKS = 256

# A word of a vtable: the mangled name of the function or typeinfo it points to; a number where it holds no address
# (offset to top, virtual base offset, 0 for a function that was never emitted); None where it points to something
# without a symbol.
VtableWord = str | int | None

Section = tuple[int, int]


class ReleaseTable:
    """An open index file.

    Attributes:
        path: for messages.
        builds: in version order, one architecture after the other.
        statistics: counts that the maker recorded (names, and omitted names by reason).

    Raises:
        UnreadableFile: no index file, a damaged one, or one of a later format.
    """

    def __init__(self, path: Path, *, user: bool = False) -> None:
        self.path = path
        self._buffer = _map(path)
        header = self._read_header()
        try:
            self.builds: tuple[Build, ...] = tuple(_build(fields, user) for fields in header["builds"])
            self.rule_version: int = header["rule_version"]
            self.statistics: dict[str, Any] = header["statistics"]
            self._states_section: Section = _section(header["states"])
            self._records_section: Section = _section(header["records"])
            self._width: Literal["H", "I"] = "H" if header["record_width"] == 2 else "I"
            self._names = _Blocks(header["names"])
            self._vtables = _Blocks(header["vtables"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged("its header lacks a field") from error
        self._unpacked: dict[int, bytes] = {}

    # --- queries ------------------------------------------------------------------------------------------------

    def find(self, names: Iterable[bytes]) -> dict[bytes, int]:
        """Record numbers of those names that the file holds."""
        found: dict[bytes, int] = {}
        block = -1
        data, text, ids = b"", 0, memoryview(b"").cast("H")
        # In sorted order each block is unpacked once.
        for name in sorted(names):
            at = self._names.block_of(name)
            if at < 0:
                continue
            if at != block:
                block = at
                data, text, ids = self._name_block(at)
            position = data.find(b"\n" + name + b"\n", text)
            if position >= 0 and name:
                found[name] = ids[data.count(b"\n", text, position)]
        return found

    def with_prefix(self, prefix: bytes, limit: int) -> list[tuple[bytes, int]]:
        """Names that start with `prefix` and their record numbers, sorted, at most `limit`."""
        found: list[tuple[bytes, int]] = []
        at = max(self._names.block_of(prefix), 0)
        while at < len(self._names) and len(found) < limit:
            if self._names.first[at] > prefix and not self._names.first[at].startswith(prefix):
                break
            data, text, ids = self._name_block(at)
            position = data.find(b"\n" + prefix, text)
            if position >= 0:
                index = data.count(b"\n", text, position)
                for name in data[position + 1 : -1].split(b"\n"):
                    if not name.startswith(prefix) or len(found) >= limit:
                        break
                    found.append((name, ids[index]))
                    index += 1
            at += 1
        return found

    def record(self, number: int) -> tuple[ReleaseExport | None, ...]:
        """What each of `builds` exports under the names of this record."""
        offsets, data = self._records
        states = self._states
        exports: list[ReleaseExport | None] = [None] * len(self.builds)
        try:
            at, end = offsets[number], offsets[number + 1]
            build = 0
            while at < end:
                skip, at = _varint(data, at)
                run, at = _varint(data, at)
                state, at = _varint(data, at)
                build += skip
                if build + run > len(exports):
                    raise IndexError
                exports[build : build + run] = [states[state]] * run
                build += run
        except IndexError:
            raise self._damaged(f"record {number} is not what it should be") from None
        return tuple(exports)

    def vtable(self, name: str) -> tuple[tuple[VtableWord, ...] | None, ...] | None:
        """The words of vtable `name` (`_ZTV...`) in each of `builds`; None for a name without a vtable."""
        raw = name.encode("utf-8", "surrogateescape")
        at = self._vtables.block_of(raw)
        if at < 0 or not raw:
            return None
        data = self._unpack(self._vtables.sections[at])
        position = data.find(b"\n" + raw + b"\t")
        if position < 0:
            return None
        return self._vtable_line(data[position + 1 : data.find(b"\n", position + 1)])[1]

    # --- everything, for who writes another file ----------------------------------------------------------------

    def names(self) -> Iterator[tuple[str, int]]:
        """Every name with its record number, sorted as bytes."""
        for at in range(len(self._names)):
            data, text, ids = self._name_block(at)
            names = data[text + 1 : -1].split(b"\n")
            if len(names) != len(ids) or names[0] != self._names.first[at] or names != sorted(names):
                raise self._damaged(f"name block {at} is not what it should be")
            for name, number in zip(names, ids, strict=True):
                yield name.decode("utf-8", "surrogateescape"), number

    def vtables(self) -> Iterator[tuple[str, tuple[tuple[VtableWord, ...] | None, ...]]]:
        """Every vtable with its words in each of `builds`."""
        for section in self._vtables.sections:
            for line in self._unpack(section)[1:-1].split(b"\n"):
                yield self._vtable_line(line)

    def verify(self) -> int:
        """Unpack and read everything, so that any damage is found; returns the number of names."""
        numbers = [number for _name, number in self.names()]
        for number in set(numbers):
            self.record(number)
        for _vtable in self.vtables():
            pass
        return len(numbers)

    def _vtable_line(self, line: bytes) -> tuple[str, tuple[tuple[VtableWord, ...] | None, ...]]:
        name, runs, *sequences = line.decode("utf-8", "surrogateescape").split("\t")
        tables = [tuple(_word(word) for word in sequence.split(" ")) for sequence in sequences]
        result: list[tuple[VtableWord, ...] | None] = [None] * len(self.builds)
        try:
            for run in runs.split(","):
                start, count, number = map(int, run.split(":"))
                for build in range(start, start + count):
                    result[build] = tables[number]
        except (ValueError, IndexError):
            raise self._damaged(f"the vtable entry of {name} is not what it should be") from None
        return name, tuple(result)

    # --- the file -----------------------------------------------------------------------------------------------

    def _read_header(self) -> dict[str, Any]:
        buffer = self._buffer
        if bytes(buffer[: len(MAGIC)]) != MAGIC:
            raise UnreadableFile(
                str(self.path), "not a release index of abiscan: install abiscan, or add the build, again"
            )
        if len(buffer) < PREAMBLE_SIZE:
            raise self._damaged("it is truncated")
        version = _u32(buffer, 8)
        if version != FORMAT_VERSION:
            age = "later" if version > FORMAT_VERSION else "unknown"
            raise UnreadableFile(
                str(self.path),
                f"a release index of a {age} format ({version}; this abiscan reads {FORMAT_VERSION}): upgrade abiscan",
            )
        size = _u32(buffer, 12)
        if int.from_bytes(buffer[24:32], "little") != len(buffer):
            raise self._damaged("its length is not the one it states")
        packed = bytes(buffer[PREAMBLE_SIZE : PREAMBLE_SIZE + size])
        self._base = PREAMBLE_SIZE + size
        if len(packed) != size or zlib.crc32(packed) != _u32(buffer, 16):
            raise self._damaged("its header's checksum does not match")
        import json

        try:
            header = json.loads(_inflate(packed))
        except (ValueError, zlib.error) as error:
            raise self._damaged("its header cannot be read") from error
        if not isinstance(header, dict):
            raise self._damaged("its header is not an object")
        return header

    def _damaged(self, what: str) -> UnreadableFile:
        return UnreadableFile(
            str(self.path), f"damaged release index: {what}; install abiscan, or add the build, again"
        )

    def _unpack(self, section: Section) -> bytes:
        offset, size = section
        data = self._unpacked.get(offset)
        if data is None:
            try:
                # Adler-32 at the end of the stream covers the block; no second checksum is kept.
                data = _inflate(bytes(self._buffer[self._base + offset : self._base + offset + size]))
            except zlib.error as error:
                raise self._damaged(f"the block at byte {self._base + offset} cannot be unpacked") from error
            if len(self._unpacked) >= _KEPT_BLOCKS:
                self._unpacked.clear()
            self._unpacked[offset] = data
        return data

    def _name_block(self, at: int) -> tuple[bytes, int, memoryview]:
        """(data, where its text starts, record numbers) of a block."""
        data = self._unpack(self._names.sections[at])
        count = _u32(memoryview(data), 0) if len(data) >= 4 else 0
        text = 4 + count * (2 if self._width == "H" else 4)
        if not count or text >= len(data) or data[text] != 10 or data[-1] != 10:
            raise self._damaged(f"name block {at} is not what it should be")
        return data, text, _integers(memoryview(data)[4:text], self._width)

    @cached_property
    def _records(self) -> tuple[memoryview, bytes]:
        data = self._unpack(self._records_section)
        try:
            count = _u32(memoryview(data), 0)
            start = 4 + 4 * (count + 1)
            return _integers(memoryview(data)[4:start], "I"), data[start:]
        except (IndexError, ValueError, TypeError) as error:
            raise self._damaged("its records cannot be read") from error

    @cached_property
    def _states(self) -> tuple[ReleaseExport, ...]:
        import json

        try:
            raw = json.loads(self._unpack(self._states_section))
            sonames = raw["libraries"]
            return tuple(
                ReleaseExport(
                    libraries=tuple(sonames[i] for i in libraries), kind=ExportKind(kind), size=size, weak=bool(weak)
                )
                for libraries, kind, size, weak in raw["states"]
            )
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise self._damaged("its states cannot be read") from error


class _Blocks:
    """A directory of blocks: the first name of each and where it lies."""

    def __init__(self, rows: list[list[Any]]) -> None:
        self.first = [str(row[0]).encode("utf-8", "surrogateescape") for row in rows]
        self.sections: list[Section] = [_section(row[1:3]) for row in rows]

    def __len__(self) -> int:
        return len(self.first)

    def block_of(self, name: bytes) -> int:
        """The only block that can hold `name`; -1 where none can."""
        return bisect_right(self.first, name) - 1


def _map(path: Path) -> memoryview:
    import mmap

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableFile(str(path), f"the release index cannot be opened: {reason}") from error
    try:
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        # ValueError: an empty file cannot be mapped.
        raise UnreadableFile(str(path), "the release index is empty or cannot be mapped; install it again") from error
    finally:
        os.close(descriptor)


def _inflate(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(packed, MAX_UNPACKED)
    if not unpacker.eof:
        raise zlib.error("incomplete or oversized block")
    return data


def _integers(view: memoryview, code: Literal["H", "I"]) -> memoryview[int]:
    if sys.byteorder == "little":
        return view.cast(code)
    swapped = array(code, view.tobytes())
    swapped.byteswap()
    return memoryview(swapped)


def _u32(view: memoryview, offset: int) -> int:
    return int.from_bytes(view[offset : offset + 4], "little")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """LEB128, as DWARF and protobuf have it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _section(pair: Any) -> Section:
    offset, size = pair
    return int(offset), int(size)


def _word(text: str) -> VtableWord:
    if text == "?":
        return None
    if text.lstrip("-").isdigit():
        return int(text)
    return text


def _build(fields: dict[str, Any], user: bool) -> Build:
    values = {key: fields[key] for key in Build.__dataclass_fields__ if key not in ("libraries", "user")}
    return Build(**values, libraries=tuple(fields["libraries"]), user=user)
