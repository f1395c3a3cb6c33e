"""Resolves the imports of a file in the process of the installed torch (docs/explanation/loader.md has the statuses).

The scope is that of the loader, with two differences that make the result one about the file and torch, not about this
machine: a library missing here does not end the resolution, and a library of the same wheel or package replaces one
that the loader would not find (Python code often loads it first).
"""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.elf import ElfFile, open_elf
from abiscan.elf.symbols import STV_HIDDEN, STV_INTERNAL
from abiscan.errors import UnreadableFile
from abiscan.loader.definitions import PLT_CLASS, SymbolReference
from abiscan.loader.examination import Examination
from abiscan.loader.linkmap import LinkMap
from abiscan.loader.lookup import Binding, resolve
from abiscan.loader.relocate import Lookup, bind, lookups_for
from abiscan.loader.resolution import Resolution, ResolvingImport
from abiscan.model.facts import Import
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import NeededLibrary
from abiscan.ownership.names import OwnScopes, owner_of
from abiscan.ownership.torch_names import is_torch_library, plugin_backends

# (status, provider) of each import, by its index in .dynsym.
_Answers = dict[int, tuple[Status, str | None]]


def resolve_in_process(
    elf: ElfFile, examination: Examination, *, siblings: dict[str, ElfFile], torch_libraries: Sequence[str]
) -> Resolution:
    """Resolve every import of `elf` in its scope in the modelled process.

    Args:
        examination: the file opened in that process.
        torch_libraries: paths of the libraries of the installed torch.
    """
    answers = _in_scope(elf, examination, siblings, torch_libraries)
    missing = [name for _item, name in examination.closure.missing]
    foreign = [name for name in missing if not is_torch_library(name)]
    scopes, backends = OwnScopes(elf.names_with_prefix), plugin_backends(elf.needed)
    resolved = []
    for symbol in elf.imports:
        status, provider = answers.get(symbol.index, (Status.MISSING, None))
        owner = owner_of(symbol.name, symbol.version, provider, scopes, backends)
        if status is Status.MISSING:
            status = _unsatisfied(symbol, owner, missing, foreign)
        resolved.append(ResolvingImport(symbol, owner, status, provider))
    return Resolution(
        imports=resolved,
        needed=_needed(elf, examination),
        missing_libraries=tuple(dict.fromkeys(missing)),
        missing_torch_libraries=tuple(dict.fromkeys(name for name in missing if is_torch_library(name))),
    )


def _unsatisfied(symbol: Import, owner: Owner, missing: list[str], foreign: list[str]) -> Status:
    """The status of an import that no library in reach exports."""
    if symbol.may_stay_unbound:
        return Status.WEAK
    if owner in (Owner.PYTHON, Owner.TORCH):
        # All libraries of Python and of the target torch were read: no other library has it.
        return Status.MISSING
    if symbol.version is not None and symbol.version.library:
        return Status.UNDECIDED if symbol.version.library in missing else Status.MISSING
    if foreign or (owner in (Owner.CUDA, Owner.HIP) and missing):
        return Status.UNDECIDED
    return Status.MISSING


def _needed(elf: ElfFile, examination: Examination) -> tuple[NeededLibrary, ...]:
    found = []
    for name in elf.needed:
        item = examination.needed_by_root(name)
        found.append(NeededLibrary(name, None if item is None else item.name or None))
    return tuple(found)


def _in_scope(
    elf: ElfFile, examination: Examination, siblings: dict[str, ElfFile], torch_libraries: Sequence[str]
) -> _Answers:
    closure = examination.closure
    root = closure.root
    answers: _Answers = {}
    open_ones: list[Lookup] = []
    for lookup, binding in _bound_imports(elf, examination, root):
        if binding is not None:
            answers[lookup.symbol.number] = (Status.RESOLVED, binding[0].label)
        else:
            open_ones.append(lookup)
    # A weak one may stay unresolved: it does not matter where else it is exported.
    referred = {symbol.index for symbol in elf.imports if symbol.relocated}
    open_ones = [lookup for lookup in open_ones if not lookup.weak and lookup.symbol.number in referred]
    if open_ones:
        _out_of_scope(open_ones, answers, examination, siblings, torch_libraries)
    return answers


def _bound_imports(elf: ElfFile, examination: Examination, root: LinkMap) -> list[tuple[Lookup, Binding | None]]:
    """Look up every import, including those that no relocation refers to."""
    by_number: dict[int, tuple[Lookup, Binding | None]] = {}
    for lookup, binding in zip(examination.lookups(root), examination.bound(root), strict=True):
        by_number.setdefault(lookup.symbol.number, (lookup, binding))
    rest = [symbol.index for symbol in elf.imports if symbol.index not in by_number]
    others = lookups_for(root, [(elf.symbols.raw(index), PLT_CLASS) for index in rest])
    found = bind(root, others, examination.process.scope, examination.search_list)
    by_number.update(zip(rest, zip(others, found, strict=True), strict=True))
    wanted = (by_number[symbol.index] for symbol in elf.imports)
    return [each for each in wanted if each[0].symbol.visibility not in (STV_HIDDEN, STV_INTERNAL)]


def _out_of_scope(
    lookups: list[Lookup],
    answers: _Answers,
    examination: Examination,
    siblings: dict[str, ElfFile],
    torch_libraries: Sequence[str],
) -> None:
    """Mark imports that another library of this torch, process or package exports, outside the scope."""
    known = {item.elf.path for item in examination.namespace if item.elf is not None}
    others = list(examination.namespace)
    others += [LinkMap(opened, path) for path, opened in siblings.items() if path not in known]
    disk = examination.process.settings.files
    for path in torch_libraries:
        if path not in known:
            try:
                others.append(LinkMap(open_elf(disk.host(path), path), path))
            except (UnreadableFile, FileNotFoundError):
                continue
    references: list[SymbolReference] = [lookup.reference for lookup in lookups]
    found = resolve(references, [lookup.hash for lookup in lookups], others)
    for lookup, binding in zip(lookups, found, strict=True):
        if binding is not None:
            answers[lookup.symbol.number] = (Status.UNREACHABLE, binding[0].label)
