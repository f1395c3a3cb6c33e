"""Facts of one shared object: imports, exports, derived classes and call sites (made by `elf`)."""

from __future__ import annotations

import enum
import functools

from msgspec import Struct


class BinaryKind(enum.Enum):
    """Kind of a binary file, detected from its first bytes."""

    SHARED_OBJECT = "shared object"
    EXECUTABLE = "executable"
    OBJECT = "object file"
    CORE = "core dump"
    DEVICE_CODE = "device code"
    UNKNOWN = "unknown"


class FileFormat(enum.StrEnum):
    """The format of a shared object, which determines the system that can load it: Linux, Windows, macOS."""

    ELF = "elf"
    PE = "pe"
    MACHO = "macho"


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


# Families of increasing versions: C library, C++ library, C++ ABI runtime, libgcc.
_FAMILIES = ("GLIBC", "GLIBCXX", "CXXABI", "GCC")
_LONGEST_NUMBER = 32


class VersionNeed(Struct, frozen=True, gc=False):
    """A symbol version that a file requires of a library (Elf_Vernaux; Linux Standard Base, "Symbol Versioning")."""

    library: str
    name: str
    weak: bool

    @property
    def numbered(self) -> tuple[str, tuple[int, ...]] | None:
        """Family and number of a system library version: ("GLIBC", (2, 17)) for `GLIBC_2.17`; None for any other
        (`GLIBC_PRIVATE`, `CXXABI_FLOAT128`, versions of a project)."""
        return _numbered(self.name)


# The imports of a file repeat few versions.
@functools.lru_cache(maxsize=1024)
def _numbered(version: str) -> tuple[str, tuple[int, ...]] | None:
    family, _, number = version.rpartition("_")
    if family not in _FAMILIES or not number.isascii() or len(number) > _LONGEST_NUMBER:
        return None
    parts = number.split(".")
    return (family, tuple(map(int, parts))) if all(map(str.isdigit, parts)) else None


class Import(Struct, frozen=True, gc=False):
    """An imported symbol: an undefined entry of the dynamic symbol table (ELF), an entry of the import tables (PE), or
    a symbol that dyld binds (Mach-O).

    Attributes:
        name: the mangled name, decoded as UTF-8 with `surrogateescape`; for Mach-O without the leading underscore;
            `#12` for ordinal 12 of a DLL.
        version: the required version, if the reference is versioned.
        relocated: whether a relocation refers to it; otherwise the loader never looks it up.
        index: its index in the symbol table.
        library: the library that must export it, as written in the file; None if the loader searches all libraries
            (ELF, flat lookup of Mach-O).
    """

    name: str
    binding: SymbolBinding
    type: SymbolType
    visibility: Visibility
    version: VersionNeed | None
    relocated: bool
    index: int
    library: str | None = None

    @property
    def may_stay_unbound(self) -> bool:
        """Whether the file loads if the import is undefined: it is weak, no relocation refers to it, or it resolves in
        the file itself."""
        return (
            self.binding is SymbolBinding.WEAK
            or not self.relocated
            or self.visibility in (Visibility.HIDDEN, Visibility.INTERNAL)
        )


class Export(Struct, frozen=True, gc=False):
    """A defined entry of the dynamic symbol table that imports of other files can resolve to.

    Attributes:
        value: `st_value`, an address relative to the load base (or an offset in the TLS block).
        size: `st_size`, in bytes; 0 if unknown.
        version: the version of its definition, if any.
        hidden_version: True for `name@VERSION`, which only references to that version resolve to.
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
    """Facts of one shared object.

    Attributes:
        path: as given on the command line.
        size: in bytes.
        machine: `x86_64`, `aarch64`, `i386`, ... or `EM_<number>`.
        bits: of an address.
        soname, needed, rpath, runpath: from the dynamic section, neither split nor expanded.
        build_id: lower-case hexadecimal, from NT_GNU_BUILD_ID.
        imports: undefined entries of .dynsym without the null entry, in table order.
        version_needs, version_definitions: from .gnu.version_r and .gnu.version_d.
        compilers: distinct strings of .comment ("GCC: (GNU) 13.2.1", "clang version 19..."), if it was not stripped.
        format: object file format.
    """

    path: str
    size: int
    machine: str
    bits: int
    soname: str | None
    needed: tuple[str, ...]
    rpath: str | None
    runpath: str | None
    build_id: str | None
    imports: tuple[Import, ...]
    version_needs: tuple[VersionNeed, ...]
    version_definitions: tuple[str, ...]
    compilers: tuple[str, ...]
    format: FileFormat = FileFormat.ELF


class BuildMarks(Struct, frozen=True):
    """Traces of the build.

    Attributes:
        executable_stack: whether it requires an executable stack.
        x86_isa_needed: bit set of required x86-64 levels (1 baseline, 2 v2, 4 v3, 8 v4).
        producers: beginnings of DW_AT_producer in the debug information, a few of each compiler.
    """

    executable_stack: bool
    x86_isa_needed: int
    producers: tuple[str, ...]


# A word of a vtable: the mangled name that it points to; a number that is not an address (offset to top, or 0); None
# for an address without a known name.
VtableWord = str | int | None


class DerivedClass(Struct, frozen=True):
    """A class of the file that derives from a class of another library.

    Attributes:
        base: mangled name of the type information of the base (`_ZTIN5torch8autograd4NodeE`).
        name: mangled name of the type information of the derived class; None if the file has no symbol for it.
        vtable_size: size of the vtable of the derived class in bytes, if the vtable is exported.
        slots: words of the vtable, if there is only one base, so that they begin with its slots.
    """

    base: str
    name: str | None
    vtable_size: int | None
    slots: tuple[VtableWord, ...] | None = None


class CallSite(Struct, frozen=True):
    """A place that uses an import.

    Attributes:
        address: address of the instruction, relative to the load base; offset: its offset in the file.
        function: mangled name of the enclosing function; None if the file has no symbol for it.
        function_start: first address of that function, from the symbol or .eh_frame_hdr; None if unknown.
        called: False if only the address is taken.
        file, line: source position from DWARF, if present and requested.
    """

    address: int
    offset: int
    function: str | None
    function_start: int | None
    called: bool
    file: str | None = None
    line: int | None = None
