"""Merges small parts of a registry run: a run over a million wheels would have 70,000 files.

Sixteen parts of one level become one of the next. A merged part is named after the part numbers that it contains. It is
written under a temporary name and renamed before those are removed; readers use the larger part
(`run_folder.parts_of`)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from abiscan.registry.run_folder import every_part, is_merged, part_numbers, parts_of
from abiscan.registry.table_files import copy_rows, new_part, rows_of

# Number of parts to merge, and their maximum total size in bytes.
_PARTS, _BYTES = 16, 1 << 30
_LEVELS = 4


def merge_parts(run_directory: str) -> None:
    """Merge every complete group of parts.

    Raises:
        OSError: the disk is full; the parts stay unchanged.
    """
    for group in _groups(run_directory):
        first, last = part_numbers(group[0])[0], part_numbers(group[-1])[1]
        newest = {row["path"]: part for part in group for row in rows_of(os.path.join(part, "wheels.parquet"), "path")}
        with new_part(run_directory, f"{first:06}-{last:06}") as beside:
            copy_rows(beside, group, newest)
        remove_merged(run_directory)


def remove_merged(run_directory: str) -> None:
    """Remove parts that were merged into a larger one."""
    parts = every_part(run_directory)
    for part in parts:
        if is_merged(part, parts):
            shutil.rmtree(part)


def _groups(run_directory: str) -> Iterator[list[str]]:
    """Complete groups, lowest level first."""
    for level in range(_LEVELS):
        while True:
            parts = [part for part in parts_of(run_directory) if _width(part) == _PARTS**level][:_PARTS]
            if len(parts) < _PARTS or sum(map(_bytes, parts)) > _BYTES:
                break
            yield parts


def _width(part: str) -> int:
    first, last = part_numbers(part)
    return last - first + 1


def _bytes(part: str) -> int:
    return sum(entry.stat().st_size for entry in os.scandir(part))
