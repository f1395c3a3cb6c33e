"""Contents of one Mach-O file (macOS .dylib, .so, bundle), read by `macho`.

Terms are those of <mach-o/loader.h>, <mach-o/fat.h>, <mach-o/nlist.h> and <mach-o/fixup-chains.h>.
"""

from __future__ import annotations

import enum

from msgspec import Struct

# LLVM's mark of a name without the leading underscore ("Mangler"), which assembly can define (`dyld_stub_binder`).
_UNCHANGED = "\x01"


def source_name(name: str) -> str:
    """Return the C or Itanium name of a symbol: without the underscore that Mach-O puts before each."""
    has_one = name.startswith("_") and name[1:2] != _UNCHANGED
    return name[1:] if has_one else _UNCHANGED + name


def linker_name(name: str) -> str:
    """The reverse of `source_name`."""
    return name[1:] if name.startswith(_UNCHANGED) else f"_{name}"


class LibraryLink(enum.StrEnum):
    """The load command of a library: LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB (may be absent), LC_REEXPORT_DYLIB (its exports
    count as the file's), LC_LOAD_UPWARD_DYLIB (circular), LC_LAZY_LOAD_DYLIB."""

    NORMAL = "normal"
    WEAK = "weak"
    REEXPORT = "reexport"
    UPWARD = "upward"
    LAZY = "lazy"


class LinkedLibrary(Struct, frozen=True, gc=False):
    """A library that a load command names.

    Attributes:
        name: the install name that it had at link time, unexpanded (`@rpath/libtorch_cpu.dylib`).
    """

    name: str
    link: LibraryLink


class MachoImport(Struct, frozen=True, gc=False):
    """A symbol that dyld looks up for the file.

    Attributes:
        name: as in the symbol table, with the underscore that Mach-O puts before each C name (`__ZN2at5emptyEv`,
            `_PyList_New`), decoded as UTF-8 with `surrogateescape`.
        library: the install name of the library that must export it; None if dyld looks in another image or in all.
        weak: a weak import: zero if it is not found.
    """

    name: str
    library: str | None
    weak: bool


class MachoExport(Struct, frozen=True, gc=False):
    """An exported symbol.

    Attributes:
        name: with the underscore.
        address: relative to the Mach-O header, an absolute value for an absolute symbol; 0 for a re-export.
        weak: a weak definition, which dyld coalesces with others of its name.
        thread_local: EXPORT_SYMBOL_FLAGS_KIND_THREAD_LOCAL.
        is_code: whether its section contains instructions.
        is_reexport: whether another library has it.
    """

    name: str
    address: int
    weak: bool
    thread_local: bool
    is_code: bool
    is_reexport: bool = False


class MachoSlice(Struct, frozen=True, gc=False):
    """One file of a universal file, or a whole thin file.

    Attributes:
        machine: `x86_64`, `arm64`, `arm64e`, ... or `CPU_TYPE_<number>`.
        offset, size: in bytes.
    """

    machine: str
    offset: int
    size: int
