"""Reads the directory of registry runs: its runs, their options and their units."""

from __future__ import annotations

import os
from typing import Any

import msgspec
from msgspec import Struct

from abiscan.errors import UsageError, os_error_words
from abiscan.registry.table_files import report_damage, rows_of
from abiscan.registry.table_rows import SCHEMA_VERSION, TABLES


class RunKey(Struct, frozen=True):
    """Everything besides its contents that determines the rows of a unit. A change starts a new run.

    Attributes:
        abiscan: version.
        index: hash of release index and layouts, including those of the user.
        torch: `--torch`; None for the declaration of each wheel.
        options: all other options and configuration, as text.
    """

    abiscan: str
    index: str
    torch: str | None
    options: str
    schema_version: int = SCHEMA_VERSION


class RunInfo(Struct, frozen=True):
    """The file run.json.

    Attributes:
        began, ended: UTC, ISO 8601; `ended` is None if the run was interrupted or is active.
        units: number of units with rows, at the end.
        number: counted from 1 in its directory. Orders runs, as clocks may jump.
    """

    id: str
    asked: RunKey
    began: str
    ended: str | None = None
    units: int | None = None
    number: int = 0

    def place(self, directory: str) -> str:
        """Its own directory in that of the runs."""
        return os.path.join(directory, f"run={self.id}")


def wheels_of(run_directory: str) -> dict[str, dict[str, Any]]:
    """Path -> some columns of its newest row in `wheels`."""
    found = {}
    for part in parts_of(run_directory):
        for row in rows_of(os.path.join(part, "wheels.parquet"), "path", "identity", "verdict", "gate"):
            found[row["path"]] = row
    return found


def all_wheels(directory: str) -> list[str]:
    """The paths of all units of all runs in a directory, sorted."""
    found = set[str]()
    for run in runs_of(directory):
        found.update(wheels_of(run.place(directory)))
    return sorted(found)


def runs_of(directory: str) -> list[RunInfo]:
    """The runs in a directory, oldest first.

    Raises:
        UsageError: it is a file, or contains a run of a later abiscan.
    """
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{directory}: {os_error_words(error)}") from error
    found = []
    for name in names:
        if name.startswith("run="):
            try:
                with open(os.path.join(directory, name, "run.json"), "rb") as file:
                    found.append(msgspec.json.decode(file.read(), type=RunInfo))
            except FileNotFoundError:
                continue
            except (OSError, msgspec.MsgspecError) as error:
                raise UsageError(f"{directory}/{name}/run.json: cannot be read: {error}") from error
    for run in found:
        if run.asked.schema_version > SCHEMA_VERSION:
            raise UsageError(
                f"{directory}: has tables of schema {run.asked.schema_version}, this abiscan knows {SCHEMA_VERSION}"
            )
    return sorted(found, key=lambda run: (run.number, run.began, run.id))


def runs_with_tables(directory: str) -> list[RunInfo]:
    """The runs in a directory that have tables, oldest first.

    Raises:
        UsageError: there is none.
    """
    runs = runs_of(directory)
    found = [run for run in runs if parts_of(run.place(directory))]
    if not found and runs:
        raise UsageError(
            f"{directory}: no run in it has ended: continue it with abiscan registry scan PATH... --resume {directory}"
        )
    if not found:
        raise UsageError(
            f"{directory}: no run with tables in it (make one with abiscan registry scan PATH... -o {directory})"
        )
    return found


def parts_of(run_directory: str) -> list[str]:
    """The parts of a run, oldest first."""
    try:
        names = sorted(name for name in os.listdir(run_directory) if name.startswith("part="))
    except FileNotFoundError:
        return []
    return [os.path.join(run_directory, name) for name in names]


def part_number(part: str) -> int:
    """The number in the name of a part, counted from 1."""
    return int(part.rpartition("=")[2])


def check_tables(run_directory: str) -> None:
    """Check the end of every table of a run for damage.

    Raises:
        UnreadableFile: a table is damaged.
    """
    from pyarrow import parquet

    for part in parts_of(run_directory):
        for table in TABLES:
            file = os.path.join(part, f"{table.name}.parquet")
            with report_damage(file):
                parquet.ParquetFile(file).close()
