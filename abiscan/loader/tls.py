"""Static TLS: the little room that libraries opened later share (elf/dl-tls.c and dl-reloc.c of glibc).

For a relocation with the offset of a thread-local variable from the thread pointer (the initial-exec model: libgomp,
allocators, sanitizers) the loader puts all variables of the library that defines it into a block. The size of that
room was fixed when the process started. It does not matter which file has the relocation. DF_STATIC_TLS only marks such
files.
"""

from __future__ import annotations

from collections.abc import Iterable

from abiscan.elf import ElfFile
from abiscan.elf.dynamic import DF_STATIC_TLS, DT_FLAGS
from abiscan.elf.segment import Segment, thread_local
from abiscan.elf.symbols import STB_WEAK, STT_TLS
from abiscan.loader.bound_symbols import Binder
from abiscan.loader.failure import LoadFailure, Undecidable, crash
from abiscan.loader.linkmap import LinkMap
from abiscan.loader.written_words import WordEffect, types_with
from abiscan.model.loading import LoaderStop, StopKind

# TLS_STATIC_SURPLUS: 1664 bytes with the default tunables, in every release.
_SURPLUS = 1664
_ALIGNMENT = 64
# What is not counted here: gaps between blocks, and TLS descriptors, which may take up to 512 bytes of the surplus and
# are the common model on aarch64.
_UNSURE = {"x86_64": 128}
_UNSURE_ELSEWHERE = 640
# Machines whose thread pointer is behind the blocks (TLS_TCB_AT_TP): the loader divides by the alignment of a block,
# which is 0 in a file without variables.
_DIVIDING = frozenset(("x86_64", "i386", "s390x", "sparc64"))
# Libraries whose variables are used while torch is imported: once a variable was reached through `__tls_get_addr`, its
# library can have no static block any more. Observed with torch 2.13.0.
_USED_BY_IMPORT = ("libc10.so", "libtorch_cpu.so", "libtorch_python.so", "libstdc++.so.6")


def static_references(elf: ElfFile) -> list[tuple[int, int]]:
    """(symbol index, relocation type), each pair once, of the relocations that ask for a static block."""
    kinds = types_with(elf.machine, WordEffect.STATIC_TLS, WordEffect.TLS_DESCRIPTOR)
    return list(dict.fromkeys((each.symbol, each.type) for table in elf.relocations for each in table.of_types(kinds)))


def check_blocks(elf: ElfFile, path: str, bind: Binder) -> None:
    """The files that relocations ask a static block of have thread-local variables, with an alignment.

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
                raise Undecidable(f"{path}: a relocation for a thread-local variable is for a symbol that is none")
            continue
        segment = thread_local(found.elf.image.segments)
        if segment is not None and segment.memory_size > _SURPLUS:
            continue  # refused, or done without, before anything is divided
        if segment is None or not segment.align:
            whose = "the file itself" if found.elf is elf else found.elf.path
            lacks = "has none" if segment is None else "gives them no alignment, by which the loader divides"
            raise crash(path, f"a relocation is for a thread-local variable of {whose}, which {lacks}")


class StaticTls:
    """The room that is left.

    Args:
        startup: what the executable brought; its own blocks do not count, its alignment does.
        later: what was opened since, in order.
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
        """Give every library that a file's relocations ask a static block of its block.

        Raises:
            LoadFailure: there is no room for one, or it cannot have one any more.
            Undecidable: it is too close to tell.
        """
        offsets = types_with(elf.machine, WordEffect.STATIC_TLS)
        for index, kind in static_references(elf):
            item = bind(index, kind).item
            # A descriptor does without.
            if item is not None and kind in offsets and not self._take(item):
                raise LoadFailure(LoaderStop(StopKind.STATIC_TLS, item.name))

    def _take(self, item: LinkMap) -> bool:
        """Give an object its block, if it has none; False where there is no room."""
        segment = _tls(item)
        if segment is None or item in self._placed:
            return True
        if segment.align > self._align:
            return False
        left = self._free - _rounded(segment)
        if item in self._used:
            if left + self._unsure < 0 or item.label in _USED_BY_IMPORT:
                return False
            raise Undecidable(f"{item.label} needs a static TLS block, which it cannot have if its variables were used")
        if abs(left) < self._unsure:
            raise Undecidable(f"{item.label} needs {segment.memory_size} bytes of static TLS, about what is left of it")
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
