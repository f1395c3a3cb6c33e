"""The definition that a reference resolves to: `do_lookup_x` in elf/dl-lookup.c of glibc."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from abiscan.elf import RawSymbol
from abiscan.elf.symbols import STB_GLOBAL, STB_GNU_UNIQUE, STB_WEAK, STV_HIDDEN, STV_INTERNAL
from abiscan.loader.definitions import COPY_CLASS, SymbolReference
from abiscan.loader.failure import LoadFailure
from abiscan.loader.linkmap import LinkMap
from abiscan.model.loading import LoaderStop, StopKind

_ASSERTION = (
    "dl-lookup.c: 107: check_match: Assertion `version->filename == NULL || ! _dl_name_match_p "
    "(version->filename, map)' failed!"
)

Binding = tuple[LinkMap, RawSymbol]
# Maximum number of cached references, about 300 bytes each; a run over 200 files has 15,000.
_KEPT = 1 << 17
_NOT_CACHED: Binding = (LinkMap(None, ""), RawSymbol(0, 0, 0, 0, 0, 0, 0))


def resolve(
    references: Sequence[SymbolReference], hashes: Sequence[int], scope: Iterable[LinkMap]
) -> list[Binding | None]:
    """Find the first definition of each reference in the order of `scope`; None if there is none.

    Args:
        hashes: `gnu_hash` of each name.
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
                found[index] = (item, symbol)
                hit = True
        if hit:
            pending = [index for index in pending if found[index] is None]
    return found


class Scope:
    """Objects in which references are looked up: the global scope of a process, or the search list of an opened object.

    Results are cached: nine in ten references of a run's files, and many of those of the libraries of one file, are
        shared.

    Attributes:
        maps: its objects, in order.
    """

    def __init__(self, maps: Iterable[LinkMap]) -> None:
        self.maps = tuple(maps)
        self._found: dict[SymbolReference, Binding | None] = {}

    def resolve(self, references: Sequence[SymbolReference], hashes: Sequence[int]) -> list[Binding | None]:
        """As the function `resolve`, in this scope."""
        known = self._found
        if len(known) > _KEPT:
            known.clear()
        found = [known.get(reference, _NOT_CACHED) for reference in references]
        new = [i for i, binding in enumerate(found) if binding is _NOT_CACHED]
        new_references = [references[i] for i in new]
        for i, binding in zip(new, resolve(new_references, [hashes[i] for i in new], self.maps), strict=True):
            found[i] = known[references[i]] = binding
        return found


def check_version_asserted(reference: SymbolReference, item: LinkMap) -> None:
    """Check the assertion of glibc before 2.41: a reference to a version of a library fails if the library has the
    symbol but no versions.

    Raises:
        LoadFailure: the assertion fails.
    """
    version, exports = reference.version, item.definitions
    if version is None or version.library is None or exports is None or exports.versions:
        return
    if version.library in (item.name, item.soname):
        raise LoadFailure(LoaderStop(StopKind.ASSERTION, item.name, detail=_ASSERTION))
