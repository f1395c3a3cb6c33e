"""Symbol versions that a library must define: `_dl_check_map_versions` in elf/dl-version.c of glibc."""

from __future__ import annotations

from abiscan.elf.dynamic import DT_RELR
from abiscan.loader.failure import LoadFailure
from abiscan.loader.linkmap import LinkMap, Namespace
from abiscan.model.loading import LoaderStop, StopKind

# The loader reads DT_RELR since 2.36 and ignores the tag before.
_RELR_MARK = "GLIBC_ABI_DT_RELR"
_RELR_UNMARKED = "DT_RELR without GLIBC_ABI_DT_RELR dependency"
_ASSERTION = "dl-version.c: 205: _dl_check_map_versions: Assertion `needed != NULL' failed!"


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
            raise LoadFailure(LoaderStop(StopKind.ASSERTION, item.name, detail=_ASSERTION))
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
