"""The definition that a reference resolves to (`do_lookup_x` in elf/dl-lookup.c of glibc), and the symbol versions that
a library must define (`_dl_check_map_versions` in elf/dl-version.c)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from abiscan.elf import RawSymbol
from abiscan.elf.dynamic import DT_RELR
from abiscan.elf.symbols import STB_GLOBAL, STB_GNU_UNIQUE, STB_WEAK, STV_HIDDEN, STV_INTERNAL
from abiscan.loader.definitions import COPY_CLASS, SymbolReference
from abiscan.loader.failure import LoadFailure
from abiscan.loader.linkmap import LinkMap, Namespace
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


# The loader reads DT_RELR since 2.36 and ignores the tag before.
_RELR_MARK = "GLIBC_ABI_DT_RELR"
_RELR_UNMARKED = "DT_RELR without GLIBC_ABI_DT_RELR dependency"
_VERSION_ASSERTION = "dl-version.c: 205: _dl_check_map_versions: Assertion `needed != NULL' failed!"


def check_versions(item: LinkMap, namespace: Namespace, searched: list[LinkMap], *, knows_relr: bool) -> None:
    """Check the versions that a newly mapped object requires, in the order of its .gnu.version_r.

    Args:
        searched: the search list of the opened object.
        knows_relr: whether the loader is glibc 2.36 or later.

    Raises:
        LoadFailure: a library lacks a version, or the library itself is missing (an assertion of the loader).
    """
    elf = item.elf
    if elf is None:
        return
    relr_mark = False
    for library, entries in elf.symbols.version_records.needs:
        provider = namespace.find_exact(library)
        if provider is None:
            raise LoadFailure(LoaderStop(StopKind.ASSERTION, item.name, detail=_VERSION_ASSERTION))
        defined = _defined(provider)
        for version, _index in entries:
            relr_mark |= version.name == _RELR_MARK
            if defined is not None and (version.hash, version.name) not in defined and not version.weak:
                raise LoadFailure(
                    LoaderStop(StopKind.VERSION_NOT_FOUND, provider.name, version=version.name, required_by=item.name)
                )
    if (
        knows_relr
        and not relr_mark
        and elf.symbols.version_records.needs
        and DT_RELR in elf.dynamic.values
        and any(name.startswith("libc.so.") for name in elf.needed)
    ):
        raise LoadFailure(LoaderStop(StopKind.INVALID_FILE, item.name, detail=_RELR_UNMARKED))


def _defined(item: LinkMap) -> set[tuple[int, str]] | None:
    """(hash, name) of the versions that an object defines; None for one without versions, which passes every check."""
    if item.elf is None:
        return None
    definitions = item.elf.symbols.version_records.definitions
    return {(version.hash, version.name) for version, _index, _flags in definitions} or None
