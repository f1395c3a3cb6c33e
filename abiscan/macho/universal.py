"""Universal files: several Mach-O files in one, one for each machine."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from abiscan.errors import UnreadableFile
from abiscan.macho.macho_magic import FAT_MAGIC, FAT_MAGIC_64, MAX_SLICES, THIN_MAGICS
from abiscan.model.macho_facts import MachoSlice

if TYPE_CHECKING:
    from abiscan.file_buffer import FileBuffer

_ARCH = struct.Struct(">IIIII")
_ARCH_64 = struct.Struct(">IIQQII")
# <mach/machine.h>; a subtype of None is any other.
_MACHINES: Final = {
    (0x00000007, None): "i386",
    (0x0000000C, None): "arm",
    (0x00000012, None): "ppc",
    (0x01000007, None): "x86_64",
    (0x01000007, 8): "x86_64h",
    (0x0100000C, None): "arm64",
    (0x0100000C, 2): "arm64e",
    (0x01000012, None): "ppc64",
    (0x0200000C, None): "arm64_32",
}
# The bits of a subtype without capabilities.
_SUBTYPE_MASK: Final = 0x00FFFFFF


def machine_name(cpu: int, subtype: int) -> str:
    """`x86_64`, `arm64`, ... of a CPU type and subtype; `CPU_TYPE_<number>` for others."""
    exact = _MACHINES.get((cpu, subtype & _SUBTYPE_MASK))
    return exact or _MACHINES.get((cpu, None), f"CPU_TYPE_{cpu:#x}")


def read_slices(file: FileBuffer) -> tuple[MachoSlice, ...]:
    """The slices of a universal file, in order; the whole file as one slice for a thin file.

    Raises:
        UnreadableFile: it is no Mach-O file, or a slice lies outside of it or overlaps another.
    """
    head = file[0:12]
    if head.startswith(THIN_MAGICS) and len(head) == 12:
        cpu, subtype = struct.unpack_from("<II", head, 4)
        return (MachoSlice(machine_name(cpu, subtype), 0, file.size),)
    if not head.startswith((FAT_MAGIC, FAT_MAGIC_64)) or len(head) < 12:
        raise UnreadableFile(file.path, "not a Mach-O file")
    count = int.from_bytes(head[4:8], "big")
    if not 0 < count <= MAX_SLICES:
        raise UnreadableFile(file.path, "a Java class or a damaged universal file, not a Mach-O file")
    layout = _ARCH if head.startswith(FAT_MAGIC) else _ARCH_64
    table = file.slice(8, count * layout.size, "the table of slices")
    found = [MachoSlice(machine_name(row[0], row[1]), row[2], row[3]) for row in layout.iter_unpack(table)]
    end = 8 + len(table)
    for each in sorted(found, key=lambda each: each.offset):
        if each.offset < end:
            raise file.corrupt("its slices overlap")
        end = each.offset + each.size
        if end > file.size:
            raise UnreadableFile(
                file.path,
                f"truncated Mach-O file: its slice for {each.machine} ends at byte {end}, the file has {file.size}; "
                "copy or build it again",
            )
    return tuple(found)


def choose_slice(slices: tuple[MachoSlice, ...], machine: str | None, path: str) -> MachoSlice:
    """The slice for a machine; default: that for `arm64`, else the first.

    Raises:
        UnreadableFile: there is none.
    """
    wanted = next((each for each in slices if each.machine == (machine or "arm64")), None)
    if wanted is not None:
        return wanted
    if machine is not None:
        has = ", ".join(each.machine for each in slices)
        raise UnreadableFile(path, f"has no slice for {machine}, only for {has}")
    return slices[0]
