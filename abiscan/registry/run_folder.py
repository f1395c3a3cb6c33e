"""The folder of registry runs, as it is read: its runs, what was asked of each, and of which units it has rows."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from abiscan.errors import UsageError
from abiscan.registry.table_files import rows_of, whole
from abiscan.registry.table_rows import SCHEMA_VERSION, TABLES


class Asked(Struct, frozen=True):
    """What decides the rows of a unit beside its contents: a run with other ones is another run.

    Attributes:
        abiscan: version of the tool.
        index: hash over the release index and the layouts, the user's own included.
        torch: `--torch`; None for what each wheel declares.
        options: everything else that the command line or the configuration says, as text.
    """

    abiscan: str
    index: str
    torch: str | None
    options: str
    schema_version: int = SCHEMA_VERSION


class RunInfo(Struct, frozen=True):
    """The file run.json.

    Attributes:
        began, ended: UTC, ISO 8601; `ended` None where it was broken off or is under way.
        units: how many it has rows of, where it ended.
        number: of the runs in its folder, from 1 on; says which is newer, as clocks jump.
    """

    id: str
    asked: Asked
    began: str
    ended: str | None = None
    units: int | None = None
    number: int = 0


def wheels_of(run_directory: str) -> dict[str, dict[str, Any]]:
    """Path -> a few columns of its row in `wheels`, the newest of each."""
    found = {}
    for part in parts_of(run_directory):
        for row in rows_of(os.path.join(part, "wheels.parquet"), "path", "identity", "verdict", "gate"):
            found[row["path"]] = row
    return found


def all_wheels(directory: str) -> list[str]:
    """The paths of every unit that some run in a folder looked at, sorted."""
    found = set[str]()
    for run in runs_of(directory):
        found.update(wheels_of(os.path.join(directory, f"run={run.id}")))
    return sorted(found)


def runs_of(directory: str) -> list[RunInfo]:
    """The runs that are kept in a folder, oldest first.

    Raises:
        UsageError: it is a file, or a run of a later abiscan is in it.
    """
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{directory}: {(error.strerror or str(error)).lower()}") from error
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
    """The runs in a folder of which something can be asked, oldest first.

    Raises:
        UsageError: there is none.
    """
    runs = runs_of(directory)
    found = [run for run in runs if parts_of(os.path.join(directory, f"run={run.id}"))]
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
    """The parts of a run, oldest first, without those that were merged into another."""
    parts = every_part(run_directory)
    return [part for part in parts if not is_merged(part, parts)]


def every_part(run_directory: str) -> list[str]:
    """The parts of a run, oldest first, those too that were merged into another and not yet removed."""
    try:
        names = sorted(name for name in os.listdir(run_directory) if name.startswith("part="))
    except FileNotFoundError:
        return []
    return [os.path.join(run_directory, name) for name in names]


def part_numbers(part: str) -> tuple[int, int]:
    """The first and last number that a part stands for: `part=000001-000016` for those that were merged into it."""
    first, _, last = part.rpartition("=")[2].partition("-")
    return int(first), int(last or first)


def is_merged(part: str, parts: Iterable[str]) -> bool:
    """Whether the rows of a part are in a larger one."""
    first, last = part_numbers(part)
    ranges = [part_numbers(other) for other in parts if other != part and "-" in os.path.basename(other)]
    return any(start <= first and last <= end for start, end in ranges)


def check_tables(run_directory: str) -> None:
    """Look at every table of a run for damage that its end shows.

    Raises:
        UnreadableFile: one is damaged.
    """
    from pyarrow import parquet

    for part in parts_of(run_directory):
        for table in TABLES:
            file = os.path.join(part, f"{table.name}.parquet")
            with whole(file):
                parquet.ParquetFile(file).close()
