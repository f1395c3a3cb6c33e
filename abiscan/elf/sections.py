"""Section headers, the static symbol table, and strings, which a loader does not read and a stripped file lacks.

They are used for what the loader does not need (compilers, function names, device code), and for the length of .dynsym
if the hash table does not have it.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec import Struct

from abiscan.elf.image import Image
from abiscan.elf.mapping import PF_W, PT_LOAD

SHT_SYMTAB, SHT_NOBITS, SHT_DYNSYM = 2, 8, 11
# Number of symbols that are read at a time.
_CHUNK = 1 << 14


class Section(Struct, frozen=True):
    """A section header (gABI, "Section Header"); offset and size in bytes.

    Attributes:
        name: offset of its name in the section name table.
        link: number of the linked section; for a symbol table, its strings.
    """

    name: int
    type: int
    address: int
    offset: int
    size: int
    link: int
    flags: int = 0


def read_sections(image: Image) -> list[Section]:
    """All section headers; none if the table is absent or damaged."""
    layout = struct.Struct(image.endian + ("IIQQQQIIQQ" if image.is64 else "IIIIIIIIII"))
    end = image.section_offset + image.section_count * layout.size
    if image.section_entry_size != layout.size or not image.section_offset or end > image.size:
        return []
    rows = layout.iter_unpack(image.buffer[image.section_offset : end])
    return [Section(row[0], row[1], row[3], row[4], row[5], row[6], row[2]) for row in rows]


def named_sections(image: Image) -> Iterator[tuple[bytes, Section]]:
    """(name, header) of the sections with bytes in the file; none if the names are absent."""
    sections = read_sections(image)
    if image.section_names >= len(sections):
        return
    names = sections[image.section_names]
    for each in sections:
        if each.type != SHT_NOBITS and each.offset < image.size:
            yield image.string(names.offset + each.name, names.offset + names.size), each


def section(image: Image, wanted: bytes) -> tuple[int, int] | None:
    """(offset, size) of the section of this name, clipped to the file; None if absent."""
    found = next((each for name, each in named_sections(image) if name == wanted), None)
    return None if found is None else (found.offset, min(found.size, image.size - found.offset))


def ranges_around(values: Sequence[int], sizes: Sequence[int], addresses: Sequence[int]) -> list[int]:
    """Indices of the ranges that contain one of the sorted addresses."""
    following = [*addresses, 1 << 65]
    return [
        number
        for number, value in enumerate(values)
        if following[bisect_left(addresses, value)] < value + sizes[number]
    ]


def static_symbols(
    image: Image, most: int | None = None, around: Sequence[int] | None = None
) -> Iterator[tuple[int, int, int, int, int, int]]:
    """(offset of the name in the file, end of the strings, st_info, st_shndx, st_value, st_size) of up to `most`
    entries of .symtab. `Image.string` takes the first two.

    Args:
        around: sorted addresses; entries whose range contains none of them are left out, by columns: 0.1 us instead of
            0.3 each.
    """
    layout = struct.Struct(image.endian + ("IBBHQQ" if image.is64 else "IIIBBH"))
    sections = read_sections(image)
    for table in sections:
        if table.type != SHT_SYMTAB or table.link >= len(sections) or table.offset + table.size > image.size:
            continue
        strings = sections[table.link]
        strings_end = strings.offset + strings.size
        count = table.size // layout.size if most is None else min(table.size // layout.size, most)
        for start in range(0, count, _CHUNK):
            stop = min(start + _CHUNK, count)
            first = table.offset + start * layout.size
            data = image.buffer[first : table.offset + stop * layout.size]
            rows = layout.iter_unpack(data)
            if around is not None:
                words = image.words(first, len(data) // (8 if image.is64 else 4), "Q" if image.is64 else "I", ".symtab")
                at, step = (1, 3) if image.is64 else (1, 4)
                kept = ranges_around(words[at::step].tolist(), words[at + 1 :: step].tolist(), around)
                rows = (layout.unpack_from(data, number * layout.size) for number in kept)
            for fields in rows:
                if image.is64:
                    name, info, _other, index, value, size = fields
                else:
                    name, value, size, info, _other, index = fields
                yield strings.offset + name, strings_end, info, index, value, size


def strings_with(image: Image, part: bytes, gap: int | None = None) -> Iterator[bytes]:
    """`FileBuffer.strings_with` over the read-only data sections, or over the segments without PF_W if there are none.

    Args:
        gap: linkers merge the strings of all objects (gABI, "SHF_MERGE"): related strings are adjacent.
    """
    return image.strings_with(part, read_only_data(image), gap)


def symbol_names_with(image: Image, part: bytes, gap: int) -> Iterator[bytes]:
    """As `strings_with`, for the names of its static symbols; none if they were stripped."""
    names = section(image, b".strtab")
    return image.strings_with(part, [] if names is None else [names], gap)


def read_only_data(image: Image) -> list[tuple[int, int]]:
    """(offset, size) of the read-only data of a file, clipped to it."""
    found = [
        (each.offset, each.size) for name, each in named_sections(image) if name.startswith((b".rodata", b".lrodata"))
    ]
    if not found:
        found = [(s.offset, s.file_size) for s in image.segments if s.type == PT_LOAD and not s.flags & PF_W]
    return [(offset, min(size, image.size - offset)) for offset, size in found if offset < image.size]
