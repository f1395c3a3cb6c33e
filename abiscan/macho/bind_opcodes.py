"""The bind opcodes of LC_DYLD_INFO (<mach-o/loader.h>, BIND_OPCODE_...): the symbols that dyld looks up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from abiscan.macho.variable_length import DamagedTableError, read_name, read_uleb

_WEAK_IMPORT: Final = 1
# Opcodes by their high four bits -> how many numbers follow.
_NUMBERS: Final = {0x60: 1, 0x70: 1, 0x80: 1, 0xA0: 1, 0xC0: 2}
_BINDS: Final = frozenset({0x90, 0xA0, 0xB0, 0xC0})
_PLAIN: Final = frozenset({0x50, 0x90, 0xB0})


def bound_symbols(data: bytes, *, lazy: bool = False) -> Iterator[tuple[bytes, int, bool]]:
    """(name, ordinal, weak import) of each symbol that the opcodes bind, each time it is set. Addresses and repetitions
    are ignored: a repetition is one opcode, so the time is linear.

    Args:
        lazy: the opcodes are for lazy binding, where each entry ends with BIND_OPCODE_DONE.

    Raises:
        DamagedTableError: unknown opcode, or a number or name without an end.
    """
    at, end = 0, len(data)
    ordinal = 0
    name = b""
    weak = False
    fresh = False
    while at < end:
        byte = data[at]
        at += 1
        opcode, immediate = byte & 0xF0, byte & 0x0F
        if opcode in _BINDS and fresh:
            yield name, ordinal, weak
            fresh = False
        if opcode in _PLAIN:
            continue
        if opcode in _NUMBERS:
            for _ in range(_NUMBERS[opcode]):
                _, at = read_uleb(data, at)
        elif opcode == 0x00:
            if not lazy:
                return
        elif opcode == 0x10:
            fresh, ordinal = fresh or (bool(name) and ordinal != immediate), immediate
        elif opcode == 0x20:
            number, at = read_uleb(data, at)
            fresh, ordinal = fresh or (bool(name) and ordinal != number), number
        elif opcode == 0x30:
            special = immediate - 16 if immediate else 0
            fresh, ordinal = fresh or (bool(name) and ordinal != special), special
        elif opcode == 0x40:
            weak = bool(immediate & _WEAK_IMPORT)
            name, at = read_name(data, at)
            fresh = True
        elif opcode == 0xD0:
            # BIND_OPCODE_THREADED: the size of a table follows the first of its two forms.
            if immediate == 0:
                _, at = read_uleb(data, at)
        else:
            raise DamagedTableError(f"unknown bind opcode {byte:#04x}")
