"""Whether the first instructions of a function that the loader calls certainly end the process (x86-64).

Instructions are followed until control flow depends on a register, on memory or on another file. Of what they read and
write, only addresses near 0 are modelled.
"""

from __future__ import annotations

from msgspec import Struct, field

from abiscan.elf import ElfFile
from abiscan.elf.mapping import PF_W, PF_X, Area, area_at, is_unmapped, page_end
from abiscan.elf.x86_instructions import Instruction, instructions
from abiscan.loader.bound_symbols import Binder
from abiscan.loader.failure import Undecidable, crash
from abiscan.loader.written_words import WordEffect, final_words, initial_word, memory_bytes, types_with, written_places

# Nothing is mapped below (default of vm.mmap_min_addr of Linux).
_LOWEST_MAPPED = 0x10000
_NOPS = frozenset((0x90, 0x0F0D, *range(0x0F18, 0x0F20)))
_LEA, _RSP = 0x8D, 4
# Opcodes of the two-byte map that access a memory operand whatever their other operand is.
_ACCESSES = frozenset((0x0F10, 0x0F11, 0x0F28, 0x0F29, 0x0F6F, 0x0F7F, 0x0FAF, 0x0FB6, 0x0FB7, 0x0FBE, 0x0FBF))
# XOR and SUB of registers; ADD and SUB of a constant.
_CLEARING, _WITH_CONSTANT = frozenset((0x31, 0x33, 0x29, 0x2B)), frozenset((0x81, 0x83))
_CALLS = (2, 4)  # /reg of FF: an indirect call, and a jump


class _KnownRegisters:
    """The registers with a known content: register number -> unsigned value. Only constants that the code itself loads
    are known; any other instruction may change every register."""

    def __init__(self) -> None:
        self._values: dict[int, int] = {}

    def is_near_zero(self, found: Instruction) -> bool:
        """Whether an instruction without a segment override certainly accesses, or goes to, an address near 0."""
        if 0xA0 <= found.opcode <= 0xA3:
            return 0 <= found.constant < _LOWEST_MAPPED
        if found.mod == 3:
            goes = found.opcode == 0xFF and found.reg & 7 in _CALLS
            return goes and self._values.get(found.rm, _LOWEST_MAPPED) < _LOWEST_MAPPED
        accesses = (found.mod >= 0 and found.opcode < 0x0F00 and found.opcode != _LEA) or found.opcode in _ACCESSES
        base = 0 if found.is_absolute else self._values.get(found.base)
        return accesses and base is not None and (base + found.displacement) % (1 << 64) < _LOWEST_MAPPED

    def execute(self, found: Instruction) -> None:
        """Update the known registers after an instruction."""
        opcode, in_register = found.opcode, found.mod == 3
        if in_register and opcode in _CLEARING and found.reg == found.rm and found.size >= 4:
            self._values[found.rm] = 0
        elif 0xB8 <= opcode <= 0xBF or (opcode == 0xC7 and in_register and found.reg & 7 == 0):
            if found.size >= 4:
                self._values[found.rm] = found.constant % (1 << 8 * found.size)
            else:
                self._values.pop(found.rm, None)
        elif opcode in _NOPS or 0x50 <= opcode <= 0x57:
            pass
        elif in_register and opcode in _WITH_CONSTANT and found.rm == _RSP:
            self._values.pop(_RSP, None)
        else:
            self._values.clear()


