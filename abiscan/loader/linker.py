"""The dynamic loader of a system, read from its own file: implementation, version and compiled-in directories."""

from __future__ import annotations

import re

from msgspec import Struct

from abiscan.elf import ElfFile
from abiscan.elf.mapping import PT_INTERP
from abiscan.filesystem import FileSystem

# SYSTEM_DIRS: directories, each with a slash at both ends and a zero byte behind it (elf/dl-load.c, trusted-dirs.h).
# Both patterns begin with fixed bytes: a pattern that begins with a choice is tried at each byte of the file.
_SYSTEM_DIRS = rb"/[A-Za-z0-9_.+/-]*/\0(?:/[A-Za-z0-9_.+/-]*/\0)+"
_VERSION = rb" release version (\d{1,4})\.(\d{1,4})"
_MAX_LOADER = 16 << 20

# Default flags of ld.so.cache entries (sysdeps/generic/ldconfig.h and each port's dl-cache.h).
_CACHE_IDS = {
    "x86_64": 0x0303,
    "aarch64": 0x0A03,
    "i386": 0x0003,
    "ppc64le": 0x0503,
    "ppc64": 0x0503,
    "s390x": 0x0403,
    "riscv64": 0x1003,
    "loongarch64": 0x1103,
}


class RuntimeLinker(Struct, frozen=True):
    """The dynamic loader that an executable names (PT_INTERP).

    Attributes:
        path: content of PT_INTERP.
        version: of glibc, such as (2, 36); (0, 0) if unknown.
        system_dirs: the default directories, in order, each ending in a slash.
        lib: value of $LIB.
        machine_number, bits, little_endian: of the files that it accepts.
        cache_id: flags of its entries in ld.so.cache; None if unknown for this port.
    """

    path: str
    version: tuple[int, int]
    system_dirs: tuple[str, ...]
    lib: str
    machine: str
    machine_number: int
    bits: int
    little_endian: bool
    cache_id: int | None

    @property
    def is_multiarch(self) -> bool:
        """Whether it is from Debian or a derived distribution."""
        return any("-linux-gnu" in directory for directory in self.system_dirs)

    def at_least(self, major: int, minor: int) -> bool:
        """Whether the loader has at least this version; an unknown version counts as the newest."""
        return self.version == (0, 0) or self.version >= (major, minor)


def interpreter_of(elf: ElfFile) -> str | None:
    """PT_INTERP of an executable."""
    for segment in elf.image.segments:
        if segment.type == PT_INTERP:
            end = segment.offset + min(segment.file_size, 4096)
            return elf.image.string(segment.offset, end).decode("utf-8", "surrogateescape") or None
    return None


def read_linker(executable: ElfFile, files: FileSystem) -> RuntimeLinker | None:
    """Read the loader of an executable; None for one that is not glibc's, or cannot be read."""
    path = interpreter_of(executable) or ""
    image = executable.image
    data = (files.read(path, _MAX_LOADER) if path else None) or b""
    if b"GLIBC_PRIVATE" not in data:
        return None
    dirs = _system_dirs(data)
    return RuntimeLinker(
        path=path,
        version=_version(data),
        system_dirs=dirs,
        lib=dirs[0].strip("/").removeprefix("usr/"),
        machine=image.machine,
        machine_number=image.machine_number,
        bits=64 if image.is64 else 32,
        little_endian=image.little_endian,
        cache_id=_CACHE_IDS.get(image.machine),
    )


def _version(data: bytes) -> tuple[int, int]:
    for match in re.finditer(_VERSION, data):
        if data.endswith((b"stable", b"development"), 0, match.start()):
            return int(match[1]), int(match[2])
    return 0, 0


def _system_dirs(data: bytes) -> tuple[str, ...]:
    for match in re.finditer(_SYSTEM_DIRS, data):
        dirs = tuple(raw.decode("ascii") for raw in match[0].split(b"\0")[:-1])
        if any("/lib" in directory for directory in dirs):
            return dirs
    return ("/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/")
