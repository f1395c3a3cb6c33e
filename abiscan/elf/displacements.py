"""Searches x86-64 code for instructions with a displacement to one of a few addresses.

Within a piece of code some bytes of the displacement to these addresses have only a few possible values, so the regular
expression engine itself skips nearly all other instructions.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.mapping import Segment

Opcode = tuple[bytes, int]
"""The pattern of an opcode without groups, and the number of bytes that it matches."""
CHUNK: Final = 1 << 20
"""Bytes searched with one pattern: smaller pieces need more patterns, with fewer upper halves of a displacement."""
# The same for a search by the second byte, which has few values for few targets: where most calls go to stubs, all
# upper halves are alike. 53 MiB with a million of those take a third of the time.
_PIECE: Final = 1 << 12
_FEW: Final = 8
# In less code for each page with targets, compiling the patterns takes longer than they save.
_MANY_BYTES: Final = 1 << 18
# Bytes of code after which searched pages are released: more than half of a library of 250 MB is code.
_RELEASED: Final = 1 << 24


def displacements(
    text: memoryview,
    base: int,
    opcodes: Sequence[Opcode],
    targets: Collection[int],
    part: range | None = None,
    *,
    release: Callable[[int, int], None] | None = None,
) -> Iterator[tuple[int, int, int]]:
    """(start of the opcode, end of it, target) of matches of an opcode and a disp32 with a target in `targets`, at the
    offsets in `part` of the text (default: all), in address order.

    Args:
        opcodes: searched one after the other.
        release: called from time to time with the range of offsets that was searched.
    """
    if not targets or not text:
        return
    disp = struct.Struct("<i").unpack_from
    # A displacement and its offset have this sum.
    sums = {target - base - 4 for target in targets}
    part = range(len(text)) if part is None else part
    is_selective = (pages := len({target >> 8 for target in targets})) <= _FEW and len(part) >= pages * _MANY_BYTES
    pieces = _group_by_second_byte if is_selective else _group_by_upper_half
    patterns: dict[bytes, list[tuple[re.Pattern[bytes], int]]] = {}
    released = part.start
    for start, end, following in pieces(sorted(target - base for target in targets), part):
        if following not in patterns:
            patterns[following] = [
                (re.compile(op + rb"(?=" + following + rb")", re.DOTALL), size) for op, size in opcodes
            ]
        piece = text[start : end + 16]
        found = []
        for pattern, size in patterns[following]:
            at = start
            # Nearly all matches have another target: bytes between them take a third of the time of match objects.
            *between, _rest = pattern.split(piece)
            for skipped in between:
                at += len(skipped) + size
                if at + disp(text, at)[0] in sums and at - size < end:
                    found.append((at - size, at, base + 4 + at + disp(text, at)[0]))
        yield from sorted(found)
        if release is not None and start - released >= _RELEASED:
            release(released, start)
            released = start


def _group_by_upper_half(targets: Sequence[int], part: range) -> Iterator[tuple[int, int, bytes]]:
    """(start, end, pattern of a displacement) of pieces of a text; the targets are offsets in it."""
    for start in range(part.start, part.stop, CHUNK):
        end = min(start + CHUNK, part.stop)
        upper = _upper_halves(targets[0] - end - 16 >> 16, targets[-1] - start >> 16)
        yield start, end, rb"..(?:" + upper + rb")"


def _group_by_second_byte(targets: Sequence[int], part: range) -> Iterator[tuple[int, int, bytes]]:
    """As `_group_by_upper_half`, by the second byte; the patterns repeat every 64 KiB."""
    first, last = targets[0] - part.stop - 16 >> 24, targets[-1] - part.start >> 24
    # Addresses of a hostile file can be any 64-bit value; 256 consecutive numbers have every last byte.
    tops = _class(range(first, min(last, first + 255) + 1))
    patterns = []
    for start in range(0, 1 << 16, _PIECE):
        values = [each for t in targets for each in range(t - start - _PIECE - 16 >> 8, (t - start >> 8) + 1)]
        patterns.append(b"." + _class(values) + b"." + tops)
    for start in range(part.start & -_PIECE, part.stop, _PIECE):
        yield max(start, part.start), min(start + _PIECE, part.stop), patterns[start // _PIECE % len(patterns)]


def _class(values: Iterable[int]) -> bytes:
    """A pattern for a byte with one of the values, modulo 256; ranges, which compile faster than single bytes."""
    rest = {each & 0xFF for each in values}
    ranges = []
    for first in sorted(rest):
        if first - 1 not in rest:
            last = next(each for each in range(first, 257) if each + 1 not in rest)
            ranges.append(re.escape(bytes([first])) + b"-" + re.escape(bytes([last])))
    return b"[" + b"".join(ranges) + b"]"


def _upper_halves(first: int, last: int) -> bytes:
    """A pattern for the upper two bytes of displacements with the upper half in a range."""
    if last - first > 1024:
        return rb".."
    by_top: dict[int, list[int]] = {}
    for half in range(first, last + 1):
        by_top.setdefault(half >> 8 & 0xFF, []).append(half & 0xFF)
    return b"|".join(
        b"[" + re.escape(bytes([low[0]])) + b"-" + re.escape(bytes([low[-1]])) + b"]" + re.escape(bytes([top]))
        for top, low in by_top.items()
    )


def text_of(elf: DynamicFile, segment: Segment) -> memoryview:
    """The bytes of a segment, up to the end of the file."""
    end = min(segment.offset + segment.file_size, elf.image.size)
    elf.image.need(segment.offset, end)
    return memoryview(elf.image.buffer)[segment.offset : end]