# Longest instruction in bytes; number of bytes of a read, and number of reads.
_LONGEST, _STRETCH, _STRETCHES = 15, 48, 4
# First bytes that raise a signal in user mode on x86-64 with any register contents: invalid opcodes, breakpoints,
# ring 0 instructions (Intel SDM volume 2; volume 1, 19.5).
_FAULTING = frozenset(
    bytes.fromhex("06 07 0e 16 17 1e 1f 27 2f 37 3f 60 61 82 9a ce d4 d6 ea")
    + bytes.fromhex("cc f1")
    + bytes.fromhex("6c 6d 6e 6f e4 e5 e6 e7 ec ed ee ef f4 fa fb")
)
# The same after 0F: UD0 to UD2, CLTS, SYSRET, INVD, WBINVD, RDMSR, WRMSR, RSM, moves of control and debug registers,
# and opcodes that no processor has had.
_FAULTING_BEHIND_0F = frozenset(
    bytes.fromhex("0b b9 ff 06 07 08 09 30 32 aa 20 21 22 23")
    + bytes.fromhex("04 0a 0c 24 25 26 27 36 39 3b 3c 3d 3e 3f")
)
# The same in groups 6 and 7, by /reg (LLDT, LTR; LGDT, LIDT, LMSW, INVLPG), with a memory operand or any; and by ModR/M
# (VMLAUNCH, VMRESUME, VMXOFF, CLAC, STAC, ENCLS, XSETBV, XEND, VMRUN, VMLOAD to INVLPGA, SWAPGS).
_FAULTING_GROUPS = {0x0F00: (frozenset((2, 3, 6, 7)), True), 0x0F01: (frozenset((2, 3, 6, 7)), False)}
_FAULTING_IN_0F01 = frozenset((*bytes.fromhex("c2 c3 c4 ca cb cf d1 d5 d8 da db dc dd de df f8"), *range(0xF0, 0xF8)))
# MONITOR and MWAIT, which some processors allow.
_UNSURE_IN_0F01 = frozenset((0xC8, 0xC9))
# Returns to another code segment: RETF and IRET.
_FAR_RETURNS = frozenset((0xCA, 0xCB, 0xCF))
# An instruction of more bytes raises an exception (Intel SDM volume 3, 6.15, #GP).
_MOST_PREFIXES = 14
_LOCK, _ESCAPE, _INTERRUPT, _SYSTEM_CALL = 0xF0, 0x0F, 0xCD, 0x80
_SEGMENTS = frozenset((0x64, 0x65))
# LEA, loads and comparisons.
_NO_WRITES = frozenset((0x8D, 0x8B, 0x3B, 0x39, 0x3D, 0x85, *range(0x0F18, 0x0F20)))
_PREFIXES = bytes.fromhex("26 2e 36 3e 64 65 66 67 f0 f2 f3")
# First bytes with which one of these, or a run of zeros, may begin; REX may precede them.
_SUSPICIOUS = frozenset(bytes((byte,)) for byte in (*_FAULTING, *_PREFIXES, _ESCAPE, _INTERRUPT, 0))
_REX = frozenset(bytes((byte,)) for byte in range(0x40, 0x50))
# LOCK is valid only for instructions that read and write memory; these have no memory operand.
_NEVER_LOCKED = frozenset((*range(0x50, 0x60), *range(0x90, 0x98), 0xC3, 0xC9, 0xE8, 0xE9, 0xEB))
# The relative jump and call, and what ends the known way: branches, returns, indirect calls and jumps, system calls.
_RELATIVE = frozenset((0xE8, 0xE9, 0xEB))
_LEAVING = frozenset((*range(0x70, 0x80), *range(0xE0, 0xE4), 0xC2, 0xC3, 0xC8, 0xCA, 0xCB, 0xCD, 0xCF, 0xFF)) | {
    *(0x0F05, 0x0F34, 0x0F35, 0x0F01, 0x0FAA),
    *range(0x0F80, 0x0F90),
}
# Opcodes that AMD's and Intel's processors give another length, or that begin a transaction, whose end is elsewhere.
_UNSURE = frozenset((0x8F, 0xC6, 0xC7, 0x0F0F, 0x0F78, 0x0F79))

# The opcodes of all other instructions neither fault nor lead elsewhere.
_NOTABLE = _LEAVING | _RELATIVE | _UNSURE | _FAR_RETURNS | _FAULTING_GROUPS.keys()


class CalledFile(Struct, frozen=True):
    """The memory of a file at the time of the call.

    Attributes:
        areas: memory areas, with RELRO applied if the file is relocated.
        is_first: whether it is the first call of a function of the file, other than of resolvers.
        tables: (start, end) of tables of the file, which contain no code.
        followed: address -> what `_follow` found there, for addresses at which no called function begins. Hundreds of
            functions go on to the same few.
    """

    elf: ElfFile
    path: str
    areas: tuple[Area, ...]
    tables: tuple[tuple[int, int], ...]
    is_first: bool = False
    followed: dict[int, int | None] = field(default_factory=dict)


