"""One release index file, read through a memory map: only the blocks that a query needs are decompressed.

docs/explanation/release-index.md describes the format; `writer.py` writes it. Integers are little-endian.
"""

from __future__ import annotations

import os
import sys
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from abiscan.errors import UnreadableFile, os_error_words
from abiscan.filesystem import READ_ONLY
from abiscan.releases.build import Build, ExportKind, ReleaseExport
from abiscan.releases.omission import RULE_VERSION

if TYPE_CHECKING:
    from pathlib import Path


MAGIC = b"\x89ABIREL\n"
FORMAT_VERSION = 1
PREAMBLE_SIZE = 32
# Upper limit for a decompressed block, against decompression bombs; the writer's blocks are far smaller.
MAX_UNPACKED = 1 << 26
# Number of decompressed name blocks that are cached, about 45 KB each.
_KEPT_BLOCKS = 128
# Number of cached vtables: a file needs those of few classes, in every build.
_KEPT_VTABLES = 256
_STORED_FIELDS = frozenset(Build.__struct_fields__) - {"user"}

# A word of a vtable: the mangled name of the function or typeinfo it points to; a number if it is not an address
# (offset to top, virtual base offset, 0 for a function that was never emitted); None if its target has no symbol.
VtableWord = str | int | None

Section = tuple[int, int]


