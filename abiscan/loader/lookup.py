"""Which definition a reference binds to: `do_lookup_x` in elf/dl-lookup.c of glibc."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from abiscan.elf import RawSymbol
from abiscan.elf.symbols import STB_GLOBAL, STB_GNU_UNIQUE, STB_WEAK, STV_HIDDEN, STV_INTERNAL
from abiscan.loader.definitions import COPY_CLASS, Reference, Version
from abiscan.loader.failure import LoadFailure
from abiscan.loader.linkmap import LinkMap
from abiscan.model.binding import LoaderStop, StopKind

_ASSERTION = (
    "dl-lookup.c: 107: check_match: Assertion `version->filename == NULL || ! _dl_name_match_p "
    "(version->filename, map)' failed!"
)

Binding = tuple[LinkMap, RawSymbol]


def resolve(
    references: Sequence[Reference], hashes: Sequence[int], scope: Iterable[LinkMap], *, asserts: bool = False
) -> list[Binding | None]:
    """The definition that each reference binds to, the first in the order of `scope`; None where there is none.

    Args:
        hashes: `gnu_hash` of each name.
        asserts: the loader aborts where a version is asked of a library that has none (glibc before 2.41).

    Raises:
        LoadFailure: that happened.
    """
    found: list[Binding | None] = [None] * len(references)
    pending: Sequence[int] = range(len(references))
    for item in scope:
        if not pending:
            break
        exports = item.definitions
        if exports is None or exports.table is None:
            continue
        candidates = exports.table.screen(hashes, pending)
        hit = False
        for index in candidates:
            reference = references[index]
            if item.is_executable and reference.type_class & COPY_CLASS:
                continue
            symbol = exports.match(reference, hashes[index])
            if symbol is None or symbol.visibility in (STV_HIDDEN, STV_INTERNAL):
                continue
            if symbol.binding in (STB_GLOBAL, STB_WEAK, STB_GNU_UNIQUE):
                if asserts and reference.version is not None and not exports.versions:
                    _check_version_assert(reference.version, item)
                found[index] = (item, symbol)
                hit = True
        if hit:
            pending = [index for index in pending if found[index] is None]
    return found


def _check_version_assert(version: Version, item: LinkMap) -> None:
    if version.library is not None and version.library in (item.name, item.soname):
        raise LoadFailure(LoaderStop(StopKind.ASSERTION, item.name, detail=_ASSERTION))
