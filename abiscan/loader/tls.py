"""Static TLS: the space that all libraries opened after start-up share (elf/dl-tls.c and dl-reloc.c of glibc).

A relocation with the offset of a thread-local variable from the thread pointer (the initial-exec model: libgomp,
allocators, sanitizers) makes the loader allocate a block for all variables of the library that defines it. The size of
the space is fixed when the process starts. It does not matter which file has the relocation; DF_STATIC_TLS only marks
such files.
"""

from __future__ import annotations

from collections.abc import Iterable

from abiscan.binary import Binary
from abiscan.elf import ElfFile
from abiscan.elf.dynamic import DF_STATIC_TLS, DT_FLAGS
from abiscan.elf.mapping import Segment, thread_local
from abiscan.elf.symbols import STB_WEAK, STT_TLS
from abiscan.loader.bound_symbols import ABSENT, Binder
from abiscan.loader.failure import LoadFailure, Undecidable, crash
from abiscan.loader.linkmap import LinkMap
from abiscan.loader.written_words import WordEffect, types_with
from abiscan.model.imports import Owner
from abiscan.model.loading import LoaderStop, StopKind
from abiscan.ownership.names import owner_of
from abiscan.ownership.standard_libraries import is_glibc_name

# TLS_STATIC_SURPLUS: 1664 bytes with the default tunables, in every release.
_SURPLUS = 1664
_ALIGNMENT = 64
# Not counted here: gaps between blocks, and TLS descriptors, which may take up to 512 bytes of the surplus and are the
# common model on aarch64.
_UNSURE = {"x86_64": 128}
_UNSURE_ELSEWHERE = 640
# Machines whose thread pointer is behind the blocks (TLS_TCB_AT_TP): the loader divides by the alignment of a block,
# which is 0 in a file without variables.
_DIVIDING = frozenset(("x86_64", "i386", "s390x", "sparc64"))
# Bytes that are assumed to be free in a process that is unknown. Of torch's own libraries only libgomp takes any (120).
_ASSUMED_FREE = 1024
# Libraries whose variables are used by `import torch`: a variable that was reached through `__tls_get_addr` rules out a
# static block for its library. Observed with torch 2.13.0.
_USED_BY_IMPORT = ("libc10.so", "libtorch_cpu.so", "libtorch_python.so", "libstdc++.so.6")


def static_references(elf: ElfFile) -> list[tuple[int, int]]:
    """Distinct (symbol index, relocation type) of the relocations that require a static block."""
    kinds = types_with(elf.machine, WordEffect.STATIC_TLS, WordEffect.TLS_DESCRIPTOR)
    return list(dict.fromkeys((each.symbol, each.type) for table in elf.relocations for each in table.of_types(kinds)))


def check_blocks(elf: ElfFile, path: str, bind: Binder) -> None:
    """Check that files of which relocations require a static block have thread-local variables, with an alignment.

    Raises:
        LoadFailure: the loader divides by zero.
        Undecidable: it may, for a symbol of another file.
    """
    if elf.machine not in _DIVIDING:
        return
    for index, kind in static_references(elf):
        found = bind(index, kind)
        if found.elf is None:
            symbol = elf.symbols.raw(index)
            if not found.is_absent and symbol.type != STT_TLS and symbol.binding != STB_WEAK:
                raise Undecidable(f"{path}: a relocation for a thread-local variable refers to another kind of symbol")
            continue
        segment = thread_local(found.elf.image.segments)
        if segment is not None and segment.memory_size > _SURPLUS:
            continue  # refused or skipped before the division
        if segment is None or not segment.align:
            owner = "the file itself" if found.elf is elf else found.elf.path
            lacks = "has none" if segment is None else "gives them no alignment, by which the loader divides"
            raise crash(path, f"a relocation is for a thread-local variable of {owner}, which {lacks}")


