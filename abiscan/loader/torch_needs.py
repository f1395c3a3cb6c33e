"""Imports that only torch can provide, collected so that every release can be checked as in `resolve_on_release`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from abiscan.binary import Binary
from abiscan.loader.resolution import gpu_libraries_among, needed_of_package
from abiscan.model.imports import CheckedImport, Owner, Status
from abiscan.ownership.names import OwnScopes, owner_of
from abiscan.ownership.standard_libraries import is_glibc_name
from abiscan.ownership.torch_names import is_torch_library, plugin_backends
from abiscan.releases.matrix import SiblingNeeds, TorchNeeds
from abiscan.releases.omission import recorded

# Owners of symbols that the interpreter, the system or a library beside torch exports if the build does not.
_PROVIDED_ELSEWHERE = frozenset({Owner.PYTHON, Owner.LIBC, Owner.CXX, Owner.OPENMP, Owner.CUDA, Owner.HIP})


def torch_needs(
    binary: Binary,
    imports: Sequence[CheckedImport],
    siblings: Mapping[str, Binary],
    namesakes: frozenset[str],
    absent: Iterable[str],
    *,
    dependents: Sequence[str],
    newer: Collection[str],
) -> TorchNeeds:
    """Collect what only a torch build can provide, for the file and for the libraries of its package that it needs.

    Args:
        imports: the file's imports, resolved.
        siblings: path to contents of the other shared objects of the package.
        namesakes: file names of libraries of the package that only have the name of a torch library.
        absent: sonames of libraries that were not found and may export symbols of unknown owner.
        dependents: sonames that files of the package need which load the file into their scope.
        newer: C++ library symbols that the oldest system of the wheel's tags does not have.
    """
    is_of_torch = partial(is_torch_library, packaged=namesakes)
    needed, others = needed_of_package(binary, siblings)
    # A library of the package that needs no torch library resolves alike on every release.
    with_torch = {path: each for path, each in needed.items() if any(map(is_of_torch, each.needed))}
    everything = [*binary.needed, *dependents, *(name for each in with_torch.values() for name in each.needed)]
    return TorchNeeds(
        names=tuple(dict.fromkeys(_torch_names(imports))),
        own_names=tuple(dict.fromkeys(_unowned_names(binary, imports, is_of_torch, bool(tuple(absent)), newer))),
        libraries=tuple(filter(is_of_torch, binary.needed)),
        scope=tuple(dict.fromkeys(name.rpartition("/")[2] for name in everything if is_of_torch(name))),
        siblings=tuple(
            _sibling_needs(path, each, (binary, *needed.values()), is_of_torch) for path, each in with_torch.items()
        ),
        machine=binary.machine,
        gpu_libraries=gpu_libraries_among(others),
    )


def _torch_names(imports: Iterable[CheckedImport]) -> Iterator[str]:
    """Torch symbols, except those that another library in scope exports."""
    for bound in imports:
        if bound.owner is not Owner.TORCH or bound.status is Status.WEAK:
            continue
        if bound.provider is not None and not is_torch_library(bound.provider):
            continue
        # A symbol spelled like another owner's but exported by torch is in `_unowned_names`.
        if owner_of(bound.name, bound.symbol.version) is Owner.TORCH:
            yield bound.name


def _unowned_names(
    binary: Binary,
    imports: Iterable[CheckedImport],
    is_of_torch: Callable[[str], bool],
    absent: bool,
    newer: Collection[str],
) -> Iterator[str]:
    """Symbols of unknown owner: torch exports them, or nothing does."""
    scopes: OwnScopes | None = None
    for bound in imports:
        if bound.name in newer and bound.symbol.version is None and bound.status is Status.UNDECIDED and not absent:
            yield bound.name
            continue
        by_torch = bound.provider is not None and is_of_torch(bound.provider)
        if bound.status is not Status.MISSING and not by_torch:
            continue
        scopes = scopes or OwnScopes(binary.names_with_prefix)
        owner = owner_of(bound.name, bound.symbol.version, None, scopes)
        if bound.name not in newer and (
            owner is Owner.TORCH or owner in _PROVIDED_ELSEWHERE or is_glibc_name(bound.name)
        ):
            continue
        if bound.status is Status.MISSING or not (absent or not recorded(bound.name)):
            yield bound.name


def _sibling_needs(
    path: str, sibling: Binary, scope: Iterable[Binary], is_of_torch: Callable[[str], bool]
) -> SiblingNeeds:
    backends = plugin_backends(sibling.needed)
    own = dict.fromkeys(
        symbol.name
        for symbol in sibling.imports
        if not symbol.may_stay_unbound and owner_of(symbol.name, symbol.version, backends=backends) is Owner.TORCH
    )
    names = tuple(own)
    served = set[str]().union(*(each.exported_among(names) for each in scope))
    return SiblingNeeds(
        library=path.rpartition("/")[2],
        names=tuple(name for name in names if name not in served),
        libraries=tuple(filter(is_of_torch, sibling.needed)),
    )
