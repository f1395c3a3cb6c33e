"""What one shared object says of itself, and its imports and exports (made by `elf`)."""

from __future__ import annotations

import enum

from msgspec import Struct


class SymbolBinding(enum.StrEnum):
    """ELF symbol binding (gABI, "Symbol Table"; STB_GNU_UNIQUE is a GNU extension)."""

    LOCAL = "local"
    GLOBAL = "global"
    WEAK = "weak"
    UNIQUE = "unique"
    OTHER = "other"


class SymbolType(enum.StrEnum):
    """ELF symbol type (gABI, "Symbol Table"; STT_GNU_IFUNC is a GNU extension)."""

    NOTYPE = "notype"
    OBJECT = "object"
    FUNC = "func"
    SECTION = "section"
    FILE = "file"
    COMMON = "common"
    TLS = "tls"
    IFUNC = "ifunc"
    OTHER = "other"


class Visibility(enum.StrEnum):
    """ELF symbol visibility (gABI, `st_other`)."""

    DEFAULT = "default"
    INTERNAL = "internal"
    HIDDEN = "hidden"
    PROTECTED = "protected"


class VersionNeed(Struct, frozen=True):
    """One version that a file asks of one library (an Elf_Vernaux; Linux Standard Base, "Symbol Versioning")."""

    library: str
    name: str
    weak: bool


class Import(Struct, frozen=True):
    """An undefined entry of the dynamic symbol table.

    Attributes:
        name: the mangled name, decoded as UTF-8 with `surrogateescape`.
        version: the version asked for, where the reference is versioned.
        relocated: whether some relocation refers to it; the loader never looks up one that none refers to.
        index: its place in the dynamic symbol table.
    """

    name: str
    binding: SymbolBinding
    type: SymbolType
    visibility: Visibility
    version: VersionNeed | None
    relocated: bool
    index: int


class Export(Struct, frozen=True):
    """A defined entry of the dynamic symbol table that other objects can bind to.

    Attributes:
        value: `st_value`, an address relative to the load base (or an offset in the TLS block).
        size: `st_size`, in bytes; 0 where the compiler did not say.
        version: the version it is defined with, if any.
        hidden_version: True for `name@VERSION`, which only a reference to that version finds.
    """

    name: str
    binding: SymbolBinding
    type: SymbolType
    visibility: Visibility
    value: int
    size: int
    version: str | None
    hidden_version: bool


class SharedObject(Struct, frozen=True):
    """What one ELF shared object says of itself.

    Attributes:
        path: as the user would write it.
        size: in bytes.
        machine: `x86_64`, `aarch64`, `i386`, ... or `EM_<number>`.
        bits, little_endian: the ELF class and data encoding.
        soname, needed, rpath, runpath: from the dynamic section, undivided and unexpanded.
        build_id: lower-case hexadecimal, from NT_GNU_BUILD_ID.
        imports: every undefined entry of .dynsym but the null entry, in table order.
        version_needs, version_definitions: from .gnu.version_r and .gnu.version_d.
        compilers: the distinct strings of .comment ("GCC: (GNU) 13.2.1", "clang version 19..."), where it was kept.
        has_sections: whether a usable section header table is there.
    """

    path: str
    size: int
    machine: str
    bits: int
    little_endian: bool
    soname: str | None
    needed: tuple[str, ...]
    rpath: str | None
    runpath: str | None
    build_id: str | None
    imports: tuple[Import, ...]
    version_needs: tuple[VersionNeed, ...]
    version_definitions: tuple[str, ...]
    compilers: tuple[str, ...]
    has_sections: bool
