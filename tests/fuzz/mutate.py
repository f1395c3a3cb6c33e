"""Mutations of bytes and texts, and of the tables of an ELF file. All use one random generator, so that seed, kind and
number reproduce an input."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable

# Values at which counts, sizes and offsets often go wrong.
EDGES = (0, 1, 2, 3, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0xFFF, 0x1000, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF)
WIDE_EDGES = (*EDGES, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 47) - 1, 1 << 47, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_TAGS = (*range(40), 0x6FFFFEF5, 0x6FFFFFF0, *range(0x6FFFFFF9, 0x70000000), 0x7FFFFFFD, 0x7FFFFFFF)
_PT = (0, 1, 2, 3, 4, 6, 7, 0x6474E550, 0x6474E551, 0x6474E552, 0x6474E553, 0x70000000)

Rng = random.Random
_DIGIT = re.compile(r"\d")


def mutate_bytes(data: bytes, rng: Rng) -> bytes:
    """Some bytes changed, moved, repeated or cut off."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if not out:
            break
        at = rng.randrange(len(out))
        match rng.randrange(7):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at : at + 4] = rng.choice(WIDE_EDGES).to_bytes(8, "little")[:4]
            case 2:
                del out[at : at + rng.choice((1, 4, 64, 1024))]
            case 3:
                out[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 32))))
            case 4:
                size = rng.choice((4, 24, 256))
                out[at : at + size] = out[(source := rng.randrange(len(out))) : source + size]
            case 5:
                out[at:at] = out[at : at + rng.choice((8, 64, 512))] * rng.choice((1, 2, 50))
            case _:
                if rng.random() < 0.2:
                    del out[at:]
                else:
                    out[at] = rng.randrange(256)
    return bytes(out)


def mutate_text(text: str, rng: Rng, tokens: tuple[str, ...]) -> str:
    """Characters and words changed, repeated, nested."""
    out = text
    for _ in range(rng.choice((1, 2, 4, 8))):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(7):
            case 0:
                out = out[:at] + rng.choice(tokens) + out[at:]
            case 1:
                out = out[:at] + out[at + rng.choice((1, 3, 20)) :]
            case 2:
                out = out[:at] + rng.choice(tokens) * rng.choice((2, 30, 400)) + out[at:]
            case 3:
                out = (
                    out[:at]
                    + chr(rng.choice((0, 7, 27, 0x85, 0x202E, 0xDC80, 0x1F600, rng.randrange(1, 255))))
                    + out[at:]
                )
            case 4:
                size = rng.choice((5, 40, 300))
                out = out[:at] + out[at : at + size] * 2 + out[at + size :]
            case 5:
                # Python converts no number of more than 4,300 digits.
                number = _DIGIT.search(out, at) or _DIGIT.search(out)
                end = at if number is None else number.end()
                out = out[:end] + rng.choice("0179") * rng.choice((1, 8, 30, 5_000)) + out[end:]
            case _:
                other = rng.randrange(len(out) + 1)
                low, high = min(at, other), max(at, other)
                out = out[:low] + out[high:] if rng.random() < 0.3 else out[low:high] + out[:low] + out[high:]
        if len(out) > 1 << 20:
            out = out[: 1 << 20]
    return out