def check_blocks_elsewhere(elf: ElfFile, bind: Binder, siblings: Iterable[Binary]) -> None:
    """Check the static TLS blocks that a file requires, for a process that is unknown.

    Args:
        siblings: the libraries of its package that it needs.

    Raises:
        Undecidable: there may be no space, or it needs a block for a library of the process, which the loader refuses
            if variables of that library were used before.
    """
    kinds = types_with(elf.machine, WordEffect.STATIC_TLS)
    size, align = 0, 1
    owners: set[Binary] = set()
    for index, kind in static_references(elf):
        found = bind(index, kind) if kind in kinds else ABSENT
        if found.is_absent:
            continue
        owner: Binary | None = found.elf
        if owner is None:
            name = elf.symbols.name_of(elf.symbols.raw(index)).decode("utf-8", "surrogateescape")
            owner = next((each for each in siblings if each.exported_among((name,))), None)
            if owner is None and _is_of_process(elf, index, name):
                raise Undecidable(
                    f"it needs a static TLS block for the library that defines {name}, which the loader refuses if "
                    "variables of that library were used before"
                )
        segment = thread_local(owner.image.segments) if isinstance(owner, ElfFile) and owner not in owners else None
        if owner is not None and segment is not None:
            owners.add(owner)
            size, align = size + _rounded(segment), max(align, segment.align)
    if size > _ASSUMED_FREE:
        raise Undecidable(f"it needs {size} bytes of static TLS, and all libraries share {_SURPLUS}")
    if align > _ALIGNMENT:
        raise Undecidable(f"it needs static TLS aligned to {align} bytes, and most processes have {_ALIGNMENT}")


def _is_of_process(elf: ElfFile, index: int, name: str) -> bool:
    """Whether a library defines a symbol that is opened before the file, and after the start of the process."""
    version = next((each.version for each in elf.imports if each.index == index), None)
    return owner_of(name, version) not in (Owner.LIBC, Owner.SELF, Owner.OTHER) and not is_glibc_name(name)


class StaticTls:
    """The free static TLS space.

    Args:
        startup: objects loaded at start-up: their blocks do not count, their alignment does.
        later: objects opened since, in order.
    """

    def __init__(self, machine: str, startup: Iterable[LinkMap], later: Iterable[LinkMap]) -> None:
        self._unsure = _UNSURE.get(machine, _UNSURE_ELSEWHERE)
        started = [item for item in startup if _tls(item) is not None]
        alignments = (segment.align for item in started if (segment := _tls(item)) is not None)
        self._align = max(_ALIGNMENT, *alignments, 1)
        self._free = _SURPLUS
        self._placed = set(started)
        self._used: set[LinkMap] = set()
        for item in later:
            segment = _tls(item)
            if segment is None:
                continue
            if item.elf is not None and item.elf.dynamic.values.get(DT_FLAGS, 0) & DF_STATIC_TLS:
                self._free -= _rounded(segment)
                self._placed.add(item)
            else:
                self._used.add(item)

    def take_for(self, elf: ElfFile, bind: Binder) -> None:
        """Allocate the static blocks that a file's relocations require.

        Raises:
            LoadFailure: there is no space for a block, or the library cannot have one any more.
            Undecidable: the space is about as large as the block.
        """
        offsets = types_with(elf.machine, WordEffect.STATIC_TLS)
        for index, kind in static_references(elf):
            item = bind(index, kind).item
            # A descriptor does not need a block.
            if item is not None and kind in offsets and not self._take(item):
                raise LoadFailure(LoaderStop(StopKind.STATIC_TLS, item.name))

    def _take(self, item: LinkMap) -> bool:
        """Allocate the block of an object unless it has one; False if there is no space."""
        segment = _tls(item)
        if segment is None or item in self._placed:
            return True
        if segment.align > self._align:
            return False
        left = self._free - _rounded(segment)
        if item in self._used:
            if left + self._unsure < 0 or item.label in _USED_BY_IMPORT:
                return False
            raise Undecidable(f"{item.label} needs a static TLS block, which fails if its variables were already used")
        if abs(left) < self._unsure:
            raise Undecidable(f"{item.label} needs {segment.memory_size} bytes of static TLS; about as much is free")
        if left < 0:
            return False
        self._free = left
        self._placed.add(item)
        return True


def _tls(item: LinkMap) -> Segment | None:
    return None if item.elf is None else thread_local(item.elf.image.segments)


def _rounded(segment: Segment) -> int:
    align = max(segment.align, 1)
    return -(-segment.memory_size // align) * align
