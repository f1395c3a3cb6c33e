"""Adapter from a Mach-O file to the `Binary` protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from abiscan.binary.symbols_only import SymbolsOnly
from abiscan.macho.macho_file import MachoFile
from abiscan.model.device_code import DeviceImages
from abiscan.model.facts import Export, FileFormat, Import, SharedObject, SymbolBinding, SymbolType, Visibility
from abiscan.model.macho_facts import LibraryLink, linker_name, source_name
from abiscan.model.platforms import OperatingSystem, key_of

if TYPE_CHECKING:
    import mmap

    from abiscan.model.macho_facts import MachoExport


class MachoBinary(SymbolsOnly):
    """A macOS library or bundle. Names are those of the source, without the underscore of the symbol table
    (`macho_facts.source_name`).

    Attributes:
        macho: the file itself, with facts that `Binary` lacks: kinds of links and lookups, re-exports, slices.
    """

    def __init__(self, macho: MachoFile) -> None:
        self.macho = macho
        self.path = macho.path
        self.size = macho.size
        # arm64e is arm64 with pointer authentication: one loader loads both.
        self.machine = key_of(OperatingSystem.MACOS, macho.machine.removesuffix("e"))
        self.version_definitions: tuple[str, ...] = ()

    @property
    def buffer(self) -> bytes | mmap.mmap:
        """The whole file, all slices."""
        return self.macho.buffer

    def sha256(self) -> str:
        """SHA-256 of the whole file, in hexadecimal."""
        return sha256(self.buffer).hexdigest()

    @property
    def soname(self) -> str | None:
        """Its install name."""
        return self.macho.install_name

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The install names of the libraries that it requires to load."""
        return tuple(each.name for each in self.macho.libraries if each.link is not LibraryLink.WEAK)

    @cached_property
    def reexported(self) -> tuple[str, ...]:
        """The install names of the libraries whose exports count as its own."""
        return tuple(each.name for each in self.macho.libraries if each.link is LibraryLink.REEXPORT)

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """The symbols that dyld looks up."""
        return tuple(
            Import(
                name=source_name(each.name),
                binding=SymbolBinding.WEAK if each.weak else SymbolBinding.GLOBAL,
                type=SymbolType.NOTYPE,
                visibility=Visibility.DEFAULT,
                version=None,
                relocated=True,
                index=index,
                library=each.library,
            )
            for index, each in enumerate(self.macho.imports)
        )

    def facts(self) -> SharedObject:
        """The facts that files of every format have; `macho.facts()` has the rest."""
        macho = self.macho.facts()
        return SharedObject(
            path=self.path,
            size=self.size,
            machine=self.machine,
            bits=macho.bits,
            little_endian=True,
            soname=self.soname,
            needed=self.needed,
            rpath=None,
            # LC_RPATH is no run path of ELF: `macho.rpaths` has it.
            runpath=None,
            build_id=macho.uuid,
            imports=self.imports,
            version_needs=(),
            version_definitions=(),
            compilers=(),
            has_sections=True,
            format=FileFormat.MACHO,
        )

    def exports_name(self, name: str) -> bool:
        """Whether it exports a name, including re-exported symbols."""
        return self.macho.exports_name(linker_name(name))

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """The names for which `exports_name` is true."""
        found = self.macho.exported_among(tuple(map(linker_name, names)))
        return frozenset(map(source_name, found))

    def export(self, name: str) -> Export | None:
        """The export of this name."""
        found = self.macho.export(linker_name(name))
        return None if found is None else _export(found)

    def exports(self) -> Iterator[Export]:
        """Every export, in the order of the export trie."""
        return map(_export, self.macho.exports())

    def _exported_names(self) -> Iterable[str]:
        return map(source_name, self.macho.exported_names)

    def strings_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """The strings of its read-only data that contain these bytes, within the search limits."""
        return self.macho.strings_with(part, gap)

    def device_images(self) -> DeviceImages:
        """Always empty: macOS files have no GPU images."""
        return DeviceImages()


def _export(found: MachoExport) -> Export:
    kind = SymbolType.FUNC if found.is_code else SymbolType.OBJECT
    if found.thread_local:
        kind = SymbolType.TLS
    elif found.reexport is not None:
        kind = SymbolType.NOTYPE
    binding = SymbolBinding.WEAK if found.weak else SymbolBinding.GLOBAL
    name = source_name(found.name)
    return Export(name, binding, kind, Visibility.DEFAULT, found.address, 0, None, False)
