"""How a file fares on every released build, by the index alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from abiscan.mangling import string_abi
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.versions import Windows
from abiscan.ownership.gpu_libraries import unfit_gpu
from abiscan.ownership.torch_names import ACCELERATOR_LIBRARIES
from abiscan.releases import (
    Build,
    ReleaseIndex,
    SymbolHistory,
    windows_of,
)
from abiscan.releases.omission import recorded


class TorchNeeds(Struct, frozen=True):
    """What a file wants of torch.

    Attributes:
        names: its strong, relocated imports that are torch's to provide.
        libraries: sonames of torch libraries among its needed ones.
        machine: the file's architecture.
        gpu_libraries: sonames of CUDA's and ROCm's libraries that its package does not bring.
    """

    names: tuple[str, ...]
    libraries: tuple[str, ...]
    machine: str
    gpu_libraries: tuple[str, ...] = ()


class Matrix(Struct, frozen=True):
    """Verdicts over all builds of one architecture.

    Attributes:
        verdicts: oldest build first.
        windows: versions with a build on which the file loads.
        exporting: versions with a build that exports everything it wants, whatever CUDA the build has.
        histories: what the index knows of each name.
        unknown: names that the index does not record, so that no build can be judged by them.
    """

    verdicts: tuple[ReleaseVerdict, ...]
    windows: Windows
    exporting: Windows
    histories: dict[str, SymbolHistory]
    unknown: tuple[str, ...]


def judge(needs: TorchNeeds, index: ReleaseIndex, *, reasons: bool = True) -> Matrix:
    """Resolve the needs against every known build of the file's architecture.

    Args:
        reasons: say in a word why a build fails; a caller that wants the windows alone saves the time.
    """
    builds = index.builds(needs.machine)
    histories = index.lookup(needs.names, needs.machine, of_others=True)
    unknown = tuple(n for n in needs.names if n not in histories and not recorded(n))
    decided = [n for n in needs.names if n not in unknown]
    masks = {name: histories[name].mask if name in histories else 0 for name in decided}
    everywhere = (1 << len(builds)) - 1
    common = everywhere
    for mask in masks.values():
        common &= mask
    # Names that some build lacks; the others need no look per build.
    partial = [name for name, mask in masks.items() if mask != everywhere]
    known = _Known(masks, frozenset(histories), {name: string_abi(name) for name in partial} if reasons else {})
    verdicts = []
    for position, build in enumerate(builds):
        bit = 1 << position
        missing = tuple(name for name in partial if not masks[name] & bit)
        lacking = tuple(s for s in needs.libraries if s in ACCELERATOR_LIBRARIES and not build.ships(s))
        exporting = not missing and not lacking
        gpu = unfit_gpu(needs.gpu_libraries, build.brings) if exporting and needs.gpu_libraries else None
        state = ReleaseState.FAILS if not exporting else ReleaseState.LOADS if gpu is None else ReleaseState.OTHER_CUDA
        reason = f"has {gpu}" if gpu is not None else ""
        verdicts.append(
            ReleaseVerdict(
                build=build.key,
                torch=build.torch,
                variant=build.variant,
                cxx11_abi=bool(build.cxx11_abi),
                state=state,
                missing=missing,
                drift=(),
                reason=_reason(build, position, missing, lacking, known) if reasons and not exporting else reason,
            )
        )
    fits = [v.state is not ReleaseState.FAILS for v in verdicts]
    return Matrix(
        tuple(verdicts), windows_of(builds, [v.loads for v in verdicts]), windows_of(builds, fits), histories, unknown
    )


def window_of(names: Iterable[str], index: ReleaseIndex, machine: str, libraries: Sequence[str] = ()) -> Windows:
    """The versions with a build that exports all of `names` and ships the `libraries` of torch that a file needs."""
    builds = index.builds(machine)
    mask = (1 << len(builds)) - 1
    wanted = [n for n in names if recorded(n)]
    histories = index.lookup(wanted, machine, of_others=True)
    for name in wanted:
        mask &= histories[name].mask if name in histories else 0
    needed = [s for s in libraries if s in ACCELERATOR_LIBRARIES]
    return windows_of(builds, [bool(mask >> i & 1) and all(b.ships(s) for s in needed) for i, b in enumerate(builds)])


class _Known(Struct, frozen=True):
    """Facts about the names, looked up once for all builds: in which builds, in any at all, with which std::string."""

    masks: dict[str, int]
    exported: frozenset[str]
    strings: dict[str, str | None]


def _reason(build: Build, position: int, missing: Sequence[str], lacking: Sequence[str], known: _Known) -> str:
    """The reason in a word, the one that explains most."""
    if lacking:
        kind = ACCELERATOR_LIBRARIES[lacking[0]]
        return "CPU build" if not (build.cuda or build.hip) else f"no {kind}"
    exported = [n for n in missing if n in known.exported]
    if not exported:
        return "never exported"
    spelled = {known.strings[n] for n in missing} - {None}
    if build.cxx11_abi is not None and spelled == {"old" if build.cxx11_abi else "new"}:
        others = sum(known.strings[n] is None for n in missing)
        if others < len(missing) / 2:
            return "new string ABI" if build.cxx11_abi else "old string ABI"
    below, above = (1 << position) - 1, ~((1 << position + 1) - 1)
    masks = [known.masks[n] for n in exported]
    if all(m & above and not m & below for m in masks):
        return "names came later"
    if all(m & below and not m & above for m in masks):
        return "names removed or changed"
    return "changed signatures"
