"""A file as a bounded buffer: ELF header, program headers, and addresses turned into offsets.

Every read is checked against the end of the file, because no offset in it can be trusted; a read beyond raises
`UnreadableFile` and never returns short data.
"""

from __future__ import annotations

import struct
import sys
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from abiscan.elf.mapping import Area, map_segments
from abiscan.elf.segment import PT_LOAD, Segment
from abiscan.elf.sniff import ELF_MAGIC, describe_other
from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_NAMES, MAX_SEGMENTS, MAX_STRING

if TYPE_CHECKING:
    import mmap

    Buffer = bytes | mmap.mmap

ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4

# e_machine (gABI, "ELF Header"); names as `uname -m` has them, where it has one.
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


class Sparse(Struct, frozen=True):
    """The contents of a file of which parts were left out.

    Attributes:
        buffer: as long as the file, with zeros where something was left out.
        left_out: (start, end), sorted and disjoint.
        whole: makes all of it; raises UnreadableFile.
        sha256: of all of it, in hexadecimal digits; None where nobody computed it.
    """

    buffer: Buffer
    left_out: Sequence[tuple[int, int]]
    whole: Callable[[], Buffer]
    sha256: str | None = None

    def lacks(self, start: int, end: int) -> bool:
        """Whether one of the bytes from `start` to `end` was left out."""
        at = bisect_left(self.left_out, (start, start))
        following = at < len(self.left_out) and self.left_out[at][0] < end
        return start < end and (following or (at > 0 and self.left_out[at - 1][1] > start))


