"""The facts of a stored binary, as a serializable value (`stored_binary.py` explains its use)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from abiscan.model.device_code import DeviceImages
from abiscan.model.facts import (
    BuildMarks,
    CallSite,
    DerivedClass,
    Import,
    SharedObject,
    SymbolBinding,
    SymbolType,
    VersionNeed,
    Visibility,
)
from abiscan.model.loading import LoaderStop
from abiscan.model.operators import Operator


class _Form(Struct, frozen=True, array_like=True):
    """Common properties of imports: a file has some dozens of forms and thousands of names."""

    binding: SymbolBinding
    type: SymbolType
    visibility: Visibility
    version: VersionNeed | None
    relocated: bool
    library: str | None = None


class StoredImports(Struct, frozen=True, array_like=True):
    """Imports in columns.

    Attributes:
        forms: index in `kinds` for each name.
        places: `Import.index` of each.
    """

    names: tuple[str, ...]
    forms: tuple[int, ...]
    places: tuple[int, ...]
    kinds: tuple[_Form, ...]

    @classmethod
    def of(cls, imports: Iterable[Import]) -> StoredImports:
        """Store rows in columns."""
        kinds: dict[_Form, int] = {}
        rows = [
            (
                each.name,
                kinds.setdefault(
                    _Form(each.binding, each.type, each.visibility, each.version, each.relocated, each.library),
                    len(kinds),
                ),
                each.index,
            )
            for each in imports
        ]
        names, forms, places = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(names, forms, places, tuple(kinds))

    def rows(self) -> tuple[Import, ...]:
        """The imports, in order."""
        kinds = self.kinds
        return tuple(
            Import(name, k.binding, k.type, k.visibility, k.version, k.relocated, place, k.library)
            for name, k, place in zip(self.names, map(kinds.__getitem__, self.forms), self.places, strict=True)
        )


class StoredCalls(Struct, frozen=True, array_like=True):
    """The operators that an AOTInductor model calls by name, from the file beside it.

    Attributes:
        names: (namespace, name, overload).
        unknown: why the list is or may be incomplete; None if it is complete.
    """

    names: tuple[tuple[str, str, str], ...]
    unknown: str | None = None


class StoredFile(Struct, frozen=True):
    """The stored facts of one file.

    Attributes:
        facts: without its imports.
        exported: exports that other files of its package import, or that are looked up in every file.
        prefixes: prefixes of which it exports some names.
        strings: text -> strings of its read-only data with that text.
        record_sizes: size in bytes of the torch records that had several layouts when it was read.
        record_holders: for the same records, the class of the file that contains one by value.
        problem: `first_problem`, else `unknown_elsewhere`, of `loader.file_problem`; operators:
            `provenance.read_operators.find_operators`. Neither depends on the torch that the file is checked against.
        constants: import -> the constant at each use, for the imports and argument in `analysis.dispatch_keys`.
        sites: torch import -> its call sites.
        calls: for a model that calls operators by name; None for others, and for files stored before this field
            existed.
        bound: names of the functions on tensors that a pybind11 module binds.
    """

    facts: SharedObject
    imports: StoredImports
    exported: tuple[str, ...]
    prefixes: tuple[str, ...]
    derived: tuple[DerivedClass, ...]
    device: DeviceImages
    strings: dict[str, tuple[bytes, ...]]
    marks: BuildMarks
    problem: LoaderStop | str | None
    operators: tuple[Operator, ...]
    sites: dict[str, tuple[CallSite, ...]] = {}
    record_sizes: dict[str, int] = {}
    record_holders: dict[str, str] = {}
    constants: dict[str, tuple[tuple[int | None, ...], ...]] = {}
    calls: StoredCalls | None = None
    bound: tuple[str, ...] = ()
