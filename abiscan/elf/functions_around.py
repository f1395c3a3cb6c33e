"""Finds the functions around addresses of code, by symbols and by unwind information."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import Final

from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.sections import static_symbols
from abiscan.elf.symbols import STT_FUNC, STT_GNU_IFUNC

# Maximum number of .symtab entries read for function names; about 0.4 s.
_MAX_SYMBOLS: Final = 1 << 20
PT_GNU_EH_FRAME: Final = 0x6474E550


class Functions:
    """Names and starts of the functions around some addresses."""

    def __init__(self, elf: DynamicFile, addresses: list[int]) -> None:
        self._elf = elf
        self._named: dict[int, tuple[str, int]] = {}
        if addresses:
            self._read_symtab(elf, addresses)
            if not self._named:
                self._read_dynsym(elf, addresses)

    @cached_property
    def _frames(self) -> list[int]:
        return frame_starts(self._elf)

    def _read_symtab(self, elf: DynamicFile, addresses: list[int]) -> None:
        for name, end, info, place, value, length in static_symbols(elf.image, _MAX_SYMBOLS, addresses):
            if place and info & 0xF in (STT_FUNC, STT_GNU_IFUNC):
                raw = elf.image.string(name, end)
                for address in _addresses_within(addresses, value, length):
                    self._named.setdefault(address, (raw.decode("utf-8", "surrogateescape"), value))

    def _read_dynsym(self, elf: DynamicFile, addresses: list[int]) -> None:
        for symbol in elf.symbols.around(addresses):
            if symbol.section and symbol.type in (STT_FUNC, STT_GNU_IFUNC):
                for address in _addresses_within(addresses, symbol.value, symbol.size):
                    raw = elf.symbols.name_of(symbol)
                    self._named.setdefault(address, (raw.decode("utf-8", "surrogateescape"), symbol.value))

    def around(self, address: int) -> tuple[str | None, int | None]:
        """The name and start of the function around an address."""
        named = self._named.get(address)
        if named is not None:
            return named
        at = bisect_right(self._frames, address) - 1
        return None, self._frames[at] if at >= 0 else None


def _addresses_within(addresses: list[int], start: int, length: int) -> list[int]:
    """The sorted `addresses` that are in a range."""
    at = bisect_left(addresses, start)
    if at == len(addresses) or addresses[at] >= start + length:
        return []
    return addresses[at : bisect_left(addresses, start + length)]


def frame_starts(elf: DynamicFile) -> list[int]:
    """First addresses of all functions with unwind information, sorted: the table of .eh_frame_hdr (LSB core generic,
    chapter 10.6), in the only encoding that linkers write."""
    image = elf.image
    for segment in image.segments:
        if segment.type != PT_GNU_EH_FRAME or segment.offset + segment.file_size > image.size or segment.file_size < 12:
            continue
        head = image.buffer[segment.offset : segment.offset + 12]
        # version 1; eh_frame_ptr sdata4 pc-relative; fde_count udata4; table sdata4 relative to the header
        if head[:4] != b"\x01\x1b\x03\x3b":
            return []
        count = min(struct.unpack(image.endian + "I", head[8:12])[0], (segment.file_size - 12) // 8)
        view = image.words(segment.offset + 12, count * 2, "I", "the exception frame table")
        base = segment.address
        return sorted(
            (base + start) & 0xFFFFFFFF if start & 0x80000000 else base + start for start in view[::2].tolist()
        )
    return []