class Image:
    """The mapped file with its headers read.

    Args:
        sparse: where parts of it were left out of `buffer`; whoever asks for one gets the whole file.

    Raises:
        UnreadableFile: no ELF file, or its header or program headers lie outside of it.
    """

    def __init__(self, buffer: Buffer, path: str, sparse: Sparse | None = None) -> None:
        self.buffer = buffer
        self._sparse = sparse
        self.path = path
        self.size = len(buffer)
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
        self.native = self.little_endian == (sys.byteorder == "little")
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
        # Before the tables: a core dump or an object file is named for what it is, whatever else is wrong with it.
        if self.type == ET_REL:
            raise UnreadableFile(path, "an object file (.o), not a shared object: link it first (-shared)")
        if self.type == ET_CORE:
            raise UnreadableFile(path, "a core dump, not a shared object")
        if self.type not in (ET_DYN, ET_EXEC):
            raise UnreadableFile(path, f"corrupt ELF header: unknown file type {self.type}")
        self.segments = self._read_segments(phoff, phentsize, phnum)
        self.header_table = (phoff, phoff + phnum * phentsize)
        self.loads = [s for s in self.segments if s.type == PT_LOAD]

    def need(self, start: int, end: int) -> None:
        """These bytes of the file will be read from `buffer`: see to it that they are there.

        Raises:
            UnreadableFile: they were left out, and cannot be unpacked.
        """
        if self._sparse is not None and self._sparse.lacks(start, end):
            self.buffer = self._sparse.whole()
            self._sparse = None

    def release(self, start: int, end: int) -> None:
        """Let go of what was read of the file between two offsets: it comes again from there if it is asked for.

        Only a map that cannot be written is of a file; others have nothing to come from.
        """
        if isinstance(self.buffer, bytes) or not memoryview(self.buffer).readonly:
            return
        import mmap

        first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
        if first < end and hasattr(mmap, "MADV_DONTNEED"):
            self.buffer.madvise(mmap.MADV_DONTNEED, first, end - first)

    def __getitem__(self, part: slice) -> bytes:
        """Bytes of the file, as slicing its buffer gives them."""
        if self._sparse is not None:
            start, stop, _ = part.indices(self.size)
            self.need(start, stop)
        return self.buffer[part]

    def unpack(self, layout: struct.Struct, offset: int) -> tuple[Any, ...]:
        """The fields that stand at an offset; the caller has seen that they end in the file."""
        if self._sparse is not None:
            self.need(offset, offset + layout.size)
        return layout.unpack_from(self.buffer, offset)

    @cached_property
    def areas(self) -> tuple[Area, ...]:
        """The memory of the file once it is mapped."""
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
        """Program headers as they stand at a file offset, as many as the file has or `count`."""
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
        """The first PT_LOAD segment that ends beyond the end of the file, if one does."""
        for segment in self.loads:
            if segment.file_size and segment.offset + segment.file_size > self.size:
                return segment
        return None

    def extent_of(self, address: int, what: str) -> tuple[int, int]:
        """(offset, end) of the file's bytes that are mapped at a virtual address, up to where in memory something else
        follows them or nothing.

        Raises:
            UnreadableFile: no byte of the file is mapped there; `what` names the table for the message.
        """
        areas = self.areas
        number = next((n for n, area in enumerate(areas) if area.start <= address < area.end), None)
        if number is not None:
            area = areas[number]
            if area.offset is not None and area.offset + address - area.start < self.size and area.is_readable:
                offset = area.offset + address - area.start
                self.need(offset, offset + 1)
                end = area.offset + area.end - area.start
                for following in areas[number + 1 :]:
                    if following.start != area.end or following.offset != end or not following.is_readable:
                        break
                    area, end = following, end + following.end - following.start
                return offset, min(end, self.size)
        raise UnreadableFile(self.path, f"corrupt or truncated ELF file: {what} at {address:#x} is outside of the file")

    def offset_of(self, address: int, what: str, size: int = 1) -> int:
        """The file offset of `size` bytes at a virtual address.

        Raises:
            UnreadableFile: they are not all there, as the loader maps the file; `what` names the table for the message.
        """
        offset, end = self.extent_of(address, what)
        if size < 0 or offset + size > end:
            raise UnreadableFile(
                self.path, f"corrupt or truncated ELF file: {what} at {address:#x} ends outside of what is mapped there"
            )
        self.need(offset, offset + size)
        return offset

    def slice(self, offset: int, size: int, what: str) -> bytes:
        """Copy `size` bytes at `offset`.

        Raises:
            UnreadableFile: they are not all there.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise UnreadableFile(self.path, f"corrupt or truncated ELF file: {what} ends beyond its {self.size} bytes")
        self.need(offset, offset + size)
        return self.buffer[offset : offset + size]

    def words(self, offset: int, count: int, code: Literal["H", "I", "Q"], what: str) -> memoryview[int]:
        """`count` integers of struct code `code` (H, I or Q) at `offset`, as a view that copies nothing where the
        byte order is this machine's."""
        size = struct.calcsize("=" + code) * count
        if offset < 0 or count < 0 or offset + size > self.size:
            raise UnreadableFile(self.path, f"corrupt or truncated ELF file: {what} ends beyond its {self.size} bytes")
        self.need(offset, offset + size)
        if self.native:
            return memoryview(self.buffer)[offset : offset + size].cast(code)
        import array

        swapped: array.array[int] = array.array(code, self.buffer[offset : offset + size])
        swapped.byteswap()
        return memoryview(swapped)

    def string(self, offset: int, end: int) -> bytes:
        """The zero-terminated string at `offset` of a table that ends at `end`; empty if it lies outside of it."""
        return self.terminated(offset, end) or b""

    def strings(self, offsets: Sequence[int], end: int) -> list[bytes]:
        """`string` of each offset.

        Raises:
            UnreadableFile: they have more than MAX_NAMES bytes together.
        """
        buffer, find, size = self.buffer, self.buffer.find, MAX_STRING
        # Two calls of the interpreter for a name instead of six: 0.4 us and 0.9.
        stops = [find(b"\0", offset, offset + size) for offset in offsets]
        if stops and (min(offsets) < 0 or min(stops) < 0 or max(stops) >= min(end, self.size)):
            stops = [offset + len(self.string(offset, end)) for offset in offsets]
        if sum(stops) - sum(offsets) > MAX_NAMES:
            raise UnreadableFile(self.path, f"names of more than {MAX_NAMES} bytes together, which are not read")
        return [buffer[offset:stop] for offset, stop in zip(offsets, stops, strict=True)]

    def terminated(self, offset: int, end: int) -> bytes | None:
        """The same; None where it lies outside, is longer than MAX_STRING, or its zero byte is not in the table."""
        limit = min(end, self.size, offset + MAX_STRING)
        stop = self.buffer.find(b"\0", offset, limit) if 0 <= offset < limit else -1
        if self._sparse is not None and self._sparse.lacks(offset, stop + 1):
            self.need(offset, stop + 1)
            return self.terminated(offset, end)
        return self.buffer[offset:stop] if stop >= 0 else None