class ReleaseTable:
    """An open index file.

    Attributes:
        path: for messages.
        builds: in version order, one architecture after the other.
        statistics: counts recorded when it was made (names, and omitted names by reason).

    Raises:
        UnreadableFile: it is not an index file, is damaged, or has a later format.
    """

    def __init__(self, path: str | Path, *, user: bool = False) -> None:
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
        if self.rule_version != RULE_VERSION:
            # Absent names would be interpreted by another rule than that of the file.
            raise UnreadableFile(
                str(path), f"a release index made by another abiscan (rule {self.rule_version}): add the build again"
            )
        self._name_blocks: dict[int, tuple[list[bytes], memoryview[int]]] = {}
        self._made_states: dict[int, ReleaseExport] = {}
        self._found_vtables: dict[str, tuple[tuple[VtableWord, ...] | None, ...] | None] = {}

    # --- queries ------------------------------------------------------------------------------------------------

    def find(self, names: Iterable[bytes]) -> dict[bytes, int]:
        """Record numbers of the names that the file has."""
        found: dict[bytes, int] = {}
        block = -1
        listed: list[bytes] = []
        ids = memoryview(b"").cast("H")
        # In sorted order each block is decompressed once.
        for name in sorted(names):
            at = self._names.block_of(name)
            if at < 0:
                continue
            if at != block:
                block = at
                listed, ids = self._name_block(at)
            index = bisect_left(listed, name)
            if index < len(listed) and listed[index] == name:
                found[name] = ids[index]
        return found

    def with_prefix(self, prefix: bytes, limit: int) -> list[tuple[bytes, int]]:
        """Names that start with `prefix` and their record numbers, sorted, at most `limit`."""
        found: list[tuple[bytes, int]] = []
        for at in range(max(self._names.block_of(prefix), 0), len(self._names)):
            listed, ids = self._name_block(at)
            for index in range(bisect_left(listed, prefix), len(listed)):
                if len(found) >= limit or not listed[index].startswith(prefix):
                    return found
                found.append((listed[index], ids[index]))
        return found

    def record(self, number: int) -> tuple[ReleaseExport | None, ...]:
        """The exports of each of `builds` under the names of this record."""
        offsets, data = self._records
        exports: list[ReleaseExport | None] = [None] * len(self.builds)
        try:
            numbers = _varints(data[offsets[number] : offsets[number + 1]])
            build = 0
            for skip, run, state in zip(*[iter(numbers)] * 3, strict=True):
                build += skip
                if build + run > len(exports):
                    raise IndexError
                exports[build : build + run] = [self._state(state)] * run
                build += run
        except (IndexError, ValueError):
            raise self._damaged(f"record {number} is invalid") from None
        return tuple(exports)

    def vtable(self, name: str) -> tuple[tuple[VtableWord, ...] | None, ...] | None:
        """The words of vtable `name` (`_ZTV...`) in each of `builds`; None for a name without a vtable."""
        if name not in self._found_vtables:
            if len(self._found_vtables) >= _KEPT_VTABLES:
                self._found_vtables.clear()
            self._found_vtables[name] = self._find_vtable(name)
        return self._found_vtables[name]

    def _find_vtable(self, name: str) -> tuple[tuple[VtableWord, ...] | None, ...] | None:
        raw = name.encode("utf-8", "surrogateescape")
        at = self._vtables.block_of(raw)
        if at < 0 or not raw:
            return None
        data = self._inflated(self._vtables.sections[at])
        position = data.find(b"\n" + raw + b"\t")
        if position < 0:
            return None
        return self._vtable_line(data[position + 1 : data.find(b"\n", position + 1)])[1]

    # --- full contents, for writing another file ----------------------------------------------------------------

    def names(self) -> Iterator[tuple[str, int]]:
        """Every name with its record number, sorted as bytes."""
        for at in range(len(self._names)):
            names, ids = self._name_block(at)
            if names[0] != self._names.first[at] or names != sorted(names):
                raise self._damaged(f"name block {at} is not in order")
            for name, number in zip(names, ids, strict=True):
                yield name.decode("utf-8", "surrogateescape"), number

    def vtables(self) -> Iterator[tuple[str, tuple[tuple[VtableWord, ...] | None, ...]]]:
        """Every vtable with its words in each of `builds`."""
        for section in self._vtables.sections:
            for line in self._inflated(section)[1:-1].split(b"\n"):
                yield self._vtable_line(line)

    def verify(self) -> int:
        """Decompress and read everything to find any damage; returns the number of names."""
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
            raise self._damaged(f"the vtable entry of {name} is invalid") from None
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
            raise self._damaged("its length differs from the one in its header")
        packed = bytes(buffer[PREAMBLE_SIZE : PREAMBLE_SIZE + size])
        self._base = PREAMBLE_SIZE + size
        if len(packed) != size or zlib.crc32(packed) != _u32(buffer, 16):
            raise self._damaged("its header's checksum does not match")
        try:
            header = _decoded(inflate(packed))
        except (ValueError, zlib.error) as error:
            raise self._damaged("its header cannot be read") from error
        if not isinstance(header, dict):
            raise self._damaged("its header is not an object")
        return header

    def _damaged(self, what: str) -> UnreadableFile:
        return UnreadableFile(
            str(self.path), f"damaged release index: {what}; install abiscan, or add the build, again"
        )

    def _inflated(self, section: Section) -> bytes:
        offset, size = section
        try:
            start = self._base + offset
            # The Adler-32 at the end of the stream covers the block; there is no second checksum.
            return inflate(bytes(self._buffer[start : start + size]))
        except (TypeError, zlib.error) as error:
            raise self._damaged(f"the block at byte {offset} of its blocks cannot be decompressed") from error

    def _name_block(self, at: int) -> tuple[list[bytes], memoryview[int]]:
        """The sorted names of a block and their record numbers."""
        block = self._name_blocks.get(at)
        if block is not None:
            return block
        data = self._inflated(self._names.sections[at])
        count = _u32(memoryview(data), 0)
        text = 4 + count * (2 if self._width == "H" else 4)
        names = data[text:].split(b"\n")
        if not count or len(names) != count:
            raise self._damaged(f"name block {at} is invalid")
        if len(self._name_blocks) >= _KEPT_BLOCKS:
            self._name_blocks.clear()
        block = self._name_blocks[at] = names, _integers(memoryview(data[4:text]), self._width)
        return block

    @cached_property
    def _records(self) -> tuple[memoryview, bytes]:
        data = self._inflated(self._records_section)
        try:
            count = _u32(memoryview(data), 0)
            start = 4 + 4 * (count + 1)
            return _integers(memoryview(data)[4:start], "I"), data[start:]
        except (IndexError, ValueError, TypeError) as error:
            raise self._damaged("its records cannot be read") from error

    @cached_property
    def _raw_states(self) -> tuple[list[str], list[msgspec.Raw]]:
        """Sonames, and the rows to which state numbers refer, undecoded: several thousand, of which few are used."""
        try:
            raw = msgspec.json.decode(self._inflated(self._states_section), type=dict[str, list[msgspec.Raw]])
            return [_decoded(bytes(each)) for each in raw["libraries"]], raw["states"]
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged("its states cannot be read") from error

    def _state(self, number: int) -> ReleaseExport:
        """Decode a row on first use."""
        made = self._made_states.get(number)
        if made is None:
            sonames, rows = self._raw_states
            try:
                libraries, kind, size, weak = _decoded(bytes(rows[number]))
                made = ReleaseExport(
                    libraries=tuple(sonames[i] for i in libraries), kind=ExportKind(kind), size=size, weak=bool(weak)
                )
            except (ValueError, TypeError, IndexError) as error:
                raise self._damaged(f"state {number} is invalid") from error
            self._made_states[number] = made
        return made