def check_beginning(called: CalledFile, address: int, what: str, bind: Binder) -> None:
    """Check a call of an address in code of the file.

    Args:
        what: the function, for a message.
        bind: resolves the symbols of the file.

    Raises:
        LoadFailure: the call certainly ends the process.
        Undecidable: it reaches zero bytes (`add %al, (%rax)` again and again) and other code follows, or an instruction
            that no function of a real file begins with and that may end the process.
    """
    elf, path = called.elf, called.path
    at = address
    for _ in range(_STRETCHES):
        area = area_at(called.areas, at)
        if area is None or any(start <= at < end for start, end in called.tables):
            if area is None and is_unmapped(elf.image.loads, at):
                raise crash(path, f"{_goes_on(what, address, at)} where nothing is mapped")
            return
        if not area.flags & PF_X:
            raise crash(path, f"{_goes_on(what, address, at)} which is no code")
        if area.flags & PF_W or elf.dynamic.has_text_relocations:
            # The code may change itself.
            _check_first(called, memory_bytes(elf, called.areas, at, _LONGEST), at, address, what)
            return
        # What is found depends on the beginning only where that is among the instructions.
        is_alike = not at <= address < at + _STRETCH
        following = called.followed.get(at, 0) if is_alike else 0
        if following == 0:
            following = _follow(called, at, address, what, bind)
            if is_alike:
                called.followed[at] = following
        if following is None:
            return
        at = following


def _follow(called: CalledFile, at: int, address: int, what: str, bind: Binder) -> int | None:
    """Follow the instructions from `at` to the next known address; None if it is unknown."""
    code = memory_bytes(called.elf, called.areas, at, _STRETCH)
    place = 0
    decoded = instructions(code)
    registers = _KnownRegisters()
    is_untouched = called.is_first and at == address
    while place < _STRETCH - _LONGEST:
        opcode = place + (code[place : place + 1] in _REX)
        if code[opcode : opcode + 1] in _SUSPICIOUS:
            _check_first(called, code[place:], at + place, address, what)
        found = next(decoded, None)
        if found is None and place == len(code):
            break
        if found is None:
            _check_cut_off(called, code[place:], at + place, address, what)
            return None
        is_notable = found.opcode in _NOTABLE
        if is_notable and _faults(found, code, is_beginning=at + place == address):
            reason = f"an instruction that ends the process {_written(found, code)}"
            raise crash(called.path, f"{_way(what, address, at + place)} begins with {reason}")
        if is_notable and _may_fault(found):
            reason = f"an instruction that may end the process {_written(found, code)}"
            raise Undecidable(f"{called.path}: {_way(what, address, at + place)} begins with {reason}")
        if registers.is_near_zero(found) and _is_plain(found, code):
            reason = f"an access to an address near 0 {_written(found, code)}"
            raise crash(called.path, f"{_way(what, address, at + place)} begins with {reason}")
        calls_slot = found.opcode == 0xFF and found.mod == 0 and found.rm & 7 == 5 and found.reg & 7 in (2, 4)
        if calls_slot and _is_plain(found, code):
            slot = at + found.end + found.displacement
            way = f"{_way(what, address, at + place)} begins with a call through {slot:#x}"
            _check_slot(called, slot, way, bind, is_untouched=is_untouched)
        if is_notable and _leaves(found, code):
            return None
        registers.execute(found)
        is_untouched = is_untouched and (found.mod in (-1, 3) or found.opcode in _NO_WRITES)
        place = found.end
        if found.opcode in _RELATIVE:
            place += found.displacement
            break
    return at + place


def _goes_on(what: str, address: int, at: int) -> str:
    return f"its {what} at {address:#x}" + (f" goes on to {at:#x}," if at != address else "")


def _way(what: str, address: int, at: int) -> str:
    return _goes_on(what, address, at) + (" which" if at != address else "")


def _written(found: Instruction, code: bytes) -> str:
    return f"({code[found.start : found.end].hex()})"


def _prefixes(code: bytes) -> bytes:
    return code[: len(code) - len(code.lstrip(_PREFIXES))]


def _is_plain(found: Instruction, code: bytes) -> bool:
    return _SEGMENTS.isdisjoint(_prefixes(code[found.start : found.end]))


def _faults(found: Instruction, code: bytes, *, is_beginning: bool) -> bool:
    """Whether an instruction certainly raises a signal."""
    if found.opcode in _FAULTING_GROUPS:
        fields, any_operand = _FAULTING_GROUPS[found.opcode]
        if found.mod == 3 and not any_operand:
            return 0xC0 | (found.reg & 7) << 3 | found.rm & 7 in _FAULTING_IN_0F01
        return found.reg & 7 in fields
    # On entry the stack has the return address, whose high half is no code segment.
    return found.opcode in _FAR_RETURNS and is_beginning and code[found.start] == found.opcode


def _may_fault(found: Instruction) -> bool:
    if found.opcode in _FAR_RETURNS:
        return True
    modrm = 0xC0 | (found.reg & 7) << 3 | found.rm & 7
    return found.opcode == 0x0F01 and found.mod == 3 and modrm in _UNSURE_IN_0F01


