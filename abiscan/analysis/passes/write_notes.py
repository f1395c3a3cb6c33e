"""Write the notes on a file: what was not found, and why verdict and loader differ."""

from __future__ import annotations

import os
from collections.abc import Iterator

from abiscan.analysis.file_record import FileRecord
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import LoaderOutcome, LoaderStop, StopKind
from abiscan.model.release import ReleaseState
from abiscan.model.report import BINDS_ITSELF, ArtifactVerdict
from abiscan.ownership.gpu_libraries import is_driver
from abiscan.ownership.torch_names import is_torch_library
from abiscan.ownership.vendors import brought_otherwise


def write_notes(record: FileRecord) -> None:
    """One sentence each, for a person."""
    record.notes = (
        *record.gpu_check.notes,
        *_notes(record),
        *([] if record.unread_calls is None else [record.unread_calls]),
    )


def _choice(record: FileRecord) -> str:
    """What a user should know about the choice of the torch; empty where there is nothing."""
    torch, note = record.torch, record.target.of_file.note
    undecided = [b.name for b in record.imports if b.owner is Owner.TORCH and b.status is Status.UNDECIDED]
    if note or not undecided or torch is None or torch.build is None:
        return note
    if not all(map(torch.exports.knows, undecided)):
        return f"of torch {torch.target.version} the release index has only the names that are spelt as torch's own"
    return f"the release index has no build of torch {torch.target.version} with the std::string of this file"


def _notes(record: FileRecord) -> Iterator[str]:
    torch, matrix, problem, cell = record.torch, record.matrix, record.problem, record.cell
    unfit, choice, loader = record.unfit_libraries, _choice(record), record.loader
    if isinstance(problem, LoaderStop):
        yield f"no glibc loads this file, whatever torch is there: {problem.message}"
    elif problem is not None:
        yield f"whether a loader loads this file cannot be known: {problem}"
    if unfit and torch is not None:
        brought = {soname: brought_otherwise(soname, torch.exports.brings) for soname in unfit}
        says = ", ".join(f"{soname} ({other} is brought)" if other else soname for soname, other in brought.items())
        yield f"needs {says}: torch {torch.target.version}+{torch.target.variant} is no build for the CUDA of this file"
    if choice:
        yield choice
    elif torch is None and record.concerns_torch and record.verdict is ArtifactVerdict.UNDECIDED:
        yield f"no torch build for {record.facts.machine} is known: nothing can be said about its torch imports"
    elif torch is not None and torch.note is not None:
        yield torch.note
    if matrix is not None and matrix.unknown:
        yield (
            f"{len(matrix.unknown)} imports are of a kind that the release index does not record; releases are judged "
            "without them"
        )
    absent = [soname for soname in record.absent.missing if not is_torch_library(soname) and soname not in unfit]
    undecided = sum(b.status is Status.UNDECIDED for b in record.imports)
    if absent:
        tail = f": {undecided} imports that they may provide are undecided" if undecided else ""
        here = torch is not None and torch.installed
        where = "not on this machine" if here else "brought by neither its package nor torch, and not judged"
        yield f"{where}: {', '.join(absent)}{tail}"
    open_ones = sum(b.status is Status.UNDECIDED and b.owner is Owner.OTHER for b in record.imports)
    if record.absent.of_dependents and not absent and open_ones:
        names = ", ".join(record.absent.of_dependents)
        yield (
            f"files of its package that need this one bring {names}, which are not here: "
            f"{open_ones} imports that they may provide are undecided"
        )
    if loader.outcome is LoaderOutcome.FAILS and absent and all(map(is_driver, absent)):
        yield f"the loader would stop here for want of the GPU's driver alone: {loader.error}"
    decisive = any(b.status.is_unresolved for b in record.imports)
    if record.verdict is ArtifactVerdict.FAILS and loader.outcome is LoaderOutcome.FAILS and not decisive:
        stop = loader.stop
        if stop is not None and stop.kind is StopKind.UNDEFINED_SYMBOL:
            name = os.path.basename(stop.object)
            yield f"{BINDS_ITSELF}; {name}, which it needs, does not load: scan it for why"
    if cell is not None and cell.state is ReleaseState.FAILS and not decisive and not cell.missing and cell.reason:
        where = f"{cell.torch}+{cell.variant}"
        yield f"{BINDS_ITSELF} on {where}; it does not load there: {cell.reason}"
    if record.verdict is ArtifactVerdict.FAILS and loader.outcome is LoaderOutcome.LOADS:
        yield "the loader would load it here all the same: what is missing for the target is provided by this machine"
