"""Length and operands of x86-64 instructions (Intel SDM volume 2, chapter 2 and appendix A).

This is not a disassembler: callers need the length, the register fields, the memory operand and the constant of an
instruction, but not its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct


class Instruction(Struct):
    """One instruction.

    Attributes:
        start, end: offsets in the code.
        opcode: in the one-byte map; 0x0Fxx for the two-byte map; `LATER_MAP` or `SHIFTS` for all others.
        size: size of an integer operand in bytes.
        mod, reg, rm: of ModR/M, with the bits of REX; -1 without one.
        base: the base register of a memory operand that has only that and a displacement; otherwise -1.
        displacement: of that operand; for a relative jump or call, the distance from `end`.
        is_absolute: whether a memory operand has neither base nor index.
        constant: the immediate operand, sign-extended.
    """

    start: int
    end: int
    opcode: int
    size: int
    mod: int = -1
    reg: int = -1
    rm: int = -1
    base: int = -1
    displacement: int = 0
    constant: int = 0
    is_absolute: bool = False


def _set(*ranges: tuple[int, int] | int) -> frozenset[int]:
    return frozenset(
        each for part in ranges for each in (range(part[0], part[1] + 1) if isinstance(part, tuple) else (part,))
    )


_ARITHMETIC = tuple(range(0, 0x40, 8))
_PREFIXES: Final = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))
_MODRM: Final = _set(*((at, at + 3) for at in _ARITHMETIC), 0x63, 0x69, 0x6B, 0x80, 0x81, (0x83, 0x8F)) | _set(
    0xC0, 0xC1, 0xC6, 0xC7, (0xD0, 0xD3), (0xD8, 0xDF), 0xF6, 0xF7, 0xFE, 0xFF
)
_BYTE: Final = _set(*(at + 4 for at in _ARITHMETIC), 0x6A, 0x6B, 0x80, 0x83, 0xA8, (0xB0, 0xB7)) | _set(
    0xC0, 0xC1, 0xC6, 0xCD, (0xE4, 0xE7)
)
_WORD: Final = _set(*(at + 5 for at in _ARITHMETIC), 0x68, 0x69, 0x81, 0xA9, 0xC7)
_SHORT_JUMPS: Final = _set((0x70, 0x7F), (0xE0, 0xE3), 0xEB)
_INVALID: Final = _set(0x06, 0x07, 0x0E, 0x16, 0x17, 0x1E, 0x1F, 0x27, 0x2F, 0x37, 0x3F, 0x60, 0x61, 0x82) | _set(
    0x9A, 0xD4, 0xD5, 0xD6, 0xEA
)
_TWO_BYTE_BARE: Final = _set(0x05, 0x06, 0x08, 0x09, 0x0B, (0x30, 0x37), 0x77, (0xA0, 0xA2), (0xA8, 0xAA), (0xC8, 0xCF))
_TWO_BYTE_CONSTANT: Final = _set((0x70, 0x73), 0xA4, 0xAC, 0xBA, 0xC2, (0xC4, 0xC6))
# All opcodes of the three-byte maps, of VEX and of EVEX (register numbers without the bits of those prefixes); and of
# these, the ones that write an integer register in another field (BMI, in the maps 0F38 and 0F3A).
LATER_MAP: Final = 0x10000
SHIFTS: Final = LATER_MAP + 1


def instructions(code: bytes) -> Iterator[Instruction]:
    """The instructions of a piece of code, from its first byte until one is cut off or invalid.

    Only some of the instructions that are invalid in 64-bit mode are recognised.
    """
    at = 0
    while at < len(code):
        try:
            each = _decoded(code, at)
        except IndexError:
            return
        if each is None or each.end > len(code):
            return
        yield each
        at = each.end


def _decoded(code: bytes, start: int) -> Instruction | None:
    at, rex, narrow, short_address = start, 0, False, False
    while code[at] in _PREFIXES:
        narrow |= code[at] == 0x66
        short_address |= code[at] == 0x67
        at += 1
    if code[at] & 0xF0 == 0x40:
        rex = code[at]
        at += 1
    opcode = code[at]
    at += 1
    wide = bool(rex & 8)
    size = 8 if wide else 2 if narrow else 4
    if opcode in (0xC4, 0xC5, 0x62):
        return _vector(code, start, at, opcode)
    if opcode == 0x0F:
        second = code[at]
        at += 1
        if second in (0x38, 0x3A):
            return _operands(code, Instruction(start, at + 1, LATER_MAP, size), rex, int(second == 0x3A))
        found = Instruction(start, at, 0x0F00 | second, size)
        if 0x80 <= second <= 0x8F:
            return _jump(code, found, 4)
        if second in _TWO_BYTE_BARE:
            return found
        return _operands(code, found, rex, int(second in _TWO_BYTE_CONSTANT))
    if opcode in _INVALID:
        return None
    found = Instruction(start, at, opcode, size if opcode & 1 or opcode in range(0xB8, 0xC0) else 1)
    if opcode in (0xE8, 0xE9):
        return _jump(code, found, 4)
    if opcode in _SHORT_JUMPS:
        return _jump(code, found, 1)
    constant = 1 if opcode in _BYTE else (2 if narrow and not wide else 4) if opcode in _WORD else 0
    if 0xB8 <= opcode <= 0xBF:
        constant = size
    if 0xB0 <= opcode <= 0xBF or 0x50 <= opcode <= 0x5F:
        found.rm, found.mod = opcode & 7 | (rex & 1) << 3, 3
    if opcode in (0xC2, 0xCA, 0xC8):
        constant = 3 if opcode == 0xC8 else 2
    if 0xA0 <= opcode <= 0xA3:
        constant = 4 if short_address else 8
    if opcode in _MODRM:
        if opcode in (0xF6, 0xF7) and code[at] >> 3 & 7 < 2:
            constant = 1 if opcode == 0xF6 else 2 if narrow and not wide else 4
        return _operands(code, found, rex, constant)
    return _constant(code, found, constant)


def _vector(code: bytes, start: int, at: int, prefix: int) -> Instruction:
    """VEX and EVEX: the map determines whether a constant follows, as for the older encodings."""
    group = 1 if prefix == 0xC5 else code[at] & (0x1F if prefix == 0xC4 else 7)
    at += {0xC5: 1, 0xC4: 2, 0x62: 3}[prefix]
    opcode = code[at]
    is_shift = (group == 2 and 0xF2 <= opcode <= 0xF7) or (group == 3 and opcode == 0xF0)
    found = Instruction(start, at + 1, SHIFTS if is_shift else LATER_MAP, 4)
    if group == 1 and opcode == 0x77:
        return found
    return _operands(code, found, 0, int(group == 3 or (group == 1 and opcode in _TWO_BYTE_CONSTANT)))


def _operands(code: bytes, found: Instruction, rex: int, constant: int) -> Instruction:
    at = found.end
    byte = code[at]
    at += 1
    mod, rm = byte >> 6, byte & 7
    found.mod, found.reg, found.rm = mod, byte >> 3 & 7 | (rex & 4) << 1, rm | (rex & 1) << 3
    width = (0, 1, 4, 0)[mod]
    if mod != 3:
        base, index = found.rm, -1
        if rm == 4:
            base, index = code[at] & 7 | (rex & 1) << 3, code[at] >> 3 & 7 | (rex & 2) << 2
            width = 4 if mod == 0 and code[at] & 7 == 5 else width
            base = -1 if mod == 0 and code[at] & 7 == 5 else base
            at += 1
        elif mod == 0 and rm == 5:
            base, width = -1, 4
        found.base = base if index in (-1, 4) else -1
        found.is_absolute = index == 4 and base == -1
    found.displacement = int.from_bytes(code[at : at + width], "little", signed=True)
    found.end = at + width
    return _constant(code, found, constant)


def _constant(code: bytes, found: Instruction, width: int) -> Instruction:
    found.constant = int.from_bytes(code[found.end : found.end + width], "little", signed=True)
    found.end += width
    return found


def _jump(code: bytes, found: Instruction, width: int) -> Instruction:
    found.displacement = int.from_bytes(code[found.end : found.end + width], "little", signed=True)
    found.end += width
    return found
