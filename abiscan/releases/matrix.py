"""Computes the outcome of a file on every released build, only from the index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from abiscan.mangling import string_abi
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.gpu_libraries import unfit_gpu
from abiscan.ownership.torch_names import ACCELERATOR_LIBRARIES, accelerator_of, in_scope, torch_stem
from abiscan.releases import Build, ReleaseIndex, SymbolHistory, ranges_of
from abiscan.releases.omission import recorded


class SiblingNeeds(Struct, frozen=True):
    """Torch imports of a library of the file's own package that the file needs.

    Attributes:
        library: its file name.
        names, libraries, homes: as in `TorchNeeds`.
    """

    library: str
    names: tuple[str, ...]
    libraries: tuple[str, ...]
    homes: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class TorchNeeds(Struct, frozen=True):
    """Torch imports of a file.

    Attributes:
        names: its strong, relocated imports that are torch's by their spelling and that nothing else in scope exports.
        own_names: imports of unknown owner that nothing in scope exports unless torch does.
        libraries: sonames of torch libraries among its needed ones.
        machine: the file's architecture.
        scope: sonames of torch libraries that it or its siblings need: with what these load, its scope.
        siblings: the libraries of its own package that it needs, directly or through others.
        gpu_libraries: sonames of the CUDA and ROCm libraries that it needs and its package does not contain.
        homes: name -> the libraries one of which must export it, if the file names them (Windows, macOS).
        all_libraries: whether its scope is every library of torch, once torch is imported (flat lookup of macOS).
    """

    names: tuple[str, ...]
    libraries: tuple[str, ...]
    machine: str
    scope: tuple[str, ...] = ()
    own_names: tuple[str, ...] = ()
    siblings: tuple[SiblingNeeds, ...] = ()
    gpu_libraries: tuple[str, ...] = ()
    homes: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    all_libraries: bool = False


class Matrix(Struct, frozen=True):
    """Outcomes on all builds of one architecture.

    Attributes:
        verdicts: oldest build first.
        exporting: versions with a build that exports all of its names, regardless of the CUDA version and of other
            causes of failure.
        histories: of each name that the index has.
        unknown: names that the index does not record, which are not checked.
    """

    verdicts: tuple[ReleaseVerdict, ...]
    exporting: ReleaseRanges
    histories: dict[str, SymbolHistory]
    unknown: tuple[str, ...]


def build_matrix(
    needs: TorchNeeds,
    index: ReleaseIndex,
    *,
    reasons: bool = True,
    target: str | None = None,
    otherwise: Callable[[Build], str] | None = None,
) -> Matrix:
    """Resolve the needs against every known build of the file's architecture.

    Args:
        reasons: whether to compute the short reason of each failure; a caller that needs only `exporting` saves the
            time.
        target: key of a build whose reason is always computed.
        otherwise: short reason why the file fails on a build for something other than torch; empty if it does not.
    """
    builds = index.builds(needs.machine)
    histories = index.lookup(needs.names, needs.machine, of_others=True)
    unknown = tuple(n for n in needs.names if n not in histories and not recorded(n))
    known = _look_up(needs, index, histories, unknown)
    masks, open_to_cuda = known.masks, known.open_to_cuda
    # Names that some build lacks; the others need no check per build.
    partial = [name for name, mask in masks.items() if mask != (1 << len(builds)) - 1]
    verdicts = []
    fits = []
    for position, build in enumerate(builds):
        bit = 1 << position
        missing = tuple(name for name in partial if not masks[name] & bit)
        is_open = bool(open_to_cuda & bit)
        lacking = tuple(s for s in needs.libraries if not build.ships(s) and not (is_open and accelerator_of(s)))
        fits.append(not missing and not lacking)
        if fits[-1]:
            state, missing, reason = _beside_names(build, position, known, needs, otherwise)
        else:
            wants_reason = reasons or build.key == target
            state = ReleaseState.FAILS
            reason = _reason(build, position, missing, lacking, known) if wants_reason else ""
        verdicts.append(
            ReleaseVerdict(
                build=build.key,
                torch=build.torch,
                variant=build.variant,
                cxx11_abi=bool(build.cxx11_abi),
                state=state,
                missing=missing,
                drift=(),
                reason=reason,
            )
        )
    return Matrix(tuple(verdicts), ranges_of(builds, fits), histories, unknown)


def _look_up(
    needs: TorchNeeds, index: ReleaseIndex, histories: Mapping[str, SymbolHistory], unknown: Collection[str]
) -> _Known:
    """The state of the needs on all builds together.

    Args:
        histories: of the names of the file; unknown: those that the index does not record.
    """
    builds = index.builds(needs.machine)
    # Most builds have the libraries of the previous one.
    scope_in = {libraries: in_scope(needs.scope, libraries) for libraries in {build.libraries for build in builds}}
    scope = [
        frozenset(build.libraries) if build.is_global or needs.all_libraries else scope_in[build.libraries]
        for build in builds
    ]
    open_to_cuda = sum(1 << i for i, build in enumerate(builds) if index.stands_for_cuda(build))
    masks = _masks([n for n in needs.names if n not in unknown], histories, needs.homes, open_to_cuda)
    linked = (1 << len(builds)) - 1
    for name, reached in _in_scope(histories, scope).items():
        if name not in needs.homes:  # those are looked up in their home alone
            linked &= reached | ~masks[name]
    others = index.lookup(needs.own_names, needs.machine, of_others=True) if needs.own_names else {}
    own_reached = _in_scope(others, scope)
    return _Known(
        masks,
        frozenset(histories),
        {},
        open_to_cuda,
        linked,
        own={name: own_reached.get(name, 0) for name in needs.own_names},
        siblings=tuple(
            (each.library, _sibling_mask(each, index, builds, scope, open_to_cuda)) for each in needs.siblings
        ),
    )


def _masks(
    names: Iterable[str],
    histories: Mapping[str, SymbolHistory],
    homes: Mapping[str, tuple[str, ...]],
    open_to_cuda: int,
) -> dict[str, int]:
    """Map each name to a mask: bit i if build i exports it, from its home if the file names one."""
    masks = {name: histories[name].mask if name in histories else 0 for name in names}
    # Names share few histories and homes.
    known: dict[tuple[int, tuple[str, ...]], int] = {}
    for name, of_name in homes.items():
        if name not in masks:
            continue
        if name in histories:
            exports = histories[name].exports
            key = (id(exports), of_name)
            if key not in known:
                known[key] = sum(
                    1 << i for i, export in enumerate(exports) if export and set(of_name) <= set(export.libraries)
                )
            masks[name] = known[key]
        if any(map(accelerator_of, of_name)):
            masks[name] |= open_to_cuda
    return masks


def _in_scope(histories: Mapping[str, SymbolHistory], scope: Sequence[frozenset[str]]) -> dict[str, int]:
    """Name -> bit i if a library of build i in the file's scope exports it."""
    # Names share few histories, which the index caches, so each is processed once.
    known: dict[int, int] = {}
    for history in histories.values():
        if id(history.exports) not in known:
            known[id(history.exports)] = sum(
                1 << position
                for position, export in enumerate(history.exports)
                if export is not None and not scope[position].isdisjoint(export.libraries)
            )
    return {name: known[id(history.exports)] for name, history in histories.items()}


