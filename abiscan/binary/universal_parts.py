"""The parts of a universal file: one Mach-O file for each architecture, of which dyld loads one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abiscan.binary.protocol import Binary


def parts_of(binary: Binary) -> tuple[str, ...]:
    """The platforms of the parts of a universal file, in its order; empty for any other file."""
    found: tuple[str, ...] = getattr(binary, "parts", ())
    return found


def part_for(binary: Binary, machine: str) -> Binary:
    """The part for a platform; the file itself if it is not universal or has no such part.

    Raises:
        UnreadableFile: the part is damaged.
    """
    if machine == binary.machine or machine not in parts_of(binary):
        return binary
    from abiscan.binary.macho_binary import MachoBinary

    assert isinstance(binary, MachoBinary)
    return binary.part(machine)
