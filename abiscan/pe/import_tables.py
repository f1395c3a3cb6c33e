"""The import table and the delay-load import table."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from abiscan.model.limits import MAX_IMPORTS, MAX_NEEDED
from abiscan.model.pe_facts import PeImport
from abiscan.pe.pe_image import DELAYED_IMPORTS, IMPORTS, PeImage

_DESCRIPTOR = struct.Struct("<IIIII")
_DELAYED_DESCRIPTOR = struct.Struct("<IIIIIIII")
# Attribute of a delay-load descriptor: its fields are RVAs; Visual C++ 6 wrote addresses.
_FIELDS_ARE_RVAS: Final = 1


class ImportedLibrary(Struct, frozen=True):
    """A descriptor of one of the two tables.

    Attributes:
        name: of the DLL.
        names: RVA of its import lookup table.
        base: subtracted from the addresses in that table to get RVAs.
    """

    name: str
    names: int
    base: int
    delayed: bool


def imported_libraries(image: PeImage) -> tuple[ImportedLibrary, ...]:
    """The descriptors of both tables, in order, the import table first.

    Raises:
        UnreadableFile: a table or a name lies outside of the file, or there are more than MAX_NEEDED.
    """
    return (*_libraries(image), *_delayed_libraries(image))


def _rows(image: PeImage, directory: int, layout: struct.Struct, what: str) -> Iterator[tuple[int, ...]]:
    address, _ = image.directories[directory]
    if not address:
        return
    offset, end = image.extent_of(address, what)
    # The loader ignores the size in the data directory: a descriptor of zeros is the end.
    for number in range((end - offset) // layout.size):
        if number > MAX_NEEDED:
            raise image.corrupt(f"{what} has more than {MAX_NEEDED} entries")
        yield image.unpack(layout, offset + number * layout.size)


def _libraries(image: PeImage) -> Iterator[ImportedLibrary]:
    for lookup, _, _, name, thunks in _rows(image, IMPORTS, _DESCRIPTOR, "the import table"):
        if not name or not thunks:
            return
        # Borland's linker omits the lookup table; the address table has the same contents in the file.
        yield ImportedLibrary(image.text_at(name, "a name of the import table"), lookup or thunks, 0, False)


def _delayed_libraries(image: PeImage) -> Iterator[ImportedLibrary]:
    what = "the delay-load import table"
    for attributes, name, _, _, lookup, _, _, _ in _rows(image, DELAYED_IMPORTS, _DELAYED_DESCRIPTOR, what):
        if not name:
            return
        base = 0 if attributes & _FIELDS_ARE_RVAS else image.image_base
        yield ImportedLibrary(image.text_at(name - base, f"a name of {what}"), lookup - base, base, True)


def read_imports(image: PeImage, libraries: tuple[ImportedLibrary, ...]) -> tuple[PeImport, ...]:
    """The imports from these libraries, in table order.

    Raises:
        UnreadableFile: a table or a name is outside of the file; there are more imports than MAX_IMPORTS, or than fit
            in the file without overlaps.
    """
    by_ordinal = 1 << 63 if image.is64 else 1 << 31
    left = min(MAX_IMPORTS, image.size // (8 if image.is64 else 4))
    found: list[tuple[ImportedLibrary, int]] = []
    for library in libraries:
        what = f"the imports from {library.name}"
        words = list(image.thunks(library.names, left, what)) if library.names else []
        left -= len(words)
        found += [(library, word) for word in words]
    # A hint of two bytes precedes each name.
    addresses = [(word & 0x7FFFFFFF) - library.base + 2 for library, word in found if not word & by_ordinal]
    names = iter(image.texts_at(addresses))
    imports = []
    for library, word in found:
        if word & by_ordinal:
            imports.append(PeImport(library.name, None, word & 0xFFFF, library.delayed))
            continue
        name = next(names)
        if name is None:
            raise image.corrupt(f"a name that is imported from {library.name} is outside of the file")
        imports.append(PeImport(library.name, name, None, library.delayed))
    return tuple(imports)
