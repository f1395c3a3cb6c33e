"""The dynamic section: what the file tells the loader (gABI, "Dynamic Section")."""

from __future__ import annotations

import struct

from msgspec import Struct

from abiscan.elf.image import PT_DYNAMIC, Image
from abiscan.errors import UnreadableFile

DT_NEEDED, DT_PLTRELSZ, DT_HASH, DT_STRTAB, DT_SYMTAB = 1, 2, 4, 5, 6
DT_RELA, DT_RELASZ, DT_STRSZ, DT_SYMENT, DT_SONAME, DT_RPATH, DT_SYMBOLIC = 7, 8, 10, 11, 14, 15, 16
DT_REL, DT_RELSZ, DT_PLTREL, DT_JMPREL, DT_BIND_NOW, DT_RUNPATH, DT_FLAGS = 17, 18, 20, 23, 24, 29, 30
DT_RELRSZ, DT_RELR = 35, 36
DT_AUXILIARY, DT_FILTER = 0x7FFFFFFD, 0x7FFFFFFF
DT_GNU_HASH, DT_VERSYM, DT_RELACOUNT, DT_RELCOUNT = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFF9, 0x6FFFFFFA
DT_FLAGS_1, DT_VERDEF, DT_VERDEFNUM, DT_VERNEED, DT_VERNEEDNUM = (
    0x6FFFFFFB,
    0x6FFFFFFC,
    0x6FFFFFFD,
    0x6FFFFFFE,
    0x6FFFFFFF,
)
DF_SYMBOLIC, DF_BIND_NOW, DF_STATIC_TLS = 0x2, 0x8, 0x10
DF_1_NOW, DF_1_NOOPEN, DF_1_NODEFLIB, DF_1_PIE = 0x1, 0x40, 0x800, 0x08000000

# libtorch_cuda's dynamic section has about 60 entries.
_MAX_ENTRIES = 1 << 16


class Dynamic(Struct, frozen=True):
    """The decoded dynamic section.

    Attributes:
        values: tag to value, the last one where a tag repeats, as the loader reads them.
        needed: DT_NEEDED strings in order.
        filters: (number of DT_NEEDED entries before it, tag, string) of each DT_AUXILIARY and DT_FILTER.
        lost_names: some DT_NEEDED string lies outside of the string table.
        strtab, strtab_end: file offsets of .dynstr.
    """

    values: dict[int, int]
    needed: tuple[bytes, ...]
    soname: bytes | None
    rpath: bytes | None
    runpath: bytes | None
    strtab: int
    strtab_end: int
    filters: tuple[tuple[int, int, bytes], ...] = ()
    lost_names: bool = False

    @property
    def symbolic(self) -> bool:
        """The object looks into itself before the global scope."""
        return DT_SYMBOLIC in self.values or bool(self.values.get(DT_FLAGS, 0) & DF_SYMBOLIC)

    @property
    def flags_1(self) -> int:
        """DT_FLAGS_1, 0 if absent."""
        return self.values.get(DT_FLAGS_1, 0)


def read_dynamic(image: Image) -> Dynamic:
    """Read the dynamic section through PT_DYNAMIC, as the loader does; section headers are not consulted.

    Raises:
        UnreadableFile: there is none, or it or its string table lies outside of the file.
    """
    segment = next((s for s in image.segments if s.type == PT_DYNAMIC), None)
    if segment is None:
        raise UnreadableFile(image.path, "ELF file without a dynamic section: a static executable or a debug file")
    # The loader goes by p_vaddr. In debug files (objcopy --only-keep-debug) nothing stands behind it.
    offset = image.offset_of(segment.address, "the dynamic section")
    size = min(segment.file_size, segment.memory_size or segment.file_size)
    layout = struct.Struct(image.endian + ("qQ" if image.is64 else "iI"))
    count = min(size // layout.size, _MAX_ENTRIES)
    values: dict[int, int] = {}
    needed: list[int] = []
    filters: list[tuple[int, int, int]] = []
    for tag, number in layout.iter_unpack(image.slice(offset, count * layout.size, "the dynamic section")):
        if tag == 0:
            break
        if tag == DT_NEEDED:
            needed.append(number)
        elif tag in (DT_AUXILIARY, DT_FILTER):
            filters.append((len(needed), tag, number))
        else:
            values[tag & 0xFFFFFFFF if not image.is64 else tag] = number
    if not values:
        raise UnreadableFile(image.path, "corrupt ELF file: its dynamic section is empty")
    if DT_STRTAB not in values or DT_SYMTAB not in values:
        raise UnreadableFile(image.path, "corrupt ELF file: its dynamic section names no symbol or string table")
    strtab = image.offset_of(values[DT_STRTAB], "the dynamic string table")
    strsz = values.get(DT_STRSZ, image.size - strtab)
    end = min(strtab + strsz, image.size)

    def text(at: int | None) -> bytes | None:
        return None if at is None else image.string(strtab + at, end)

    return Dynamic(
        values=values,
        needed=tuple(image.string(strtab + at, end) for at in needed),
        soname=text(values.get(DT_SONAME)),
        rpath=text(values.get(DT_RPATH)),
        runpath=text(values.get(DT_RUNPATH)),
        strtab=strtab,
        strtab_end=end,
        filters=tuple((before, tag, image.string(strtab + at, end)) for before, tag, at in filters),
        lost_names=any(strtab + at >= end for at in needed),
    )
