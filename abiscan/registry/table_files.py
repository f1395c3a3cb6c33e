"""The tables of one part of a registry run, as Parquet files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any

from abiscan.errors import UnreadableFile
from abiscan.registry.scan_unit import Outcome
from abiscan.registry.table_rows import SCHEMA_VERSION, TABLES, Row

# Facts are read so many rows at a time.
FACTS_GROUP = 16
# Rows that are written at a time.
_GROUPS = {table.name: FACTS_GROUP if table.name == "facts" else 10_000 for table in TABLES}


def schemas() -> dict[str, Any]:
    """Table -> its schema, as pyarrow has it."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "integer": pa.int64(),
        "real": pa.float64(),
        "truth": pa.bool_(),
        "bytes": pa.large_binary(),
    }
    about = {b"abiscan.schema_version": str(SCHEMA_VERSION).encode()}
    return {
        table.name: pa.schema([(column.name, types[column.type]) for column in table.columns], metadata=about)
        for table in TABLES
    }


def write_tables(directory: str, outcomes: Iterable[Outcome]) -> None:
    """The tables of what was found of some units, group of rows by group of rows: no more is held.

    Raises:
        OSError: one cannot be written.
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
        waiting: dict[str, list[Row]] = {name: [] for name in made}

        def write(name: str) -> None:
            rows, waiting[name] = waiting[name], []
            columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in made[name]]
            writers[name].write_table(pa.Table.from_arrays(columns, schema=made[name]))

        for outcome in outcomes:
            for name, most in _GROUPS.items():
                for row in outcome.rows.get(name, ()):
                    waiting[name].append(row)
                    if len(waiting[name]) >= most:
                        write(name)
        for name in made:
            if waiting[name]:
                write(name)
    for path in paths.values():
        sync(path)


def rows_of(file: str, *columns: str) -> list[Row]:
    """Some columns of a table.

    Raises:
        UnreadableFile: it is damaged.
    """
    from pyarrow import parquet

    with whole(file):
        found: list[Row] = parquet.read_table(file, columns=list(columns), partitioning=None).to_pylist()
        return found


@contextlib.contextmanager
def whole(file: str) -> Iterator[None]:
    """Whatever pyarrow says of a table that is not what was written is an error in a line.

    Raises:
        UnreadableFile: it is damaged, or gone.
    """
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, ValueError, KeyError) as error:
        why = " ".join(str(error).split())[:200]
        part = os.path.dirname(file)
        raise UnreadableFile(
            file, f"a damaged table ({why}); remove {part} and go on with scan --resume: its wheels are looked at again"
        ) from error


def sync(path: str) -> None:
    """Have a file, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
