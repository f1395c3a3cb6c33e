"""Symbol version records of a file: needed versions of libraries (.gnu.version_r) and defined ones (.gnu.version_d).

The version index of each symbol is in .gnu.version; see `SymbolTable.version_index`.
"""

from __future__ import annotations

import struct
from functools import cached_property

from msgspec import Struct

from abiscan.elf.dynamic import DT_VERDEF, DT_VERNEED, Dynamic
from abiscan.elf.image import Image
from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_VERSIONS

VER_FLG_BASE, VER_FLG_WEAK = 0x1, 0x2


class SymbolVersion(Struct, frozen=True):
    """A symbol version of the file. Whether a symbol hides it is in .gnu.version.

    Attributes:
        library: the library that must define it; None for a version that the file defines itself.
    """

    name: str
    hash: int
    library: str | None
    weak: bool


class VersionRecords:
    """Both lists of a file, each read at the first use."""

    def __init__(self, image: Image, dynamic: Dynamic) -> None:
        self._image = image
        self._values = dynamic.values
        self._strtab, self._strtab_end = dynamic.strtab, dynamic.strtab_end

    @cached_property
    def versions(self) -> dict[int, SymbolVersion]:
        """Version index to version, needed and defined ones.

        Raises:
            UnreadableFile: as `needs`.
        """
        found: dict[int, SymbolVersion] = {}
        for need in self.needs:
            for version, index in need[1]:
                found[index & 0x7FFF] = version
        for version, index, _flags in self.definitions:
            found[index & 0x7FFF] = version
        return found

    @cached_property
    def needs(self) -> tuple[tuple[str, tuple[tuple[SymbolVersion, int], ...]], ...]:
        """.gnu.version_r in order: (library, [(version, version index), ...]).

        The loader follows the links and ignores both counts (DT_VERNEEDNUM, vn_cnt); so does this.

        Raises:
            UnreadableFile: a record or a name lies outside of the mapping, or there are too many.
        """
        image, values = self._image, self._values
        if DT_VERNEED not in values:
            return ()
        at, end = image.extent_of(values[DT_VERNEED], "the needed versions")
        need_layout = struct.Struct(image.endian + "HHIII")
        aux_layout = struct.Struct(image.endian + "IHHII")
        result: list[tuple[str, tuple[tuple[SymbolVersion, int], ...]]] = []
        budget = MAX_VERSIONS
        following = 1
        while following:
            _version, _count, file, aux, following = need_layout.unpack(self._record(at, need_layout.size, end))
            library = self._version_text(file)
            entries = []
            aux_at, aux_next = at + aux, 1
            while aux_next:
                budget -= 1
                if budget < 0:
                    raise UnreadableFile(image.path, f"more than {MAX_VERSIONS} symbol versions, which are not read")
                hashed, flags, other, name, aux_next = aux_layout.unpack(self._record(aux_at, aux_layout.size, end))
                entries.append(
                    (SymbolVersion(self._version_text(name), hashed, library, bool(flags & VER_FLG_WEAK)), other)
                )
                aux_at += aux_next
            result.append((library, tuple(entries)))
            at += following
        return tuple(result)

    @cached_property
    def definitions(self) -> tuple[tuple[SymbolVersion, int, int], ...]:
        """.gnu.version_d in order: (version, version index, vd_flags), by the links only, as `needs`.

        Raises:
            UnreadableFile: as `needs`.
        """
        image, values = self._image, self._values
        if DT_VERDEF not in values:
            return ()
        at, end = image.extent_of(values[DT_VERDEF], "the defined versions")
        layout = struct.Struct(image.endian + "HHHHIII")
        aux_layout = struct.Struct(image.endian + "II")
        result: list[tuple[SymbolVersion, int, int]] = []
        following = 1
        while following:
            if len(result) == MAX_VERSIONS:
                raise UnreadableFile(image.path, f"more than {MAX_VERSIONS} symbol versions, which are not read")
            _version, flags, index, _count, hashed, aux, following = layout.unpack(self._record(at, layout.size, end))
            name, _next = aux_layout.unpack(self._record(at + aux, aux_layout.size, end))
            result.append((SymbolVersion(self._version_text(name), hashed, None, False), index, flags))
            at += following
        return tuple(result)

    def _record(self, at: int, size: int, end: int) -> bytes:
        if at + size > end:
            raise UnreadableFile(
                self._image.path, "corrupt ELF file: its symbol version records lie outside of their mapping"
            )
        return self._image.slice(at, size, "a version record")

    def _version_text(self, name: int) -> str:
        raw = self._image.terminated(self._strtab + name, self._strtab_end)
        if raw is None:
            raise UnreadableFile(self._image.path, "corrupt ELF file: a symbol version's name is outside of it")
        return raw.decode("utf-8", "surrogateescape")

    def revisions(self) -> tuple[int | None, tuple[int, ...]]:
        """vn_version of the first needed record (None without one), and vd_version of every defined one. The only known
        revision is 1.

        Raises:
            UnreadableFile: as `needs`.
        """
        image, values = self._image, self._values
        half = struct.Struct(image.endian + "H")
        needed = None
        if DT_VERNEED in values:
            at, end = image.extent_of(values[DT_VERNEED], "the needed versions")
            (needed,) = half.unpack(self._record(at, half.size, end))
        defined: list[int] = []
        if DT_VERDEF in values:
            at, end = image.extent_of(values[DT_VERDEF], "the defined versions")
            link = struct.Struct(image.endian + "H14xI")
            following = 1
            while following and len(defined) < MAX_VERSIONS:
                version, following = link.unpack(self._record(at, link.size, end))
                defined.append(version)
                at += following
        return needed, tuple(defined)
