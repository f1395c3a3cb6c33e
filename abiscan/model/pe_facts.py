"""Contents of one PE file (Windows .dll, .pyd, .exe), read by `pe`.

Terms are those of the PE format specification (https://learn.microsoft.com/windows/win32/debug/pe-format).
"""

from __future__ import annotations

from msgspec import Struct


class PeImport(Struct, frozen=True, gc=False):
    """One entry of the import table or the delay-load import table.

    Attributes:
        library: the DLL that must export it, as the file spells it (`torch_cpu.dll`; case-insensitive).
        name: the linker's name (`?empty@at@@...`, `PyList_New`), decoded as UTF-8 with `surrogateescape`; None if it is
            imported by ordinal.
        ordinal: None if it is imported by name.
        delayed: looked up on the first call, not when the file is loaded.
    """

    library: str
    name: str | None
    ordinal: int | None = None
    delayed: bool = False

    @property
    def symbol(self) -> str:
        """The name, or `#12` for ordinal 12, as forwarders spell it."""
        return f"#{self.ordinal}" if self.name is None else self.name


class PeForwarder(Struct, frozen=True, gc=False):
    """The target of a forwarded export.

    Attributes:
        library: the DLL without `.dll`, as the file spells it (`NTDLL`, `api-ms-win-core-synch-l1-2-0`).
        name, ordinal: as in an import; one of the two is None.
    """

    library: str
    name: str | None
    ordinal: int | None = None


class PeExport(Struct, frozen=True, gc=False):
    """One entry of the export table; an address with two names is two exports.

    Attributes:
        name: None if it is exported only by ordinal.
        ordinal: with the base of the table added, as importers use it.
        address: relative to the load base; 0 for a forwarder.
        is_code: whether its section is executable; False for data and for forwarders.
        forwarder: its target in another DLL.
    """

    name: str | None
    ordinal: int
    address: int
    is_code: bool
    forwarder: PeForwarder | None = None


class VersionResource(Struct, frozen=True):
    """The version resource (VS_VERSIONINFO).

    Attributes:
        file_version, product_version: the fixed four numbers; None if the resource lacks them.
        strings: (key, value) of its StringFileInfo, in order: `FileVersion`, `ProductName`, `OriginalFilename`, ...
    """

    file_version: tuple[int, int, int, int] | None
    product_version: tuple[int, int, int, int] | None
    strings: tuple[tuple[str, str], ...]


class PeFacts(Struct, frozen=True):
    """Contents of a PE file.

    Attributes:
        path: as the user would write it.
        size: in bytes.
        machine: `x86_64`, `i386`, `arm64`, ... or `IMAGE_FILE_MACHINE_<number>`.
        bits: 64 for PE32+, 32 for PE32.
        is_library: IMAGE_FILE_DLL is set.
        name: the file's name in the export table (`_C.cp311-win_amd64.pyd`); None if there is no table.
        libraries: DLLs of the import table, in order, each once.
        delayed_libraries: the same of the delay-load import table.
        imports: of both tables, in order.
        linker_version: (major, minor): 14.x is Microsoft's linker, 2.x GNU's.
        os_version, subsystem_version: minimum Windows version in the header, (major, minor).
        timestamp: of the header, in seconds since 1970; a hash of the file if `is_reproducible`.
        is_reproducible: an entry of type IMAGE_DEBUG_TYPE_REPRO is in the debug directory.
        debug_path: path of the .pdb file in the CodeView record.
        debug_id: GUID and age of the CodeView record, as symbol servers spell it; lower-case hexadecimal.
        version: the version resource, if it has one.
        is_managed: it has a CLR header (a .NET assembly).
        problems: unreadable parts that no import or export depends on (version resource, debug directory), one line
            each.
    """

    path: str
    size: int
    machine: str
    bits: int
    is_library: bool
    name: str | None
    libraries: tuple[str, ...]
    delayed_libraries: tuple[str, ...]
    imports: tuple[PeImport, ...]
    linker_version: tuple[int, int]
    os_version: tuple[int, int]
    subsystem_version: tuple[int, int]
    timestamp: int
    is_reproducible: bool
    debug_path: str | None
    debug_id: str | None
    version: VersionResource | None
    is_managed: bool
    problems: tuple[str, ...] = ()
