"""The tables of one part of a registry run, as Parquet files."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from typing import Any

from abiscan.errors import UnreadableFile
from abiscan.registry.journal import Tables
from abiscan.registry.table_rows import COLUMNS, SCHEMA_VERSION, TABLES, Row

# Number of facts to read at a time.
FACTS_GROUP = 16
# Minimum number of rows to write at a time. The rows of a unit stay together.
_GROUPS = {table.name: FACTS_GROUP if table.name == "facts" else 10_000 for table in TABLES}


def schemas() -> dict[str, Any]:
    """Table -> pyarrow schema."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "integer": pa.int64(),
        "real": pa.float64(),
        "boolean": pa.bool_(),
        "bytes": pa.large_binary(),
    }
    about = {b"abiscan.schema_version": str(SCHEMA_VERSION).encode()}
    return {
        table.name: pa.schema([(column.name, types[column.type]) for column in table.columns], metadata=about)
        for table in TABLES
    }


def write_tables(directory: str, outcomes: Iterable[Tables]) -> None:
    """Write the tables of some units, one row group at a time to limit memory.

    Raises:
        OSError: a table cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    made = schemas()
    paths = {name: os.path.join(directory, f"{name}.parquet") for name in made}
    with contextlib.ExitStack() as open_files:
        writers = {
            name: open_files.enter_context(parquet.ParquetWriter(paths[name], schema, compression="zstd"))
            for name, schema in made.items()
        }
        waiting: dict[str, list[list[Any]]] = {name: [[] for _ in COLUMNS[name]] for name in made}

        def write(name: str) -> None:
            columns = [
                pa.array(values, type=field.type) for values, field in zip(waiting[name], made[name], strict=True)
            ]
            waiting[name] = [[] for _ in COLUMNS[name]]
            writers[name].write_table(pa.Table.from_arrays(columns, schema=made[name]))

        for outcome in outcomes:
            for name, columns in outcome.items():
                for waiting_values, values in zip(waiting[name], columns, strict=True):
                    waiting_values.extend(values)
                if len(waiting[name][0]) >= _GROUPS[name]:
                    write(name)
        for name in made:
            if waiting[name][0]:
                write(name)
    for path in paths.values():
        sync(path)


def rows_of(file: str, *columns: str) -> list[Row]:
    """Some columns of a table.

    Raises:
        UnreadableFile: it is damaged.
    """
    from pyarrow import parquet

    with report_damage(file):
        found: list[Row] = parquet.read_table(file, columns=list(columns), partitioning=None).to_pylist()
        return found


@contextlib.contextmanager
def report_damage(file: str) -> Iterator[None]:
    """Convert all pyarrow errors of a damaged table into one line.

    Raises:
        UnreadableFile: it is damaged or missing.
    """
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, ValueError, KeyError) as error:
        why = " ".join(str(error).split())[:200]
        part = os.path.dirname(file)
        raise UnreadableFile(
            file,
            f"a damaged table ({why}); remove {part} and continue with registry scan --resume to scan its wheels again",
        ) from error


@contextlib.contextmanager
def new_part(run_directory: str, number: int) -> Iterator[str]:
    """The temporary directory of a part, which is renamed when it is complete, and removed after an error."""
    name = f"part={number:06}"
    beside = os.path.join(run_directory, f".{name}")
    try:
        os.makedirs(beside)
        yield beside
        sync(beside)
        os.rename(beside, os.path.join(run_directory, name))
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    sync(run_directory)


def sync(path: str) -> None:
    """Flush a file, or the entries of a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
