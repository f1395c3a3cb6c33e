"""Register contents that are known in straight-line code (x86-64), to recognise accesses to addresses near 0.

Only constants that the code itself loads are known; any other instruction may change every register.
"""

from __future__ import annotations

from abiscan.elf.x86_instructions import Instruction

# Nothing is mapped below (default of vm.mmap_min_addr of Linux).
LOWEST_MAPPED = 0x10000
_NOPS = frozenset((0x90, 0x0F0D, *range(0x0F18, 0x0F20)))
_LEA, _RSP = 0x8D, 4
# Opcodes of the two-byte map that access a memory operand whatever their other operand is.
_ACCESSES = frozenset((0x0F10, 0x0F11, 0x0F28, 0x0F29, 0x0F6F, 0x0F7F, 0x0FAF, 0x0FB6, 0x0FB7, 0x0FBE, 0x0FBF))
# XOR and SUB of registers; ADD and SUB of a constant.
_CLEARING, _WITH_CONSTANT = frozenset((0x31, 0x33, 0x29, 0x2B)), frozenset((0x81, 0x83))
_CALLS = (2, 4)  # /reg of FF: an indirect call, and a jump


class KnownRegisters:
    """The registers with a known content: register number -> unsigned value."""

    def __init__(self) -> None:
        self._values: dict[int, int] = {}

    def is_near_zero(self, found: Instruction) -> bool:
        """Whether an instruction without a segment override certainly accesses, or goes to, an address near 0."""
        if 0xA0 <= found.opcode <= 0xA3:
            return 0 <= found.constant < LOWEST_MAPPED
        if found.mod == 3:
            goes = found.opcode == 0xFF and found.reg & 7 in _CALLS
            return goes and self._values.get(found.rm, LOWEST_MAPPED) < LOWEST_MAPPED
        accesses = (found.mod >= 0 and found.opcode < 0x0F00 and found.opcode != _LEA) or found.opcode in _ACCESSES
        base = 0 if found.is_absolute else self._values.get(found.base)
        return accesses and base is not None and (base + found.displacement) % (1 << 64) < LOWEST_MAPPED

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
