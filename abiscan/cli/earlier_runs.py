"""JSON reports of earlier runs (`--history`)."""

from __future__ import annotations

import os

from abiscan.errors import UsageError
from abiscan.model.history import RunSummary
from abiscan.model.limits import MAX_EARLIER_REPORT, MAX_EARLIER_RUNS
from abiscan.model.words import natural_order


def read_earlier_runs(directory: str) -> tuple[RunSummary, ...]:
    """The reports of a directory, oldest first: sorted by file name, with numbers (date, version) by value. Empty
    before the first run of a project.

    Raises:
        UsageError: there is no such directory, or a file in it is not a report.
    """
    from abiscan.compare.earlier_runs import read_run
    from abiscan.inputs.named_file import read_named

    try:
        names = [name for name in os.listdir(directory) if name.endswith(".json")]
    except OSError as error:
        raise UsageError(f"--history {directory}: {error.strerror}") from None
    found = []
    for name in sorted(names, key=natural_order)[-MAX_EARLIER_RUNS:]:
        path = os.path.join(directory, name)
        try:
            data = read_named(path, "the report of an earlier run", limit=MAX_EARLIER_REPORT)
        except FileNotFoundError:
            raise UsageError(f"{path}: no such file") from None
        try:
            found.append(read_run(data, name.removesuffix(".json")))
        except ValueError as error:
            raise UsageError(f"{path}: not a JSON report of abiscan: {error}") from None
    return tuple(found)
