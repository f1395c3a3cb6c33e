"""The parts of a file that symbol lookups read: a few per cent of a large library.

A caller with many unpacked libraries can keep only these and release the code, data and device images.
"""

from __future__ import annotations

from abiscan.elf import notes
from abiscan.elf.dynamic import (
    DT_GNU_HASH,
    DT_HASH,
    DT_INIT_ARRAY,
    DT_INIT_ARRAYSZ,
    DT_JMPREL,
    DT_PLTRELSZ,
    DT_REL,
    DT_RELA,
    DT_RELASZ,
    DT_RELR,
    DT_RELRSZ,
    DT_RELSZ,
    DT_SYMTAB,
    DT_VERDEF,
    DT_VERNEED,
    DT_VERSYM,
)
from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.mapping import PT_DYNAMIC, PT_NOTE
from abiscan.elf.sections import section

# .gnu.version_r and .gnu.version_d are linked lists without a length; those of libc, the longest seen, have 1.5 KiB.
_VERSION_LIST = 1 << 18
_HEADERS = 4096
# Repeated tags, and the null entry at the end of a dynamic section.
_SPARE_ENTRIES = 64


def lookup_ranges(elf: DynamicFile, *, guessed: bool = True) -> list[tuple[int, int]]:
    """(offset, size) of everything that `DynamicFile.facts`, `exports_name`, `export`, `undefined` and
    `names_with_prefix` read: headers, dynamic section, notes, symbols, strings, hash tables, versions, relocations,
    .comment. Unsorted, may overlap, clipped to the file.

    Args:
        guessed: whether to include a margin after the header, and for the version lists, which have no length.

    Raises:
        UnreadableFile: a table lies outside of the file.
    """
    image, values = elf.image, elf.dynamic.values
    wide = 8 if image.is64 else 4
    symbols = elf.symbol_count
    symtab = image.offset_of(values[DT_SYMTAB], "the dynamic symbol table")
    ranges = [(0, _HEADERS if guessed else 64), (symtab, (symbols + 1) * (24 if image.is64 else 16))]
    ranges.append((elf.dynamic.strtab, _strings_end(elf, symtab, symbols) - elf.dynamic.strtab))
    ranges.append((image.header_table[0], image.header_table[1] - image.header_table[0]))
    entries = len(values) + len(elf.dynamic.needed) + len(elf.dynamic.filters) + _SPARE_ENTRIES
    ranges.append((image.offset_of(elf.dynamic.address, "the dynamic section"), entries * 2 * wide))
    for segment in image.segments:
        if segment.type == PT_DYNAMIC:
            ranges.append((segment.offset, segment.file_size))
        elif segment.type == PT_NOTE:
            ranges.append((segment.offset, min(segment.file_size, _HEADERS)))
    for tag, size in (
        (DT_RELA, values.get(DT_RELASZ, 0)),
        (DT_REL, values.get(DT_RELSZ, 0)),
        (DT_RELR, values.get(DT_RELRSZ, 0)),
        (DT_JMPREL, values.get(DT_PLTRELSZ, 0)),
        (DT_INIT_ARRAY, values.get(DT_INIT_ARRAYSZ, 0)),
        (DT_VERSYM, 2 * (symbols + 1)),
        (DT_VERNEED, _VERSION_LIST * guessed),
        (DT_VERDEF, _VERSION_LIST * guessed),
    ):
        if tag in values and size:
            ranges.append((image.offset_of(values[tag], "a table"), size))
    if DT_HASH in values:
        at = image.offset_of(values[DT_HASH], "the hash table")
        buckets, chains = image.words(at, 2, "I", "the hash table")
        ranges.append((at, 4 * (2 + buckets + chains)))
    if DT_GNU_HASH in values:
        at = image.offset_of(values[DT_GNU_HASH], "the GNU hash table")
        buckets, first, bloom, _shift = image.words(at, 4, "I", "the GNU hash table")
        ranges.append((at, 16 + bloom * wide + 4 * buckets + 4 * max(0, symbols - first + 1)))
    if notes.has_sections(image):
        ranges.append((image.section_offset, image.section_count * image.section_entry_size))
        for name in (b".comment", b".shstrtab"):
            found = section(image, name)
            if found is not None:
                ranges.append((found[0], min(found[1], 1 << 16)))
    return [(at, min(size, image.size - at)) for at, size in ranges if size > 0 and 0 <= at < image.size]


def _strings_end(elf: DynamicFile, symtab: int, symbols: int) -> int:
    """The end of .dynstr by DT_STRSZ, or the end of the mapping if a name lies after that."""
    dynamic, image = elf.dynamic, elf.image
    width = 6 if image.is64 else 4
    names = image.words(symtab, symbols * width, "I", "the dynamic symbol table")[::width].tolist()
    inside = all(image.buffer.find(name + b"\0", dynamic.strtab, dynamic.strings_end) >= 0 for name in dynamic.needed)
    if inside and max(names, default=0) < dynamic.strings_end - dynamic.strtab:
        return dynamic.strings_end
    return dynamic.strtab_end