def _check_slot(called: CalledFile, slot: int, way: str, bind: Binder, *, is_untouched: bool) -> None:
    """Check a call of the function whose address is in a word of the file.

    Args:
        is_untouched: whether no code of the file may have written to it before.
    """
    area = area_at(called.areas, slot)
    if area is None:
        if is_unmapped(called.elf.image.loads, slot):
            raise crash(called.path, f"{way}, where nothing is mapped")
        return
    word = initial_word(called.elf, slot)
    is_untouched = is_untouched and not _has_resolvers(called.elf)
    if written_places(called.elf).may_change(slot, slot + 8):
        if not is_untouched:
            return
        word = final_words(called.elf, slot, slot + 8, bind).get(slot, word)
    if word.number >= _LOWEST_MAPPED or word.elf is not None or word.unknown or word.times > 1:
        return
    if not area.flags & PF_W:
        raise crash(called.path, f"{way}, which is {word.number:#x}")
    if is_untouched:
        raise Undecidable(f"{called.path}: {way}, which is {word.number:#x} unless another library writes to it")


def _has_resolvers(elf: ElfFile) -> bool:
    """Whether relocations call functions of the file."""
    kinds = types_with(elf.machine, WordEffect.RESOLVER)
    return any(not table.types.isdisjoint(kinds) for table in elf.relocations) or bool(
        elf.symbols.resolvers(elf.referred)
    )


def _check_cut_off(called: CalledFile, code: bytes, at: int, address: int, what: str) -> None:
    """Check whether an instruction that cannot be decoded extends beyond mapped memory."""
    whole = next(instructions(code + bytes(_LONGEST)), None)
    if len(code) < _LONGEST and whole is not None and whole.end > len(code):
        end = at + len(code)
        if is_unmapped(called.elf.image.loads, end):
            raise crash(called.path, f"its {what} at {address:#x} goes on to {end:#x}, where nothing is mapped")


def _leaves(found: Instruction, code: bytes) -> bool:
    """Whether the next instruction is unknown."""
    opcode = found.opcode
    if opcode in _RELATIVE:
        # After 66 the distance has two bytes on some processors.
        return 0x66 in code[found.start : found.end]
    return opcode in _LEAVING or (opcode in _UNSURE and (opcode > 0xFF or found.reg & 7 != 0))


def _check_first(called: CalledFile, code: bytes, at: int, address: int, what: str) -> None:
    """Check that an instruction does not fault and is not zero bytes."""
    opcode = code.lstrip(_PREFIXES)
    prefixes = _prefixes(code)
    if opcode and opcode[0] & 0xF0 == 0x40:  # REX
        opcode = opcode[1:]
    length = len(code) - len(opcode)
    first, second = [*opcode[:2], -1, -1][:2]
    faults = first in _FAULTING or (_LOCK in prefixes and first in _NEVER_LOCKED) or len(prefixes) > _MOST_PREFIXES
    if first == _ESCAPE:
        length, faults = length + 1, faults or second in _FAULTING_BEHIND_0F
    elif first == _INTERRUPT:
        length, faults = length + 1, second not in (-1, _SYSTEM_CALL)
    if faults:
        way = _way(what, address, at)
        raise crash(called.path, f"{way} begins with an instruction that ends the process ({code[: length + 1].hex()})")
    if code[:2].strip(b"\0"):
        return
    way, end = _way(what, address, at), _end_of_zeros(called, at)
    if end is None:
        raise Undecidable(f"{called.path}: {way} begins with zero bytes")
    # Wherever the zeros write, execution reaches the end of the code.
    raise crash(called.path, f"{way} is zero bytes up to the end of the code at {end:#x}")


def _end_of_zeros(called: CalledFile, address: int) -> int | None:
    """The end of the code if it is zero from an address on; None if other bytes, or code of another file, may
    follow."""
    at = address
    for area in called.areas:
        if area.end <= at:
            continue
        if area.start > at or not area.flags & PF_X:
            break
        if area.offset is not None and not _is_zero(called.elf, area, at):
            return None
        at = area.end
    loads = called.elf.image.loads
    return at if at < page_end(loads[-1].address + loads[-1].memory_size) else None


_STEP = 1 << 16


def _is_zero(elf: ElfFile, area: Area, start: int) -> bool:
    at, end = start - area.start + (area.offset or 0), area.end - area.start + (area.offset or 0)
    return all(not elf.image[part : min(part + _STEP, end)].strip(b"\0") for part in range(at, end, _STEP))