class _Blocks:
    """A directory of blocks: the first name of each and its section."""

    def __init__(self, rows: list[list[Any]]) -> None:
        names, starts, sizes = zip(*rows, strict=True) if rows else ((), (), ())
        self.first = [name.encode("utf-8", "surrogateescape") for name in map(str, names)]
        self.sections: list[Section] = list(zip(starts, sizes, strict=True))

    def __len__(self) -> int:
        return len(self.first)

    def block_of(self, name: bytes) -> int:
        """The only block that can contain `name`; -1 if none can."""
        return bisect_right(self.first, name) - 1


def _map(path: str | Path) -> memoryview:
    import mmap

    try:
        descriptor = os.open(path, READ_ONLY)
    except OSError as error:
        reason = os_error_words(error)
        raise UnreadableFile(str(path), f"the release index cannot be opened: {reason}") from error
    try:
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        # ValueError: an empty file cannot be mapped.
        again = "a release index that is empty or cannot be mapped; install abiscan, or add the build, again"
        raise UnreadableFile(str(path), again) from error
    finally:
        os.close(descriptor)


def inflate(packed: bytes) -> bytes:
    """Decompress one block.

    Raises:
        zlib.error: it is damaged, or larger than `MAX_UNPACKED`.
    """
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(packed, MAX_UNPACKED)
    if not unpacker.eof:
        raise zlib.error("incomplete or oversized block")
    return data


def _decoded(text: bytes) -> Any:
    """Decode JSON.

    Raises:
        ValueError: it is invalid.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        # A name that is not UTF-8 is stored with lone surrogates, which the fast decoder refuses.
        import json

        return json.loads(text)


def _integers(view: memoryview, code: Literal["H", "I"]) -> memoryview[int]:
    if sys.byteorder == "little":
        return view.cast(code)
    from array import array

    swapped = array(code, view.tobytes())
    swapped.byteswap()
    return memoryview(swapped)


def _u32(view: memoryview, offset: int) -> int:
    return int.from_bytes(view[offset : offset + 4], "little")


def _varints(data: bytes) -> Sequence[int]:
    """The numbers of consecutive LEB128, as in DWARF and protobuf.

    Raises:
        ValueError: the last one is incomplete.
    """
    if data.isascii():  # all of one byte
        return data
    values = []
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    if shift:
        raise ValueError
    return values


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
    # An index file of an earlier abiscan may lack a field that has a default.
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in fields.items()
        if key in _STORED_FIELDS
    }
    return Build(**values, user=user)