class ElfTables:
    """The tables of a little-endian ELF64 file according to its headers; only for mutations."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        start, size, count = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
        self.segments = [start + size * number for number in range(count)]
        self.values: dict[int, int] = {}
        self.dynamic: list[int] = []
        for at in self.segments:
            if struct.unpack_from("<I", data, at)[0] == 2:
                offset, length = struct.unpack_from("<Q", data, at + 8)[0], struct.unpack_from("<Q", data, at + 32)[0]
                self.dynamic = list(range(offset, offset + length, 16))
        for at in self.dynamic:
            tag, value = struct.unpack_from("<QQ", data, at)
            self.values[tag] = value

    def offset(self, tag: int) -> int | None:
        """The file offset that a dynamic entry points to."""
        address = self.values.get(tag)
        for at in self.segments:
            kind, _, offset, start, _, size = struct.unpack_from("<IIQQQQ", self.data, at)
            if kind == 1 and address is not None and start <= address < start + size:
                return int(offset + address - start)
        return None


def mutate_elf(data: bytes, rng: Rng) -> bytes:
    """One to three mutations of tables that a loader reads; sometimes of any byte."""
    tables = ElfTables(data)
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choices(_ELF, weights=_WEIGHTS)[0](out, tables, rng)
    if rng.random() < 0.03:
        return mutate_bytes(bytes(out), rng)
    return bytes(out)


def _put(out: bytearray, at: int, value: int, size: int) -> None:
    if at >= 0 and at + size <= len(out):
        out[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


def _value(old: int, rng: Rng, size: int) -> int:
    """Another number: near the old one, an edge value, or any."""
    match rng.randrange(5):
        case 0 | 1:
            return old + rng.choice((-4096, -64, -24, -16, -8, -1, 1, 8, 16, 24, 64, 4096, 1 << 20))
        case 2:
            return rng.choice(WIDE_EDGES)
        case 3:
            return old ^ 1 << rng.randrange(8 * size)
        case _:
            return rng.randrange(1 << 16)


def mutate_field(out: bytearray, at: int, size: int, rng: Rng) -> None:
    """Replace a number of `size` bytes at an offset; nothing if it is outside."""
    if at >= 0 and at + size <= len(out):
        _put(out, at, _value(int.from_bytes(out[at : at + size], "little"), rng, size), size)


def _header(out: bytearray, tables: ElfTables, rng: Rng) -> None:
    at, size = rng.choice(
        ((7, 1), (16, 2), (18, 2), (20, 4), (24, 8), (32, 8), (40, 8), (48, 4), (54, 2), (56, 2), (60, 2))
    )
    mutate_field(out, at, size, rng)


def _program_header(out: bytearray, tables: ElfTables, rng: Rng) -> None:
    at = rng.choice(tables.segments)
    field = rng.choice((0, 4, 8, 16, 32, 40, 48))
    if field == 0:
        _put(out, at, rng.choice(_PT), 4)
    elif field == 4:
        _put(out, at + 4, rng.randrange(8), 4)
    else:
        mutate_field(out, at + field, 8, rng)


def _swap_headers(out: bytearray, tables: ElfTables, rng: Rng) -> None:
    one, other = rng.choice(tables.segments), rng.choice(tables.segments)
    out[one : one + 56], out[other : other + 56] = out[other : other + 56], out[one : one + 56]


def _copy_header(out: bytearray, tables: ElfTables, rng: Rng) -> None:
    one, other = rng.choice(tables.segments), rng.choice(tables.segments)
    out[other : other + 56] = out[one : one + 56]


def _dynamic(out: bytearray, tables: ElfTables, rng: Rng) -> None:
    if not tables.dynamic:
        return
    at = rng.choice(tables.dynamic)
    if rng.random() < 0.4:
        _put(out, at, rng.choice(_TAGS), 8)
    else:
        mutate_field(out, at + 8, 8, rng)


def _in_table(tag: int, entry: int, fields: tuple[tuple[int, int], ...], count_tag: int | None, most: int) -> _Mutation:
    def mutation(out: bytearray, tables: ElfTables, rng: Rng) -> None:
        start = tables.offset(tag)
        if start is None:
            return
        size = tables.values.get(count_tag, most * entry) if count_tag is not None else most * entry
        at = start + entry * rng.randrange(max(min(size // entry, most), 1))
        field, width = rng.choice(fields)
        mutate_field(out, at + field, width, rng)

    return mutation


def _string(out: bytearray, tables: ElfTables, rng: Rng) -> None:
    start = tables.offset(5)
    if start is None:
        return
    at = start + rng.randrange(max(tables.values.get(10, 1), 1))
    if at < len(out):
        out[at] = rng.choice((0, 0, 0x20, 0x2F, 0x24, 0x80, 0xFF, rng.randrange(256)))


def _note(out: bytearray, tables: ElfTables, rng: Rng) -> None:
    notes = [at for at in tables.segments if struct.unpack_from("<I", tables.data, at)[0] in (4, 0x6474E553)]
    if notes:
        offset, _, _, size = struct.unpack_from("<QQQQ", tables.data, rng.choice(notes) + 8)
        mutate_field(out, offset + 4 * rng.randrange(max(size // 4, 1)), 4, rng)


def _section(out: bytearray, tables: ElfTables, rng: Rng) -> None:
    start, count = struct.unpack_from("<Q", tables.data, 40)[0], struct.unpack_from("<H", tables.data, 60)[0]
    if start and count:
        at = start + 64 * rng.randrange(count)
        field, size = rng.choice(((0, 4), (4, 4), (16, 8), (24, 8), (32, 8), (40, 4), (56, 8)))
        mutate_field(out, at + field, size, rng)


def _relocation(out: bytearray, tables: ElfTables, rng: Rng) -> None:
    """Another type that the loader knows, a place in or near a table of functions, or such an addend."""
    tag, count = rng.choice(((7, 8), (23, 2)))
    start = tables.offset(tag)
    if start is None:
        return
    at = start + 24 * rng.randrange(max(min(tables.values.get(count, 24) // 24, 500), 1))
    addresses = [tables.values[tag] for tag in (25, 26, 32, 12, 36) if tag in tables.values]
    match rng.randrange(4):
        case 0 | 1:
            _put(out, at + 8, rng.choice(_KNOWN_TYPES), 4)
        case 2 if addresses:
            _put(out, at, rng.choice(addresses) + rng.choice((-16, -8, -7, -4, -1, 0, 0, 0, 1, 4, 8)), 8)
        case _:
            _put(out, at + 16, rng.choice((0, *addresses)) + rng.choice((-64, 0, 0, 1, 0x1000)), 8)


def _tls_header(out: bytearray, tables: ElfTables, rng: Rng) -> None:
    """A program header of thread-local variables."""
    at = rng.choice(tables.segments)
    _put(out, at, rng.choice((7, 7, 4, 0x6474E552)), 4)
    _put(out, at + 32, 0, 8)
    _put(out, at + 40, rng.choice((0, 8, 16, 0x1000)), 8)
    _put(out, at + 48, rng.choice((0, 1, 8, 16, 128)), 8)


_Mutation = Callable[[bytearray, ElfTables, Rng], None]
# Of x86-64.
_KNOWN_TYPES = (0, 1, 2, 5, 6, 7, 8, 10, 16, 17, 18, 32, 33, 36, 37, 38)
_FIELDS = ((0, 8), (8, 4), (12, 4), (16, 8))
_ELF: tuple[_Mutation, ...] = (
    _header,
    _program_header,
    _swap_headers,
    _copy_header,
    _dynamic,
    _in_table(6, 24, ((0, 4), (4, 1), (5, 1), (6, 2), (8, 8), (16, 8)), None, 200),
    _in_table(7, 24, _FIELDS, 8, 500),
    _in_table(23, 24, _FIELDS, 2, 500),
    _in_table(36, 8, ((0, 8),), 35, 100),
    _in_table(0x6FFFFEF5, 4, ((0, 4),), None, 40),
    _in_table(4, 4, ((0, 4),), None, 40),
    _in_table(0x6FFFFFF0, 2, ((0, 2),), None, 60),
    _in_table(0x6FFFFFFE, 4, ((0, 2), (2, 2), (0, 4)), None, 30),
    _in_table(0x6FFFFFFC, 4, ((0, 2), (2, 2), (0, 4)), None, 30),
    _in_table(25, 8, ((0, 8),), 27, 8),
    _in_table(32, 8, ((0, 8),), 33, 8),
    _relocation,
    _tls_header,
    _string,
    _note,
    _section,
)
_WEIGHTS = (3, 6, 1, 1, 8, 6, 5, 5, 2, 3, 2, 3, 3, 2, 1, 1, 5, 1, 4, 2, 2)
