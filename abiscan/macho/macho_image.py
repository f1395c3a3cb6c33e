"""A Mach-O file, or a slice of a universal file, as a bounded buffer: its header and its load commands."""

from __future__ import annotations

import struct
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct

from abiscan.errors import UnreadableFile
from abiscan.file_buffer import FileBuffer
from abiscan.macho.macho_magic import THIN_MAGICS
from abiscan.macho.universal import choose_slice, machine_name, read_slices
from abiscan.model.limits import MAX_SEGMENTS

if TYPE_CHECKING:
    from abiscan.file_buffer import Buffer

# MH_EXECUTE, MH_DYLIB, MH_DYLINKER, MH_BUNDLE, MH_DYLIB_STUB.
_FILE_TYPES: Final = frozenset({2, 6, 7, 8, 9})
_OTHER_TYPES: Final = {
    1: "an object file (.o), not a shared object: link it first (-shared)",
    4: "a core dump, not a shared object",
    10: "debug information (.dSYM), not a shared object",
}
_HEADER = struct.Struct("<IIIIIII")
_COMMAND = struct.Struct("<II")
_LC_SEGMENT, _LC_SEGMENT_64 = 0x01, 0x19
_SEGMENT = struct.Struct("<16sIIIIiiII")
_SEGMENT_64 = struct.Struct("<16sQQQQiiII")
_SECTION = struct.Struct("<16s16sIIIIIIIII")
_SECTION_64 = struct.Struct("<16s16sQQIIIIIIII")
_S_ATTR_PURE_INSTRUCTIONS, _S_ATTR_SOME_INSTRUCTIONS = 0x80000000, 0x400
_S_ZEROFILL: Final = frozenset({1, 12, 18})


class LoadCommand(Struct, frozen=True):
    """A load command.

    Attributes:
        kind: its number, LC_REQ_DYLD included.
        body: the bytes after its size.
    """

    kind: int
    body: bytes


class SegmentSection(Struct, frozen=True):
    """A section of a segment; addresses as in the file, offset in the slice."""

    name: str
    segment: str
    address: int
    size: int
    offset: int
    is_code: bool


class MachoImage(FileBuffer):
    """The mapped file with header and load commands of one slice. Offsets in the file's tables count from the start of
    the slice.

    Args:
        machine: of the slice to read; see `universal.choose_slice`.

    Attributes:
        slices: all of the file. `slice_start`, `slice_size`: of the slice that is read.
        commands: in order.

    Raises:
        UnreadableFile: no Mach-O file, truncated, or its header or load commands are outside of the file.
    """

    format_name: ClassVar = "Mach-O"

    def __init__(self, buffer: Buffer, path: str, *, machine: str | None = None) -> None:
        super().__init__(buffer, path)
        self.slices = read_slices(self)
        chosen = choose_slice(self.slices, machine, path)
        self.slice_start, self.slice_size = chosen.offset, chosen.size
        head = self.piece(0, _HEADER.size, "its header")
        if not head.startswith(THIN_MAGICS):
            raise UnreadableFile(path, f"its slice for {chosen.machine} is not a little-endian Mach-O file")
        magic, cpu, subtype, file_type, count, size, self.flags = _HEADER.unpack(head)
        self.is64 = magic == 0xFEEDFACF
        self.machine = machine_name(cpu, subtype)
        if file_type in _OTHER_TYPES:
            raise UnreadableFile(path, _OTHER_TYPES[file_type])
        if file_type not in _FILE_TYPES:
            raise self.corrupt(f"unknown file type {file_type}")
        self.commands = self._read_commands(_HEADER.size + (4 if self.is64 else 0), count, size)
        self.base_address = 0
        self.sections = self._read_segments()

    def piece(self, offset: int, size: int, what: str) -> bytes:
        """Copy `size` bytes at an offset of the slice.

        Raises:
            UnreadableFile: the slice is too short.
        """
        if offset < 0 or size < 0 or offset + size > self.slice_size:
            raise self.corrupt(f"{what} ends beyond its {self.slice_size} bytes")
        return self.slice(self.slice_start + offset, size, what)

    def _read_commands(self, at: int, count: int, size: int) -> tuple[LoadCommand, ...]:
        if count > MAX_SEGMENTS:
            raise self.corrupt(f"{count} load commands")
        data = self.piece(at, size, "the load commands")
        found = []
        place = 0
        for _ in range(count):
            if place + _COMMAND.size > size:
                raise self.corrupt("the load commands end beyond their size")
            kind, length = _COMMAND.unpack_from(data, place)
            if length < _COMMAND.size or place + length > size:
                raise self.corrupt(f"a load command of {length} bytes")
            found.append(LoadCommand(kind, data[place + _COMMAND.size : place + length]))
            place += length
        return tuple(found)

    def fields(self, command: LoadCommand, layout: struct.Struct) -> tuple[int, ...]:
        """The numbers at the start of a load command.

        Raises:
            UnreadableFile: it is shorter.
        """
        if len(command.body) < layout.size:
            raise self.corrupt(f"a load command of type {command.kind:#x} is too short")
        return layout.unpack_from(command.body)

    def _read_segments(self) -> tuple[SegmentSection, ...]:
        found: list[SegmentSection] = []
        for command in self.commands:
            if command.kind not in (_LC_SEGMENT, _LC_SEGMENT_64):
                continue
            wide = command.kind == _LC_SEGMENT_64
            layout, section = (_SEGMENT_64, _SECTION_64) if wide else (_SEGMENT, _SECTION)
            if len(command.body) < layout.size:
                raise self.corrupt("a segment command is too short")
            name, address, _, offset, size, _, _, count, _ = layout.unpack_from(command.body)
            if offset + size > self.slice_size:
                raise UnreadableFile(
                    self.path,
                    f"truncated Mach-O file: a segment ends at byte {offset + size}, the file has {self.slice_size}; "
                    "copy or build it again",
                )
            if not offset and size and not self.base_address:
                # The segment with the header: addresses in the export trie count from here.
                self.base_address = address
            table = command.body[layout.size : layout.size + count * section.size]
            if len(table) < count * section.size:
                raise self.corrupt(f"the sections of segment {_text(name)} end outside of its load command")
            for row in section.iter_unpack(table):
                flags = row[8]
                found.append(
                    SegmentSection(
                        _text(row[0]),
                        _text(row[1]),
                        row[2],
                        0 if flags & 0xFF in _S_ZEROFILL else row[3],
                        row[4],
                        bool(flags & (_S_ATTR_PURE_INSTRUCTIONS | _S_ATTR_SOME_INSTRUCTIONS)),
                    )
                )
        return tuple(found)

    @cached_property
    def _code(self) -> tuple[list[int], list[int]]:
        """Starts and ends of the sections with instructions, sorted."""
        places = sorted((each.address, each.address + each.size) for each in self.sections if each.is_code)
        return [start for start, _ in places], [end for _, end in places]

    def is_code(self, address: int) -> bool:
        """Whether an address, relative to the header, lies in a section with instructions."""
        starts, ends = self._code
        number = bisect_right(starts, address + self.base_address) - 1
        return number >= 0 and address + self.base_address < ends[number]

    def read_only_places(self) -> list[tuple[int, int]]:
        """(offset in the file, size) of the sections of read-only data."""
        found = []
        for each in self.sections:
            if each.segment == "__TEXT" and not each.is_code and each.offset < self.slice_size:
                size = min(each.size, self.slice_size - each.offset)
                found.append((self.slice_start + each.offset, size))
        return found


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode("utf-8", "replace")
