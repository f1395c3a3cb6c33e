"""A PE file as a bounded buffer: its headers, and conversion of relative virtual addresses (RVA) to offsets."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct

from abiscan.errors import UnreadableFile
from abiscan.file_buffer import FileBuffer, decoded
from abiscan.model.limits import MAX_SEGMENTS
from abiscan.pe.pe_magic import PE_MAGIC

if TYPE_CHECKING:
    from abiscan.file_buffer import Buffer

# Machine Types, with the names in wheel tags and `uname -m`.
MACHINES: Final = {
    0x014C: "i386",
    0x01C4: "arm",
    0x0200: "ia64",
    0x5064: "riscv64",
    0x6264: "loongarch64",
    0x8664: "x86_64",
    0xA641: "arm64ec",
    0xA64E: "arm64x",
    0xAA64: "arm64",
}
SCN_EXECUTE, SCN_READ, SCN_WRITE = 0x20000000, 0x40000000, 0x80000000

# Data directories by number (Optional Header Data Directories).
EXPORTS, IMPORTS, DEBUG, DELAYED_IMPORTS = 0, 1, 6, 13
_DIRECTORIES: Final = 16

_COFF = struct.Struct("<4sHHIIIHH")
_SECTION = struct.Struct("<8sIIIIIIHHI")
# From the magic number to NumberOfRvaAndSizes. SizeOfStackReserve and the next three fields have the image's width.
_PE32 = struct.Struct("<HBB6I3I6H4I2H4I2I")
_PE32_PLUS = struct.Struct("<HBB5IQ2I6H4I2H4Q2I")
_PAGE: Final = 0x1000
# The loader rounds PointerToRawData down to a sector.
_SECTOR: Final = 0x200


class MappedSection(Struct, frozen=True):
    """A mapped section.

    Attributes:
        start, end: RVAs of its bytes in the file; further bytes in memory are zero.
        offset: of `start` in the file.
        flags: Characteristics.
    """

    start: int
    end: int
    offset: int
    flags: int


class PeImage(FileBuffer):
    """The mapped file with its headers.

    Attributes:
        directories: (RVA, size) of each data directory; (0, 0) for a missing one.
        sections: in the order of addresses; the headers, which are mapped too, come first.

    Raises:
        UnreadableFile: no PE file, truncated, or its headers are outside of the file.
    """

    format_name: ClassVar = "PE"

    def __init__(self, buffer: Buffer, path: str) -> None:
        super().__init__(buffer, path)
        if self[0:2] != PE_MAGIC:
            raise UnreadableFile(path, "not a PE file")
        if self.size < 64:
            raise UnreadableFile(path, f"truncated PE file: {self.size} bytes, less than its first header")
        at = int.from_bytes(self[60:64], "little")
        if at + _COFF.size > self.size:
            raise self.corrupt(f"its header ends beyond its {self.size} bytes")
        fields = self.unpack(_COFF, at)
        magic, machine, section_count, _, _, _, optional_size, _ = fields
        if magic != b"PE\0\0":
            raise UnreadableFile(path, "a program for DOS or 16-bit Windows, not a PE file")
        self.machine: str = MACHINES.get(machine, f"IMAGE_FILE_MACHINE_{machine:#06x}")
        at += _COFF.size
        optional = int.from_bytes(self[at : at + 2], "little")
        if optional not in (0x10B, 0x20B):
            raise self.corrupt(f"unknown optional header {optional:#x}")
        self.is64 = optional == 0x20B
        layout = _PE32_PLUS if self.is64 else _PE32
        if at + max(optional_size, layout.size) > self.size:
            raise self.corrupt(f"its optional header ends beyond its {self.size} bytes")
        values = self.unpack(layout, at)
        # Counted from the end, since only PE32 has BaseOfData before ImageBase.
        self.image_base, alignment, self.header_size = values[-21], values[-20], values[-10]
        self.directories = self._read_directories(at + layout.size, min(values[-1], _DIRECTORIES))
        self.sections = self._read_sections(at + optional_size, section_count, alignment)
        self._starts = [section.start for section in self.sections]

    def _read_directories(self, at: int, count: int) -> tuple[tuple[int, int], ...]:
        words = self.words(at, 2 * count, "I", "the table of data directories")
        found = [(words[2 * i], words[2 * i + 1]) for i in range(count)]
        return (*found, *((0, 0) for _ in range(_DIRECTORIES - count)))

    def _read_sections(self, at: int, count: int, alignment: int) -> tuple[MappedSection, ...]:
        if count > MAX_SEGMENTS:
            raise self.corrupt(f"{count} sections")
        table = self.slice(at, count * _SECTION.size, "the section table")
        if alignment < _PAGE:
            # Mapped unchanged.
            return (MappedSection(0, self.size, 0, SCN_READ),)
        found = [MappedSection(0, min(self.header_size, self.size), 0, SCN_READ)]
        for _, memory_size, address, size, offset, _, _, _, _, flags in _SECTION.iter_unpack(table):
            if size and offset + size > self.size:
                raise UnreadableFile(
                    self.path,
                    f"truncated PE file: a section ends at byte {offset + size}, the file has {self.size}; copy or "
                    "build it again",
                )
            memory = -(-(memory_size or size) // _PAGE) * _PAGE
            if address < found[-1].end:
                raise self.corrupt("its sections overlap")
            start = offset // _SECTOR * _SECTOR if size else 0
            found.append(MappedSection(address, address + min(size, memory), start, flags))
        return tuple(found)

    def section_at(self, address: int) -> MappedSection | None:
        """The section with bytes in the file at an RVA."""
        number = bisect_right(self._starts, address) - 1
        if number < 0 or address >= self.sections[number].end:
            return None
        return self.sections[number]

    def extent_of(self, address: int, what: str) -> tuple[int, int]:
        """(offset, end) of the file's bytes from an RVA to the end of its section.

        Raises:
            UnreadableFile: no byte of the file is mapped there; `what` names the table for the message.
        """
        section = self.section_at(address)
        if section is None:
            raise self.corrupt(f"{what} at {address:#x} is outside of the file")
        delta = section.offset - section.start
        return address + delta, min(section.end + delta, self.size)

    def at_address(self, address: int, size: int, what: str) -> bytes:
        """Copy `size` bytes at an RVA.

        Raises:
            UnreadableFile: some of them are not in the file.
        """
        offset, end = self.extent_of(address, what)
        if offset + size > end:
            raise self.corrupt(f"{what} at {address:#x} ends outside of its section")
        return self.slice(offset, size, what)

    def text_at(self, address: int, what: str) -> str:
        """The zero-terminated string at an RVA.

        Raises:
            UnreadableFile: it does not end in its section, or is longer than MAX_STRING.
        """
        raw = self.terminated(*self.extent_of(address, what))
        if raw is None:
            raise self.corrupt(f"{what} at {address:#x} does not end in its section")
        return decoded(raw)

    def texts_at(self, addresses: Sequence[int]) -> list[str | None]:
        """The zero-terminated strings at these RVAs; None for invalid ones.

        Raises:
            UnreadableFile: they have more than MAX_NAMES bytes together.
        """
        found: list[str | None] = [None] * len(addresses)
        places: dict[MappedSection, list[int]] = {}
        for place, address in enumerate(addresses):
            section = self.section_at(address)
            if section is not None:
                places.setdefault(section, []).append(place)
        for section, numbers in places.items():
            delta = section.offset - section.start
            raws = self.strings([addresses[place] + delta for place in numbers], section.end + delta)
            for place, raw in zip(numbers, raws, strict=True):
                found[place] = decoded(raw) if raw else None
        return found

    def thunks(self, address: int, limit: int, what: str) -> Iterator[int]:
        """The words (of 4 bytes in PE32, 8 in PE32+) at an RVA, up to the first zero; memory after the bytes of a
        section is zero.

        Raises:
            UnreadableFile: there are more than `limit`.
        """
        size = 8 if self.is64 else 4
        offset, end = self.extent_of(address, what)
        for number, word in enumerate(self.words(offset, (end - offset) // size, "Q" if self.is64 else "I", what)):
            if not word:
                return
            if number >= limit:
                raise self.corrupt(f"{what}: more entries than the file has room for")
            yield word

    def read_only_places(self) -> list[tuple[int, int]]:
        """(offset, size) of the sections of read-only data."""
        return [
            (section.offset, section.end - section.start)
            for section in self.sections[1:]
            if section.flags & (SCN_READ | SCN_WRITE | SCN_EXECUTE) == SCN_READ
        ]
