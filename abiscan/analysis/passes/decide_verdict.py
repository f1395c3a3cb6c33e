"""Decide whether the file loads in its target environment."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import LoaderStop
from abiscan.model.release import ReleaseState
from abiscan.model.report import ArtifactVerdict
from abiscan.ownership.torch_names import is_torch_library

# Owners whose symbols the machine exports, not torch or the interpreter: they decide `loader`, not `verdict`.
_OF_THE_MACHINE = frozenset({Owner.LIBC, Owner.CXX, Owner.CUDA, Owner.HIP, Owner.OPENMP, Owner.SYSTEM})


def decide_verdict(record: FileRecord) -> None:
    """A file loads if every torch and Python import resolves, and every symbol that it should define itself."""
    found = _verdict(record)
    if record.gpu_check.unknown and found in (ArtifactVerdict.LOADS, ArtifactVerdict.NOT_TORCH):
        found = ArtifactVerdict.UNDECIDED
    record.verdict = found


def _verdict(record: FileRecord) -> ArtifactVerdict:
    torch = record.torch
    if isinstance(record.problem, LoaderStop):
        return ArtifactVerdict.FAILS
    decisive = [each for each in record.imports if each.owner not in _OF_THE_MACHINE]
    if any(each.status.is_unresolved for each in decisive):
        return ArtifactVerdict.FAILS
    of_torch = [n.soname for n in record.needed if is_torch_library(n.soname, record.namesakes)]
    if torch is not None and any(map(torch.lacks, of_torch)):
        return ArtifactVerdict.FAILS
    if record.unfit_libraries:
        return ArtifactVerdict.FAILS
    if record.target_outcome is not None and record.target_outcome.state is ReleaseState.FAILS:
        return ArtifactVerdict.FAILS
    if record.problem is not None:
        return ArtifactVerdict.UNDECIDED
    if not record.concerns_torch:
        found = ArtifactVerdict.NOT_TORCH
    elif torch is None or any(
        each.status is Status.UNDECIDED and each.owner in (Owner.TORCH, Owner.PYTHON) for each in decisive
    ):
        return ArtifactVerdict.UNDECIDED
    else:
        found = ArtifactVerdict.LOADS
    return found if record.broken_library is None else ArtifactVerdict.FAILS