def _sibling_mask(
    sibling: SiblingNeeds,
    index: ReleaseIndex,
    builds: Sequence[Build],
    scope: Sequence[frozenset[str]],
    open_to_cuda: int,
) -> int:
    """The builds that export all imports of a library of the file's package."""
    names = tuple(filter(recorded, sibling.names))
    histories = index.lookup(names, builds[0].machine, of_others=True) if builds else {}
    reached = _in_scope(histories, scope)
    if sibling.homes:
        reached |= _masks(sibling.homes, histories, sibling.homes, open_to_cuda)
    mask = sum(
        1 << i
        for i, build in enumerate(builds)
        if all(build.ships(s) or (open_to_cuda >> i & 1 and accelerator_of(s)) for s in sibling.libraries)
    )
    for name in names:
        mask &= reached.get(name, 0)
    return mask


def releases_exporting(
    names: Iterable[str], index: ReleaseIndex, machine: str, libraries: Sequence[str] = ()
) -> ReleaseRanges:
    """The versions with a build that exports all of `names` and ships the torch `libraries` that a file needs."""
    builds = index.builds(machine)
    mask = (1 << len(builds)) - 1
    wanted = [n for n in names if recorded(n)]
    histories = index.lookup(wanted, machine, of_others=True)
    for name in wanted:
        mask &= histories[name].mask if name in histories else 0
    needed = [s for s in libraries if s in ACCELERATOR_LIBRARIES]
    return ranges_of(builds, [bool(mask >> i & 1) and all(b.ships(s) for s in needed) for i, b in enumerate(builds)])


