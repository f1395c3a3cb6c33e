"""Constants that code passes to an import in an integer register, as far as the code before the call shows them.

The instructions of the calling function are followed once, in address order, with the known bytes of each register and
stack slot: constants and copies of them. Whatever another instruction may write becomes unknown, and everything becomes
unknown at a jump target. A stack slot is assumed to have one name: writes relative to another register go to another
object. Calling conventions: System V ABI for x86-64, section 3.2.3; AAPCS64, section 6.8.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Final

from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.x86_instructions import LATER_MAP, SHIFTS, Instruction, instructions
from abiscan.model.facts import CallSite
from abiscan.model.limits import MAX_SITES

# The four low bytes of a value; None for an unknown byte.
Word = tuple[int | None, ...]
_UNKNOWN: Final[Word] = (None,) * 4
# Limit for the code of all functions together, in bytes; one microsecond each.
_MAX_WALKED: Final = 1 << 18
# Longest instruction of x86-64, in bytes.
_LONGEST: Final = 15


def call_constants(
    elf: DynamicFile, names: Collection[str], position: int, sites: Mapping[str, tuple[CallSite, ...]] | None = None
) -> dict[str, tuple[Word, ...]]:
    """For each import, the low four bytes of an argument at each call, in address order.

    If there may be more calls than are looked at, one unknown value follows.

    Args:
        names: mangled names of imports of the file.
        position: index of the argument among those in integer registers, from 0.
        sites: the call sites, if they were searched already.

    Raises:
        UnreadableFile: a table lies outside of the file.
    """
    from abiscan.elf.call_sites import find_call_sites

    walk = {"x86_64": _x86_64, "aarch64": _aarch64}.get(elf.machine)
    if walk is None:
        return {}
    found = {}
    sites = find_call_sites(elf, names) if sites is None else {name: sites[name] for name in names if sites[name]}
    calls: dict[int, dict[int, int]] = {}
    for listed in sites.values():
        for each in listed:
            if each.called and each.function_start is not None:
                calls.setdefault(each.function_start, {})[each.address] = each.offset
    known: dict[int, Word] = {}
    left = _MAX_WALKED
    for start, places in sorted(calls.items()):
        address, offset = max(places.items())
        end = offset + _LONGEST
        begin = offset - (address - start)
        if begin >= 0 and end - begin <= left:
            left -= end - begin
            elf.image.need(begin, end)
            code = bytes(elf.image.buffer[begin:end])
            known |= {start + at: word for at, word in walk(code, {at - start for at in places}, position).items()}
    for name, listed in sites.items():
        words = tuple(known.get(each.address, _UNKNOWN) for each in listed)
        found[name] = (*words, _UNKNOWN) if len(listed) >= MAX_SITES else words
    return found


class _State:
    """Known values before an instruction: registers, and bytes by (register, displacement)."""

    def __init__(self) -> None:
        self.registers: dict[int, Word] = {}
        self.stack: dict[tuple[int, int], int | None] = {}

    def forget(self) -> None:
        self.registers.clear()
        self.stack.clear()

    def forget_register(self, register: int) -> None:
        self.registers.pop(register, None)

    def forget_stack(self, base: int | None = None) -> None:
        """Forget what is not relative to the register, or everything."""
        self.stack = {place: byte for place, byte in self.stack.items() if base is not None and place[0] != base}

    def store(self, base: int, displacement: int, word: Iterable[int | None]) -> None:
        for at, byte in enumerate(word):
            self.stack[base, displacement + at] = byte

    def load(self, base: int, displacement: int) -> Word:
        return tuple(self.stack.get((base, displacement + at)) for at in range(4))


def _bytes(value: int) -> Word:
    return tuple((value & 0xFFFFFFFF).to_bytes(4, "little"))


# --- x86-64 -----------------------------------------------------------------------------------------------------

_RAX, _RCX, _RDX, _RBX, _RSP, _RBP, _RSI, _RDI = range(8)
_ARGUMENTS = (_RDI, _RSI, _RDX, _RCX, 8, 9)
_CLOBBERED = (_RAX, _RCX, _RDX, _RSI, _RDI, 8, 9, 10, 11)
_FRAME = (_RSP, _RBP)
# Size of an AVX-512 vector register in bytes, the widest store.
_WIDEST = 64


def _x86_64(code: bytes, calls: Set[int], position: int) -> dict[int, Word]:
    read = list(instructions(code))
    targets = {each.end + each.displacement for each in read if each.opcode in _JUMPS}
    state = _State()
    found = {}
    for each in read:
        if each.start in targets:
            state.forget()
        if each.opcode in (0xE8, 0xE9, 0xFF):
            # The site's address is that of the opcode, after prefixes such as `bnd`.
            for at in calls & set(range(each.start, each.end)):
                found[at] = state.registers.get(_ARGUMENTS[position], _UNKNOWN)
        _follow(each, state)
    return found


_JUMPS = frozenset((0xE9, 0xEB, *range(0xE0, 0xE4), *range(0x70, 0x80), *range(0xF80, 0xF90)))


def _follow(each: Instruction, state: _State) -> None:
    """Update the state for an instruction."""
    opcode, in_register, on_stack = each.opcode, each.mod == 3, each.base in _FRAME
    if opcode in (0xE9, 0xEB, 0xC2, 0xC3, 0xCC) or (opcode == 0xFF and each.reg in (4, 5)):
        state.forget()  # the next instruction is reached from elsewhere
    elif opcode == 0xE8 or (opcode == 0xFF and each.reg in (2, 3)):
        for register in _CLOBBERED:
            state.forget_register(register)
    elif 0xB8 <= opcode <= 0xBF and each.size >= 4:
        state.registers[each.rm] = _bytes(each.constant)
    elif opcode in (0x31, 0x33) and in_register and each.reg == each.rm:
        state.registers[each.rm] = _bytes(0)
    elif opcode in (0xC6, 0xC7) and on_stack:
        stored = each.constant.to_bytes(each.size, "little", signed=True) if each.size <= 4 else b""
        state.store(each.base, each.displacement, stored or (*_bytes(each.constant), None, None, None, None))
    elif opcode == 0xC7 and in_register and each.size >= 4:
        state.registers[each.rm] = _bytes(each.constant)
    elif opcode in (0x89, 0x8B) and in_register and each.size >= 4:
        to, of = (each.rm, each.reg) if opcode == 0x89 else (each.reg, each.rm)
        state.registers[to] = state.registers.get(of, _UNKNOWN)
        if to in _FRAME:
            state.forget_stack(to)
    elif opcode in (0x88, 0x89) and on_stack and not (opcode == 0x88 and each.reg in range(4, 8)):
        word = state.registers.get(each.reg, _UNKNOWN)
        state.store(each.base, each.displacement, (*word, None, None, None, None)[: each.size])
    elif opcode == 0x8B and on_stack and each.size >= 4:
        state.registers[each.reg] = state.load(each.base, each.displacement)
    else:
        _lose(each, state)


# Instructions that only read: comparisons, tests, conditional jumps, NOP and ENDBR64.
_READING = frozenset(
    (*range(0x38, 0x3E), 0x84, 0x85, 0x90, 0xA8, 0xA9, *range(0x70, 0x80), 0xF1E, 0xF1F, *range(0xF80, 0xF90))
)


def _lose(each: Instruction, state: _State) -> None:
    """Forget everything that an instruction may write."""
    if each.opcode in _READING:
        return
    if each.mod < 0 or each.opcode in (0xF6, 0xF7):
        for register in (_RAX, _RCX, _RDX, _RSI, _RDI):
            state.forget_register(register)
    for register in (each.rm if each.mod == 3 else -1, each.reg):
        state.forget_register(register)
        if each.opcode >= LATER_MAP:
            state.forget_register(register + 8)
    if each.opcode == SHIFTS:
        state.registers.clear()
    # LEA computes an address and does not write to it.
    if each.base in _FRAME and each.opcode != 0x8D:
        for at in range(each.displacement, each.displacement + _WIDEST):
            state.stack.pop((each.base, at), None)
    moves = 0x50 <= each.opcode <= 0x5F or each.opcode in (0x68, 0x6A, 0x9C, 0x9D, 0xC8, 0xC9)
    if moves or (each.opcode == 0xFF and each.reg == 6) or (each.opcode == 0x8F):
        state.forget_stack(_RSP)
    for frame in _FRAME:
        if frame in (each.reg, each.rm if each.mod == 3 else -1):
            state.forget_stack(frame)


# --- AArch64 ----------------------------------------------------------------------------------------------------

_ZERO, _SP = 31, 31
_CALLER_SAVED = range(19)


def _aarch64(code: bytes, calls: Set[int], position: int) -> dict[int, Word]:
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    targets = {at * 4 + distance for at, word in enumerate(words) if (distance := _branch(word)) is not None}
    state = _State()
    found = {}
    for number, word in enumerate(words):
        if number * 4 in targets:
            state.forget()
        if number * 4 in calls:
            found[number * 4] = state.registers.get(position, _UNKNOWN)
        _follow_word(word, state)
    return found


def _branch(word: int) -> int | None:
    """Distance of B, B.cond, CBZ, CBNZ, TBZ or TBNZ; None for other instructions (Arm ARM, C4.1)."""
    for mask, bits, low, width in (
        (0xFC000000, 0x14000000, 0, 26),
        (0xFF000010, 0x54000000, 5, 19),
        (0x7E000000, 0x34000000, 5, 19),
        (0x7E000000, 0x36000000, 5, 14),
    ):
        if word & mask == bits:
            distance = word >> low & (1 << width) - 1
            return (distance - (distance >> width - 1 << width)) * 4
    return None


def _follow_word(word: int, state: _State) -> None:
    to, of = word & 31, word >> 5 & 31
    if word >> 26 == 0x25 or word & 0xFFFFFC1F == 0xD63F0000:  # BL, BLR
        for register in _CALLER_SAVED:
            state.forget_register(register)
    elif word >> 26 == 5 or word & 0xFE000000 == 0xD6000000:  # B, BR, RET
        state.forget()
    elif _branch(word) is not None or word & 0xFFFFF01F == 0xD503201F:  # hints
        pass
    elif word & 0x7F800000 == 0x52800000:  # MOVZ
        state.registers[to] = _bytes((word >> 5 & 0xFFFF) << (word >> 21 & 3) * 16)
    elif word & 0x7F800000 == 0x72800000 and word >> 21 & 3 < 2:  # MOVK
        at = (word >> 21 & 3) * 2
        old = state.registers.get(to, _UNKNOWN)
        state.registers[to] = (*old[:at], word >> 5 & 0xFF, word >> 13 & 0xFF, *old[at + 2 :])
    elif word & 0x7FE0FFE0 == 0x2A0003E0:  # MOV of a register (ORR with WZR)
        source = word >> 16 & 31
        state.registers[to] = _bytes(0) if source == _ZERO else state.registers.get(source, _UNKNOWN)
    elif word & 0x3FC00000 == 0x39000000 and of == _SP:  # STR, STRH, STRB with an offset
        width = 1 << (word >> 30)
        stored = _bytes(0) if to == _ZERO else state.registers.get(to, _UNKNOWN)
        state.store(_SP, (word >> 10 & 0xFFF) * width, (*stored, None, None, None, None)[:width])
    elif word & 0xBFC00000 == 0xB9400000 and of == _SP:  # LDR
        state.registers[to] = state.load(_SP, (word >> 10 & 0xFFF) << (word >> 30))
    elif word & 0x3A000000 == 0x28000000:  # a pair: STP, LDP
        state.forget_register(to)
        state.forget_register(word >> 10 & 31)
        if of == _SP:
            if word & 0x800000:  # with write-back
                state.forget_stack()
            distance = (word >> 15 & 0x7F ^ 0x40) - 0x40
            # Registers of 4, 8 or 16 bytes.
            for at in range(distance * 16 if distance < 0 else distance * 4, distance * 16 + 32):
                state.stack.pop((_SP, at), None)
    else:
        state.forget_register(to)
        # Another store relative to SP, or a change of SP itself.
        if of == _SP if word & 0x0A000000 == 0x08000000 else to == _SP:
            state.forget_stack()
