"""A file as a bounded buffer: ELF header, program headers, and translation of addresses to offsets."""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from abiscan.elf.mapping import PT_LOAD, Area, Segment, map_segments
from abiscan.elf.sniff import ELF_MAGIC, describe_other
from abiscan.errors import UnreadableFile
from abiscan.file_buffer import FileBuffer
from abiscan.model.limits import MAX_SEGMENTS

if TYPE_CHECKING:
    from abiscan.file_buffer import Buffer, Sparse

ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4

# e_machine (gABI, "ELF Header"); names as printed by `uname -m`, if it has one.
MACHINES = {
    3: "i386",
    8: "mips",
    20: "ppc",
    21: "ppc64le",
    22: "s390x",
    40: "arm",
    43: "sparc64",
    62: "x86_64",
    183: "aarch64",
    224: "amdgpu",
    190: "cuda",
    243: "riscv64",
    258: "loongarch64",
}


class Image(FileBuffer):
    """The mapped file with its headers read.

    Args:
        sparse: ranges that are missing in `buffer`; reading one of them unpacks the whole file.

    Raises:
        UnreadableFile: it is not an ELF file, or its header or program headers lie outside of it.
    """

    format_name: ClassVar = "ELF"

    def __init__(self, buffer: Buffer, path: str, sparse: Sparse | None = None) -> None:
        super().__init__(buffer, path, sparse)
        head = buffer[:64]
        if not head.startswith(ELF_MAGIC):
            raise UnreadableFile(path, describe_other(bytes(buffer[:512])))
        if len(head) < 52:
            raise UnreadableFile(path, f"truncated ELF file: {self.size} bytes, less than its header")
        if head[4] not in (1, 2) or head[5] not in (1, 2):
            raise UnreadableFile(path, "corrupt ELF header: unknown class or data encoding")
        self.is64 = head[4] == 2
        self.little_endian = head[5] == 1
        self.endian = "<" if self.little_endian else ">"
        layout = struct.Struct(self.endian + ("HHIQQQIHHHHHH" if self.is64 else "HHIIIIIHHHHHH"))
        if len(head) < 16 + layout.size:
            raise UnreadableFile(path, f"truncated ELF file: {self.size} bytes, less than its header")
        (
            self.type,
            machine,
            _version,
            _entry,
            phoff,
            self.section_offset,
            _flags,
            _ehsize,
            phentsize,
            phnum,
            self.section_entry_size,
            self.section_count,
            self.section_names,
        ) = layout.unpack_from(head, 16)
        self.machine_number: int = machine
        self.machine = MACHINES.get(machine, f"EM_{machine}")
        if machine == 21 and not self.little_endian:
            self.machine = "ppc64"
        # Before the tables: a core dump or an object file is reported as such even if it is damaged.
        if self.type == ET_REL:
            raise UnreadableFile(path, "an object file (.o), not a shared object: link it first (-shared)")
        if self.type == ET_CORE:
            raise UnreadableFile(path, "a core dump, not a shared object")
        if self.type not in (ET_DYN, ET_EXEC):
            raise UnreadableFile(path, f"corrupt ELF header: unknown file type {self.type}")
        self.segments = self._read_segments(phoff, phentsize, phnum)
        self.header_table = (phoff, phoff + phnum * phentsize)
        self.loads = [s for s in self.segments if s.type == PT_LOAD]

    @cached_property
    def areas(self) -> tuple[Area, ...]:
        """The memory of the file after mapping."""
        return map_segments(self.loads, is_dynamic=self.type == ET_DYN)

    def _read_segments(self, offset: int, entry_size: int, count: int) -> tuple[Segment, ...]:
        layout = struct.Struct(self.endian + ("IIQQQQQQ" if self.is64 else "IIIIIIII"))
        if count == 0:
            return ()
        if entry_size != layout.size or count > MAX_SEGMENTS:
            raise UnreadableFile(self.path, f"corrupt ELF header: {count} program headers of {entry_size} bytes")
        if offset + count * entry_size > self.size:
            raise UnreadableFile(self.path, f"truncated ELF file: its program headers end beyond its {self.size} bytes")
        return tuple(self.segments_at(offset, count))

    def segments_at(self, offset: int, count: int | None = None) -> list[Segment]:
        """Program headers at a file offset; as many as the file has, or `count`."""
        layout = struct.Struct(self.endian + ("IIQQQQQQ" if self.is64 else "IIIIIIII"))
        number = len(self.segments) if count is None else count
        segments = []
        for fields in layout.iter_unpack(self.buffer[offset : offset + number * layout.size]):
            if self.is64:
                kind, flags, off, vaddr, _paddr, filesz, memsz, align = fields
            else:
                kind, off, vaddr, _paddr, filesz, memsz, flags, align = fields
            segments.append(Segment(kind, flags, off, vaddr, filesz, memsz, align))
        return segments

    def truncated_segment(self) -> Segment | None:
        """The first PT_LOAD segment that ends beyond the end of the file; None if there is none."""
        for segment in self.loads:
            if segment.file_size and segment.offset + segment.file_size > self.size:
                return segment
        return None

    def extent_of(self, address: int, what: str) -> tuple[int, int]:
        """(offset, end) of the bytes of the file that are mapped at a virtual address, up to the end of the contiguous
        mapping.

        Raises:
            UnreadableFile: no byte of the file is mapped there; `what` names the table in the message.
        """
        areas = iter(self.areas)
        for area in areas:
            if area.end <= address:
                continue
            if address < area.start or area.offset is None or not area.is_readable:
                break
            offset, end = area.offset + address - area.start, area.offset + area.end - area.start
            if offset >= self.size:
                break
            self.need(offset, offset + 1)
            last = area.end
            for following in areas:
                if following.start != last or following.offset != end or not following.is_readable:
                    break
                last, end = following.end, end + following.end - following.start
            return offset, min(end, self.size)
        raise self.corrupt(f"{what} at {address:#x} is outside of the file")

    def offset_of(self, address: int, what: str, size: int = 1) -> int:
        """The file offset of `size` bytes at a virtual address.

        Raises:
            UnreadableFile: not all of them are mapped; `what` names the table in the message.
        """
        offset, end = self.extent_of(address, what)
        if size < 0 or offset + size > end:
            raise self.corrupt(f"{what} at {address:#x} ends outside of what is mapped there")
        self.need(offset, offset + size)
        return offset
