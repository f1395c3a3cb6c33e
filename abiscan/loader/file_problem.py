"""The first problem of a file that is independent of the process: the checks of all stages, in the loader's order."""

from __future__ import annotations

from collections.abc import Iterable

from abiscan.binary import Binary
from abiscan.binary.stored_binary import StoredBinary
from abiscan.elf import ElfFile
from abiscan.elf.image import ET_DYN
from abiscan.elf.notes import x86_isa_needed
from abiscan.elf.symbols import VER_NDX_GLOBAL
from abiscan.loader.bound_symbols import FileBinder
from abiscan.loader.called_functions import check_resolvers, check_started
from abiscan.loader.failure import LoadFailure, Undecidable
from abiscan.loader.integrity import check_flags, check_hash, check_known_levels, check_mapped, check_revisions
from abiscan.loader.relocation_checks import (
    check_names,
    check_own_names,
    check_read,
    check_relocated,
    unknown_relocation,
)
from abiscan.loader.tls import check_blocks, check_blocks_elsewhere
from abiscan.model.loading import LoaderStop

# GNU_PROPERTY_X86_ISA_1_BASELINE (x86-64 psABI, linux-extensions "Program Property").
_BASELINE = 1
# A version index in .gnu.version, without the hidden bit.
_VERSION = 0x7FFF


def first_problem(elf: Binary) -> LoaderStop | str | None:
    """Find what ends the load of a shared object in every process.

    Returns:
        The loader's stop, or why it cannot be known, as a sentence; None if there is no problem.

    Raises:
        UnreadableFile: a table lies outside of the file.
    """
    if isinstance(elf, StoredBinary):
        return elf.problem
    if not isinstance(elf, ElfFile) or elf.image.type != ET_DYN or not elf.image.loads:
        return None
    try:
        check_mapped(elf, elf.path)
        check_flags(elf, elf.path)
        check_hash(elf, elf.path)
        check_revisions(elf, elf.path)
        check_known_levels(elf, elf.path)
        stop = unknown_relocation(elf, elf.path)
        if stop is not None:
            return stop
        check_names(elf, elf.path)
        check_relocated(elf, elf.path)
        bind = FileBinder(elf)
        check_read(elf, elf.path, bind)
        check_blocks(elf, elf.path, bind)
        check_resolvers(elf, elf.path, bind)
        check_own_names(elf, elf.path)
        check_started(elf, elf.path, bind, True)
    except LoadFailure as failure:
        return failure.stop
    except Undecidable as reason:
        return str(reason)
    return None


def unknown_elsewhere(elf: Binary, siblings: Iterable[Binary] = ()) -> str | None:
    """Why it is unknown whether another machine and process can load a shared object, as a sentence; None if they can:
    the CPU that it requires, static TLS, and undefined symbols with a version of the file itself.

    Args:
        siblings: the libraries of its package that it needs.

    Raises:
        UnreadableFile: a table lies outside of the file.
    """
    if not isinstance(elf, ElfFile):
        return None
    if elf.machine == "x86_64" and x86_isa_needed(elf.image) & ~_BASELINE:
        return "it requires a CPU above the x86-64 baseline, and the CPU of the target machine is unknown"
    try:
        check_blocks_elsewhere(elf, FileBinder(elf), siblings)
    except Undecidable as reason:
        return str(reason)
    return _own_version(elf)


def _own_version(elf: ElfFile) -> str | None:
    """No linker writes such a reference; the loader looks for the version in every library."""
    own = {index & _VERSION: version for version, index, _flags in elf.symbols.version_records.definitions}
    if own.keys() <= {VER_NDX_GLOBAL}:
        return None
    undefined = [each for each in elf.imports if each.version is None and not each.may_stay_unbound]
    for each, index in zip(undefined, elf.symbols.version_indices([each.index for each in undefined]), strict=True):
        if index & _VERSION in own.keys() - {VER_NDX_GLOBAL}:
            return f"it needs {each.name} in version {own[index & _VERSION].name}, which it defines itself"
    return None
