"""Predict the result of dlopen for the file on this machine."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.loader.file_problem import first_problem, unknown_elsewhere
from abiscan.model.loading import LoaderOutcome, LoaderPrediction
from abiscan.model.platforms import OperatingSystem, system_of


def predict_load(record: FileRecord) -> None:
    """Predict the loader; of a wheel's member, as if the wheel were installed in the environment."""
    torch, binary = record.torch, record.binary
    system = system_of(binary.machine)
    if system is not OperatingSystem.LINUX:
        record.loader = LoaderPrediction(None, undecided=f"the loader of {system.shown} is not predicted")
    elif torch is None or not torch.installed:
        reason = "not predicted: the target torch is not installed on this machine"
        record.loader = LoaderPrediction(None, undecided=reason)
    else:
        siblings = {} if record.artifact.disk_path is not None else record.siblings
        record.loader = record.context.loader.predict(binary, record.load_path, siblings)
    record.problem = None
    if record.loader.outcome is not LoaderOutcome.LOADS:
        here = torch is not None and torch.installed
        record.problem = first_problem(binary) or (
            None if here else unknown_elsewhere(binary, record.siblings.values())
        )
        record.problem = record.problem or record.context.loader.doubt(binary)