class _Known(Struct, frozen=True):
    """Facts about the names, looked up once for all builds. Bit i of a mask is build i.

    Attributes:
        masks: name -> the builds that export it; exported: the names that any exports; strings: their std::string ABI,
            as far as needed.
        open_to_cuda: builds that stand for CUDA builds, with unknown exports.
        linked: builds on which a library that the file links exports each name.
        own: the same of each name of unknown owner.
        siblings: library of the package -> the builds that export all that it needs.
    """

    masks: dict[str, int]
    exported: frozenset[str]
    strings: dict[str, str | None]
    open_to_cuda: int
    linked: int
    own: dict[str, int]
    siblings: tuple[tuple[str, int], ...]


def _beside_names(
    build: Build, position: int, known: _Known, needs: TorchNeeds, otherwise: Callable[[Build], str] | None
) -> tuple[ReleaseState, tuple[str, ...], str]:
    """State, missing names and reason on a build that exports every name and ships every library of torch."""
    bit = 1 << position
    broken = next((library for library, mask in known.siblings if not mask & bit), None)
    if broken is not None:
        return ReleaseState.FAILS, (), f"needs {broken}, which does not load"
    if not known.linked & bit:
        return ReleaseState.FAILS, (), "not linked to it"
    unexported = tuple(name for name, mask in known.own.items() if not mask & bit)
    if unexported:
        exported = [known.own[name] for name in unexported if known.own[name]]
        reason = _change(position, exported) if len(exported) == len(unexported) else "exported by none of them"
        return ReleaseState.FAILS, unexported, reason
    if otherwise is not None and (why := otherwise(build)):
        return ReleaseState.FAILS, (), why
    if needs.gpu_libraries and not known.open_to_cuda & bit:
        gpu = unfit_gpu(needs.gpu_libraries, build.provided_libraries)
        if gpu:
            return ReleaseState.OTHER_CUDA, (), f"has {gpu}"
    return ReleaseState.LOADS, (), ""


def _reason(build: Build, position: int, missing: Sequence[str], lacking: Sequence[str], known: _Known) -> str:
    """The short reason that explains most of the failure."""
    if lacking:
        kind = ACCELERATOR_LIBRARIES.get(f"{torch_stem(lacking[0])}.so")
        if kind is None:
            return f"has no {lacking[0]}"
        if {"CUDA": build.cuda, "ROCm": build.hip}.get(kind):
            # libtorch_cuda was added in 1.5, libtorch_cuda_linalg in 1.12.
            return f"has no {lacking[0]}"
        return "CPU build" if not (build.cuda or build.hip) else f"no {kind}"
    exported = [n for n in missing if n in known.exported]
    if not exported:
        return "exported by none of them"
    for name in missing:
        if name not in known.strings:
            known.strings[name] = string_abi(name)
    spelled = {known.strings[n] for n in missing} - {None}
    if build.cxx11_abi is not None and spelled == {"old" if build.cxx11_abi else "new"}:
        others = sum(known.strings[n] is None for n in missing)
        if others < len(missing) / 2:
            return "new string ABI" if build.cxx11_abi else "old string ABI"
    return _change(position, [known.masks[n] for n in exported])


def _change(position: int, masks: Sequence[int]) -> str:
    """Why a build lacks names, from the position of the builds that export them."""
    below, above = (1 << position) - 1, ~((1 << position + 1) - 1)
    if all(m & above and not m & below for m in masks):
        return "symbols added later"
    if all(m & below and not m & above for m in masks):
        return "symbols removed or changed"
    return "changed signatures"
