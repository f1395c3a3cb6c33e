"""The definition that a relocation's symbol resolves to: `RESOLVE_MAP` in elf/dl-reloc.c of glibc.

`Binder` makes the checks of one file the same with a process and without one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from msgspec import Struct

from abiscan.elf import ElfFile
from abiscan.elf.symbols import SHN_ABS, STB_LOCAL, STV_HIDDEN, STV_INTERNAL, RawSymbol
from abiscan.loader.linkmap import LinkMap


class Definition(Struct, frozen=True):
    """The definition that a relocation's symbol resolves to.

    Attributes:
        elf: the file that defines it; None if that is unknown or nothing does.
        symbol: its entry there; None with `elf`.
        item: that file in the process; None without a process.
        is_absent: nothing defines it and the reference is weak: its value is 0.
    """

    elf: ElfFile | None = None
    symbol: RawSymbol | None = None
    item: LinkMap | None = None
    is_absent: bool = False

    @property
    def is_absolute(self) -> bool:
        """Whether its value is a plain number rather than an address in the file (SHN_ABS)."""
        return self.symbol is not None and self.symbol.section == SHN_ABS


UNKNOWN = Definition()
ABSENT = Definition(is_absent=True)


class Binder(Protocol):
    """Resolves the symbols of one file's relocations.

    Attributes:
        executable: executable of the process; None if unknown.
    """

    executable: ElfFile | None

    def __call__(self, index: int, kind: int) -> Definition:
        """The definition of entry `index` of .dynsym, for a relocation of type `kind`."""


class FileBinder:
    """Resolves what the file defines to the file itself, which is right unless another library interposes. Everything
    else is unknown."""

    executable: ElfFile | None = None

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf

    @cached_property
    def _open(self) -> frozenset[int]:
        return frozenset(symbol.number for symbol in self._elf.open_references)

    def __call__(self, index: int, kind: int) -> Definition:
        """See `Binder`."""
        symbol = self._elf.symbols.raw(index)
        if binds_locally(symbol) or (symbol.section and index not in self._open):
            return Definition(self._elf, symbol)
        return UNKNOWN


def binds_locally(symbol: RawSymbol) -> bool:
    """Whether a reference to this entry resolves to the file itself without a lookup, even if the entry is
    undefined."""
    return symbol.binding == STB_LOCAL or symbol.visibility in (STV_HIDDEN, STV_INTERNAL)
