"""The imports of one file while they are resolved: each step settles what the steps before it left missing."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from abiscan.model.facts import Import
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import NeededLibrary

PythonExports = Callable[[str], bool]
"""Whether a CPython exports a name."""


class ResolvingImport(Struct, gc=False):
    """An import with the status that the steps so far give it.

    Attributes:
        provider: as that of `CheckedImport`.
    """

    symbol: Import
    owner: Owner
    status: Status
    provider: str | None

    @property
    def name(self) -> str:
        """The mangled name."""
        return self.symbol.name

    def settle(self, status: Status, provider: str | None = None) -> None:
        """Set status and provider."""
        self.status, self.provider = status, provider


class Resolution(Struct):
    """All imports of one file.

    Attributes:
        imports: in the order of the symbol table.
        needed: the file's own DT_NEEDED entries.
        missing_libraries: every library of the closure that was not found, in the order in which the loader meets them.
        missing_torch_libraries: those of them that are torch's own of another variant.
        unfit_libraries: those of CUDA and ROCm that the release ships in another version, or not at all.
    """

    imports: list[ResolvingImport]
    needed: tuple[NeededLibrary, ...]
    missing_libraries: tuple[str, ...]
    missing_torch_libraries: tuple[str, ...]
    unfit_libraries: tuple[str, ...] = ()
