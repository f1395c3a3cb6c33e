"""The dynamic section (gABI, "Dynamic Section")."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from msgspec import Struct

from abiscan.elf.image import Image
from abiscan.elf.mapping import PF_W, PT_DYNAMIC
from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_DYNAMIC_ENTRIES, MAX_NEEDED

DT_NEEDED, DT_PLTRELSZ, DT_HASH, DT_STRTAB, DT_SYMTAB = 1, 2, 4, 5, 6
DT_RELA, DT_RELASZ, DT_RELAENT, DT_STRSZ, DT_SYMENT, DT_INIT = 7, 8, 9, 10, 11, 12
DT_SONAME, DT_RPATH, DT_SYMBOLIC, DT_REL, DT_RELSZ, DT_RELENT, DT_PLTREL = 14, 15, 16, 17, 18, 19, 20
DT_TEXTREL, DT_JMPREL, DT_BIND_NOW, DT_INIT_ARRAY, DT_INIT_ARRAYSZ, DT_RUNPATH, DT_FLAGS = 22, 23, 24, 25, 27, 29, 30
DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ = 32, 33
DT_RELRSZ, DT_RELR, DT_RELRENT = 35, 36, 37
DT_AUXILIARY, DT_FILTER = 0x7FFFFFFD, 0x7FFFFFFF
DT_GNU_HASH, DT_VERSYM, DT_RELACOUNT, DT_RELCOUNT = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFF9, 0x6FFFFFFA
DT_FLAGS_1, DT_VERDEF, DT_VERNEED = 0x6FFFFFFB, 0x6FFFFFFC, 0x6FFFFFFE
DF_SYMBOLIC, DF_TEXTREL, DF_BIND_NOW, DF_STATIC_TLS = 0x2, 0x4, 0x8, 0x10
DF_1_NOW, DF_1_NOOPEN, DF_1_NODEFLIB, DF_1_PIE = 0x1, 0x40, 0x800, 0x08000000

# Number of entries that are read at a time.
_CHUNK = 256


class Dynamic(Struct, frozen=True):
    """The decoded dynamic section.

    Attributes:
        values: tag to value; of repeated tags the last, as the loader reads them.
        needed: DT_NEEDED strings in order.
        filters: (number of DT_NEEDED entries before it, tag, string) of each DT_AUXILIARY and DT_FILTER.
        lost_names: whether a DT_NEEDED string lies outside of the string table.
        strtab, strtab_end: file offsets of .dynstr, and of the end of the mapping that contains it.
        strings_end: file offset of its end by DT_STRSZ, which the loader ignores.
        address, is_writable: of the section itself, from its program header.
    """

    values: dict[int, int]
    needed: tuple[bytes, ...]
    soname: bytes | None
    rpath: bytes | None
    runpath: bytes | None
    strtab: int
    strtab_end: int
    strings_end: int
    address: int
    is_writable: bool
    filters: tuple[tuple[int, int, bytes], ...] = ()
    lost_names: bool = False

    @property
    def symbolic(self) -> bool:
        """Whether the object is searched before the global scope (DT_SYMBOLIC)."""
        return DT_SYMBOLIC in self.values or bool(self.values.get(DT_FLAGS, 0) & DF_SYMBOLIC)

    @property
    def has_text_relocations(self) -> bool:
        """Whether relocations may write to read-only segments, which the loader makes writable meanwhile."""
        return DT_TEXTREL in self.values or bool(self.values.get(DT_FLAGS, 0) & DF_TEXTREL)

    @property
    def binds_now(self) -> bool:
        """Whether functions are always resolved when the object is opened (-z now)."""
        return (
            DT_BIND_NOW in self.values
            or bool(self.values.get(DT_FLAGS, 0) & DF_BIND_NOW)
            or bool(self.flags_1 & DF_1_NOW)
        )

    @property
    def flags_1(self) -> int:
        """DT_FLAGS_1, 0 if absent."""
        return self.values.get(DT_FLAGS_1, 0)


def _entries(image: Image, offset: int, count: int, layout: struct.Struct) -> Iterator[tuple[int, int]]:
    """(tag, value) up to DT_NULL.

    Raises:
        UnreadableFile: the first `count` entries have no DT_NULL.
    """
    for start in range(0, count, _CHUNK):
        size = min(_CHUNK, count - start) * layout.size
        data = image.slice(offset + start * layout.size, size, "the dynamic section")
        for tag, number in layout.iter_unpack(data):
            if tag == 0:
                return
            yield tag, number
    if count == MAX_DYNAMIC_ENTRIES:
        raise UnreadableFile(
            image.path,
            f"its dynamic section has more than {count} entries, and abiscan reads no more (MAX_DYNAMIC_ENTRIES)",
        )
    raise UnreadableFile(image.path, "corrupt ELF file: its dynamic section has no end (DT_NULL)")


def read_dynamic(image: Image) -> Dynamic:
    """Read the dynamic section through PT_DYNAMIC, as the loader does; section headers are ignored.

    Raises:
        UnreadableFile: it is absent, or it or its string table lies outside of the file.
    """
    # The loader uses the last one that has bytes (_dl_map_object_from_fd in elf/dl-load.c of glibc).
    segment = next((s for s in reversed(image.segments) if s.type == PT_DYNAMIC and s.file_size), None)
    if segment is None:
        raise UnreadableFile(image.path, "ELF file without a dynamic section: a static executable or a debug file")
    # The loader uses p_vaddr. In debug files (objcopy --only-keep-debug) it leads nowhere.
    offset, limit = image.extent_of(segment.address, "the dynamic section")
    layout = struct.Struct(image.endian + ("qQ" if image.is64 else "iI"))
    # The loader reads up to DT_NULL and ignores the size in the program header.
    count = min((limit - offset) // layout.size, MAX_DYNAMIC_ENTRIES)
    values: dict[int, int] = {}
    needed: list[int] = []
    filters: list[tuple[int, int, int]] = []
    for tag, number in _entries(image, offset, count, layout):
        if tag == DT_NEEDED:
            needed.append(number)
        elif tag in (DT_AUXILIARY, DT_FILTER):
            filters.append((len(needed), tag, number))
        else:
            values[tag & 0xFFFFFFFF if not image.is64 else tag] = number
    if len(needed) > MAX_NEEDED:
        raise UnreadableFile(
            image.path, f"it needs {len(needed)} libraries, and abiscan follows {MAX_NEEDED} (MAX_NEEDED)"
        )
    if not values:
        raise UnreadableFile(image.path, "corrupt ELF file: its dynamic section is empty")
    if DT_STRTAB not in values or DT_SYMTAB not in values:
        raise UnreadableFile(image.path, "corrupt ELF file: its dynamic section lacks a symbol or string table")
    # Names are read up to their zero byte: the loader ignores DT_STRSZ.
    strtab, end = image.extent_of(values[DT_STRTAB], "the dynamic string table")

    def text(at: int | None, what: str) -> bytes | None:
        if at is None:
            return None
        found = image.terminated(strtab + at, end)
        if found is None:
            raise UnreadableFile(image.path, f"corrupt ELF file: {what} is outside of its string table")
        return found

    names = [image.terminated(strtab + at, end) for at in needed]
    filtees = [image.terminated(strtab + at, end) for _, _, at in filters]
    return Dynamic(
        values=values,
        needed=tuple(name or b"" for name in names),
        soname=text(values.get(DT_SONAME), "its soname"),
        rpath=text(values.get(DT_RPATH), "its search path"),
        runpath=text(values.get(DT_RUNPATH), "its search path"),
        strtab=strtab,
        strtab_end=end,
        strings_end=min(strtab + values.get(DT_STRSZ, end - strtab), end),
        address=segment.address,
        is_writable=bool(segment.flags & PF_W),
        filters=tuple((before, tag, name or b"") for (before, tag, _), name in zip(filters, filtees, strict=True)),
        lost_names=any(name is None for name in (*names, *filtees)),
    )
