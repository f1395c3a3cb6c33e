"""Verdict and notes of one shared object: pure functions of what was bound, predicted and looked up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from abiscan.model.binding import (
    BoundImport,
    LoaderOutcome,
    LoaderPrediction,
    LoaderStop,
    NeededLibrary,
    Owner,
    Status,
    StopKind,
)
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import BINDS_ITSELF, ArtifactReport, ArtifactVerdict
from abiscan.ownership.gpu_libraries import is_driver
from abiscan.ownership.names import owner_of
from abiscan.ownership.torch_names import is_torch_library
from abiscan.ownership.vendors import brought_otherwise
from abiscan.releases.matrix import Matrix
from abiscan.target.target_torch import TargetTorch

# Names of these are served by the machine, not by torch or the interpreter: they decide `loader`, not `verdict`.
_OF_THE_MACHINE = frozenset({Owner.LIBC, Owner.CXX, Owner.CUDA, Owner.HIP, Owner.OPENMP})


def verdict_of(
    imports: Sequence[BoundImport],
    needed: Sequence[NeededLibrary],
    torch: TargetTorch | None,
    *,
    concerns_torch: bool,
    broken_library: str | None,
    unfit: bool,
    cell: ReleaseVerdict | None,
    problem: LoaderStop | str | None,
) -> ArtifactVerdict:
    """For the target torch: every torch and Python import binds, and so does what the file itself should define.

    Args:
        concerns_torch: whether the file wants anything of torch.
        broken_library: a library that it needs and that does not load (`broken_library`).
        unfit: whether it needs a library of CUDA or ROCm that the torch brings in another version, or not at all.
        cell: how the matrix has the file on this very build of the index.
        problem: what the loader stops at in the file itself, or why it is not known whether it does.
    """
    if isinstance(problem, LoaderStop):
        return ArtifactVerdict.FAILS
    decisive = [b for b in imports if b.owner not in _OF_THE_MACHINE]
    if any(b.status.is_unbound for b in decisive):
        return ArtifactVerdict.FAILS
    if torch is not None and any(is_torch_library(n.soname) and torch.lacks(n.soname) for n in needed):
        return ArtifactVerdict.FAILS
    if unfit or (cell is not None and cell.state is ReleaseState.FAILS):
        return ArtifactVerdict.FAILS
    if problem is not None:
        return ArtifactVerdict.UNDECIDED
    if not concerns_torch:
        found = ArtifactVerdict.NOT_TORCH
    elif torch is None or any(
        b.status is Status.UNDECIDED and b.owner in (Owner.TORCH, Owner.PYTHON) for b in decisive
    ):
        return ArtifactVerdict.UNDECIDED
    else:
        found = ArtifactVerdict.LOADS
    return found if broken_library is None else ArtifactVerdict.FAILS


def broken_library(prediction: LoaderPrediction, path: str, is_exported: Callable[[str], bool]) -> str | None:
    """A library that the file needs, where the loader stops at a torch or Python name that it cannot bind: the file
    binds, and does not load on this torch all the same.

    Args:
        path: of the file itself, as the loader was asked for it.
        is_exported: whether some release of torch exports a name.
    """
    stop = prediction.stop
    if stop is None or stop.symbol is None or stop.object == path:
        return None
    if owner_of(stop.symbol) in (Owner.TORCH, Owner.PYTHON) or is_exported(stop.symbol):
        return stop.object
    return None


def cell_of(matrix: Matrix | None, torch: TargetTorch | None) -> ReleaseVerdict | None:
    """How the matrix has the file on the build that it is judged against; None where that is none of the index."""
    if matrix is None or torch is None or torch.build is None:
        return None
    return next((verdict for verdict in matrix.verdicts if verdict.build == torch.build), None)


def loads_on(matrix: Matrix, torch: str) -> bool:
    """Whether some known build of a version loads the file; True where none is known."""
    builds = [verdict for verdict in matrix.verdicts if verdict.torch == torch]
    return not builds or any(verdict.loads for verdict in builds)


def notes_of(
    report: ArtifactReport,
    torch: TargetTorch | None,
    matrix: Matrix | None,
    missing: Sequence[str],
    of_dependents: Sequence[str] = (),
    *,
    choice: str,
    unfit: Sequence[str],
    cell: ReleaseVerdict | None,
    problem: LoaderStop | str | None,
) -> Iterator[str]:
    """Sentences for a person: what was not there, and why verdict and loader differ.

    Args:
        missing: needed libraries that were not found.
        of_dependents: absent libraries that files of its package would bring which need this one.
        choice: what a user should know about the choice of the torch; empty where there is nothing.
        unfit: needed libraries of CUDA and ROCm that the torch brings in another version, or not at all.
        cell: how the matrix has the file on this very build of the index.
        problem: what the loader stops at in the file itself, or why it is not known whether it does.
    """
    if isinstance(problem, LoaderStop):
        yield f"no glibc loads this file, whatever torch is there: {problem.message}"
    elif problem is not None:
        yield f"whether a loader loads this file cannot be known: {problem}"
    if unfit and torch is not None:
        brought = {soname: brought_otherwise(soname, torch.exports.brings) for soname in unfit}
        says = ", ".join(f"{soname} ({other} is brought)" if other else soname for soname, other in brought.items())
        yield f"needs {says}: torch {torch.target.torch}+{torch.target.variant} is no build for the CUDA of this file"
    if choice:
        yield choice
    elif torch is None and report.verdict is ArtifactVerdict.UNDECIDED:
        yield f"no torch build for {report.machine} is known: nothing can be said about its torch imports"
    elif torch is not None and torch.note is not None:
        yield torch.note
    if matrix is not None and matrix.unknown:
        yield (
            f"{len(matrix.unknown)} imports are of a kind that the release index does not record; releases are judged "
            "without them"
        )
    absent = [soname for soname in missing if not is_torch_library(soname) and soname not in unfit]
    undecided = sum(b.status is Status.UNDECIDED for b in report.imports)
    if absent:
        tail = f": {undecided} imports that they may provide are undecided" if undecided else ""
        here = torch is not None and torch.installed
        where = "not on this machine" if here else "brought by neither its package nor torch, and not judged"
        yield f"{where}: {', '.join(absent)}{tail}"
    open_ones = sum(b.status is Status.UNDECIDED and b.owner is Owner.OTHER for b in report.imports)
    if of_dependents and not absent and open_ones:
        yield (
            f"files of its package that need this one bring {', '.join(of_dependents)}, which are not here: "
            f"{open_ones} imports that they may provide are undecided"
        )
    if report.loader.outcome is LoaderOutcome.FAILS and absent and all(map(is_driver, absent)):
        yield f"the loader would stop here for want of the GPU's driver alone: {report.loader.error}"
    decisive = any(b.status.is_unbound for b in report.imports)
    if report.verdict is ArtifactVerdict.FAILS and report.loader.outcome is LoaderOutcome.FAILS and not decisive:
        stop = report.loader.stop
        if stop is not None and stop.kind is StopKind.UNDEFINED_SYMBOL:
            name = os.path.basename(stop.object)
            yield f"{BINDS_ITSELF}; {name}, which it needs, does not load: scan it for why"
    if cell is not None and cell.state is ReleaseState.FAILS and not decisive and not cell.missing and cell.reason:
        where = f"{cell.torch}+{cell.variant}"
        yield f"{BINDS_ITSELF} on {where}; it does not load there: {cell.reason}"
    if report.verdict is ArtifactVerdict.FAILS and report.loader.outcome is LoaderOutcome.LOADS:
        yield "the loader would load it here all the same: what is missing for the target is provided by this machine"
