"""Predict what dlopen would do with the file on this machine."""

from __future__ import annotations

from collections.abc import Callable

from abiscan.analysis.file_record import FileRecord
from abiscan.loader.file_problem import first_problem
from abiscan.model.imports import Owner
from abiscan.model.loading import LoaderOutcome, LoaderPrediction
from abiscan.ownership.names import owner_of


def predict_load(record: FileRecord) -> None:
    """Predict the loader; of a wheel's member, as if the wheel were installed in the environment."""
    torch, binary = record.torch, record.binary
    if torch is None or not torch.installed:
        reason = "the target torch is not installed in an environment here"
        record.loader = LoaderPrediction(None, undecided=reason)
    else:
        siblings = {} if record.artifact.disk_path is not None else record.siblings
        record.loader = record.context.loader.predict(binary, record.load_path, siblings)
    record.problem = None
    if record.loader.outcome is not LoaderOutcome.LOADS:
        record.problem = first_problem(binary) or record.context.loader.doubt(binary)
    index, machine = record.context.index, record.facts.machine
    record.broken_library = _broken_library(
        record.loader, record.load_path, lambda name: index.history(name, machine) is not None
    )


def _broken_library(prediction: LoaderPrediction, path: str, is_exported: Callable[[str], bool]) -> str | None:
    """A library that the file needs at which the loader stops for an undefined torch or Python symbol: the symbols of
    the file resolve, and it does not load on this torch all the same.

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
