"""The symbol table (LC_SYMTAB; <mach-o/nlist.h>), for files that have neither bind opcodes nor an export trie."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from abiscan.macho.macho_image import MachoImage
from abiscan.model.limits import MAX_EXPORTS

_COMMAND = struct.Struct("<IIII")
_NLIST = struct.Struct("<IBBHI")
_NLIST_64 = struct.Struct("<IBBHQ")
_N_STAB, _N_PEXT, _N_TYPE, _N_EXT = 0xE0, 0x10, 0x0E, 0x01
_N_UNDF, _N_ABS, _N_SECT = 0x0, 0x2, 0xE
_N_WEAK_REF, _N_WEAK_DEF = 0x40, 0x80
_LC_SYMTAB: Final = 0x02
# Ordinals of the special lookups, and their numbers in bind opcodes.
_SPECIAL: Final = {0xFE: -2, 0xFF: -1}


class ListedSymbol(Struct, frozen=True, gc=False):
    """An external symbol.

    Attributes:
        ordinal: as in bind opcodes, for an undefined symbol.
        weak: a weak reference, or a weak definition.
        address: as in the file; 0 for an undefined one.
    """

    name: bytes
    is_defined: bool
    ordinal: int
    weak: bool
    absolute: bool
    address: int


def external_symbols(image: MachoImage) -> Iterator[ListedSymbol]:
    """The external symbols of the table, in order, without private ones and debug entries.

    Raises:
        UnreadableFile: the table or its strings lie outside of the file; it has more than MAX_EXPORTS entries.
    """
    command = next((each for each in image.commands if each.kind == _LC_SYMTAB), None)
    if command is None:
        return
    offset, count, strings, strings_size = image.fields(command, _COMMAND)
    layout = _NLIST_64 if image.is64 else _NLIST
    if count > MAX_EXPORTS:
        raise image.corrupt(f"a symbol table of {count} entries")
    table = image.piece(offset, count * layout.size, "the symbol table")
    if strings + strings_size > image.slice_size:
        raise image.corrupt("the names of its symbol table end outside of the file")
    start = image.slice_start + strings
    rows = [
        row
        for row in layout.iter_unpack(table)
        if row[1] & _N_EXT and not row[1] & (_N_STAB | _N_PEXT) and row[1] & _N_TYPE in (_N_UNDF, _N_ABS, _N_SECT)
    ]
    names = image.strings([start + row[0] for row in rows], start + strings_size)
    for name, (_, kind, _, description, value) in zip(names, rows, strict=True):
        is_defined = kind & _N_TYPE != _N_UNDF
        number = description >> 8 & 0xFF
        weak = description & (_N_WEAK_DEF if is_defined else _N_WEAK_REF)
        # An undefined symbol with a value is a common symbol of an object file.
        if name and (is_defined or not value):
            absolute = kind & _N_TYPE == _N_ABS
            yield ListedSymbol(name, is_defined, _SPECIAL.get(number, number), bool(weak), absolute, value)
