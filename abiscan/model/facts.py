"""What one shared object says of itself: its imports and exports, the classes it derives, the places that use an import
(made by `elf`)."""

from __future__ import annotations

import enum
import functools

from msgspec import Struct


class BinaryKind(enum.Enum):
    """What a binary is, as far as its first bytes tell."""

    SHARED_OBJECT = "shared object"
    EXECUTABLE = "executable"
    OBJECT = "object file"
    CORE = "core dump"
    DEVICE_CODE = "device code"
    UNKNOWN = "unknown"


class FileFormat(enum.StrEnum):
    """The format of a shared object, which tells the system whose loader opens it: Linux, Windows, macOS."""

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


# Versions that count up: of the C library, the C++ library, the C++ ABI's runtime, and libgcc.
_FAMILIES = ("GLIBC", "GLIBCXX", "CXXABI", "GCC")
_LONGEST_NUMBER = 32


class VersionNeed(Struct, frozen=True, gc=False):
    """One version that a file asks of one library (an Elf_Vernaux; Linux Standard Base, "Symbol Versioning")."""

    library: str
    name: str
    weak: bool

    @property
    def numbered(self) -> tuple[str, tuple[int, ...]] | None:
        """Family and number of a version of the system's libraries, `GLIBC_2.17` as ("GLIBC", (2, 17)); None for any
        other (`GLIBC_PRIVATE`, `CXXABI_FLOAT128`, a project's own)."""
        return _numbered(self.name)


# Each import of a file repeats one of few.
@functools.lru_cache(maxsize=1024)
def _numbered(version: str) -> tuple[str, tuple[int, ...]] | None:
    family, _, number = version.rpartition("_")
    if family not in _FAMILIES or not number.isascii() or len(number) > _LONGEST_NUMBER:
        return None
    parts = number.split(".")
    return (family, tuple(map(int, parts))) if all(map(str.isdigit, parts)) else None


class Import(Struct, frozen=True, gc=False):
    """A symbol that a file takes from other libraries: an undefined entry of the dynamic symbol table (ELF), an entry
    of the import tables (PE), a symbol that dyld binds (Mach-O).

    Attributes:
        name: the mangled name, decoded as UTF-8 with `surrogateescape`; of a Mach-O file without the underscore that
            its linker puts before each name; `#12` for ordinal 12 of a DLL.
        version: the version asked for, where the reference is versioned.
        relocated: whether some relocation refers to it; the loader never looks up one that none refers to.
        index: its place in the table.
        library: the library that it is asked of, as the file spells it; None where the loader searches all (ELF, flat
            lookup of Mach-O).
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
        """The loader leaves a weak import at zero, and never looks up one that no relocation refers to or that binds in
        the file itself."""
        return (
            self.binding is SymbolBinding.WEAK
            or not self.relocated
            or self.visibility in (Visibility.HIDDEN, Visibility.INTERNAL)
        )


class Export(Struct, frozen=True, gc=False):
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
    """What one shared object says of itself.

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
        format: of the file.
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
    format: FileFormat = FileFormat.ELF


class BuildMarks(Struct, frozen=True):
    """Marks of how a file was built.

    Attributes:
        executable_stack: it asks the loader for an executable stack.
        x86_isa_needed: a bit for each level of x86-64 that it is marked as needing (1 baseline, 2 v2, 4 v3, 8 v4).
        producers: what its debug information begins DW_AT_producer with, a few of each compiler.
    """

    executable_stack: bool
    x86_isa_needed: int
    producers: tuple[str, ...]


# A word of a vtable: the mangled name that it points to; a number that is no address (offset to top, or 0); None where
# no name is known for the address.
VtableWord = str | int | None


class DerivedClass(Struct, frozen=True):
    """A class of the file with a base whose type information another library exports.

    Attributes:
        base: mangled name of the base's type information (`_ZTIN5torch8autograd4NodeE`).
        name: mangled name of the derived class's own; None where the file does not keep it as a symbol.
        vtable_size: bytes of the derived class's vtable, where it is exported.
        slots: its words, where the base is its only one, so that they begin with the base's.
    """

    base: str
    name: str | None
    vtable_size: int | None
    slots: tuple[VtableWord, ...] | None = None


class CallSite(Struct, frozen=True):
    """One place that uses an import.

    Attributes:
        address: of the instruction, relative to the load base; `offset`: of it in the file.
        function: mangled name of the function around it; None where the file keeps no name for it.
        function_start: its first address, from the symbol or from .eh_frame_hdr; None where neither tells.
        called: False where only the address is taken.
        file, line: from DWARF, where it is there and was asked for.
    """

    address: int
    offset: int
    function: str | None
    function_start: int | None
    called: bool
    file: str | None = None
    line: int | None = None
