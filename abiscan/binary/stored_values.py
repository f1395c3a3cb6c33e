"""The answers of a stored binary, as a value that can be written to a file (`stored_binary.py` says what for)."""

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
    """What imports have in common: there are some dozens of forms in a file, and thousands of names."""

    binding: SymbolBinding
    type: SymbolType
    visibility: Visibility
    version: VersionNeed | None
    relocated: bool
    library: str | None = None


class StoredImports(Struct, frozen=True, array_like=True):
    """Imports in columns.

    Attributes:
        forms: position in `kinds` for each name.
        places: `Import.index` of each.
    """

    names: tuple[str, ...]
    forms: tuple[int, ...]
    places: tuple[int, ...]
    kinds: tuple[_Form, ...]

    @classmethod
    def of(cls, imports: Iterable[Import]) -> StoredImports:
        """The columns of these rows."""
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
        """The imports, in their order."""
        kinds = self.kinds
        return tuple(
            Import(name, k.binding, k.type, k.visibility, k.version, k.relocated, place, k.library)
            for name, k, place in zip(self.names, map(kinds.__getitem__, self.forms), self.places, strict=True)
        )


class StoredCalls(Struct, frozen=True, array_like=True):
    """The operators that a model of AOTInductor calls by name, as the file beside it has them.

    Attributes:
        names: (namespace, name, overload).
        unknown: why there are others, or may be; None where these are all.
    """

    names: tuple[tuple[str, str, str], ...]
    unknown: str | None = None


class StoredFile(Struct, frozen=True):
    """The answers of one file.

    Attributes:
        facts: without its imports.
        exported: those names that it exports which other files of its package import, or which are asked of any file.
        prefixes: beginnings of names of which it exports some.
        strings: text -> the strings of its read-only data with that text.
        record_sizes: in bytes, of those of torch's records that had several layouts when it was read.
        record_holders: of the same records the class of the file that holds one by value.
        problem: `loader.file_problem.first_problem`; operators: `analysis.read_operators.operators_of`: neither depends
            on the torch that the file is judged against.
        constants: import -> what each use of it passes, of those and of the argument that `analysis.dispatch_keys` has.
        sites: import -> where it is used, of those that are torch's.
        calls: of a model that calls operators by name; None for others, and where it was read before this was kept.
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
