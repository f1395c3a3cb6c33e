"""The dynamic loader of a system, read from its own file: implementation, version and compiled-in directories."""

from __future__ import annotations

import enum
import os
import re

from msgspec import Struct

from abiscan.elf import ElfFile
from abiscan.filesystem import FileSystem

PT_INTERP = 3

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


class Flavour(enum.Enum):
    GLIBC = "glibc"
    MUSL = "musl"
    OTHER = "other"


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

    flavour: Flavour
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


def read_linker(executable: ElfFile, files: FileSystem) -> RuntimeLinker:
    """Read the loader of an executable.

    Without a readable loader file the result has `Flavour.OTHER`, and nothing is predicted for it.
    """
    path = interpreter_of(executable) or ""
    image = executable.image
    data = (files.read(path, _MAX_LOADER) if path else None) or b""
    name = os.path.basename(path)
    if name.startswith("ld-musl"):
        flavour = Flavour.MUSL
    elif b"GLIBC_PRIVATE" in data:
        flavour = Flavour.GLIBC
    else:
        flavour = Flavour.OTHER
    dirs = _musl_dirs(name, files) if flavour is Flavour.MUSL else _system_dirs(data)
    first = dirs[0].strip("/") if dirs else "lib"
    return RuntimeLinker(
        flavour=flavour,
        path=path,
        version=_version(data),
        system_dirs=dirs,
        lib=first.removeprefix("usr/"),
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


def _musl_dirs(name: str, files: FileSystem) -> tuple[str, ...]:
    """Directories of musl's path file (ldso/dynlink.c in its sources), or its default."""
    arch = name.removeprefix("ld-").partition(".")[0]
    text = (files.read(f"/etc/ld-{arch}.path", _MAX_LOADER) or b"").decode("utf-8", "surrogateescape")
    dirs = [part for part in re.split(r"[:\n]", text) if part] or ["/lib", "/usr/local/lib", "/usr/lib"]
    return tuple(directory.rstrip("/") + "/" for directory in dirs)
