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
        """The name, or `#12` for ordinal 12, as in a forwarder."""
        return f"#{self.ordinal}" if self.name is None else self.name


class PeExport(Struct, frozen=True, gc=False):
    """One entry of the export table; an address with two names is two exports.

    Attributes:
        name: None if it is exported only by ordinal.
        ordinal: with the base of the table added, as importers use it.
        address: relative to the load base; 0 for a forwarder.
        is_code: whether its section is executable; False for data and for forwarders.
        forwarder: its target in another DLL: `KERNEL32.Sleep`, `WS2_32.#115`.
    """

    name: str | None
    ordinal: int
    address: int
    is_code: bool
    forwarder: str | None = None
