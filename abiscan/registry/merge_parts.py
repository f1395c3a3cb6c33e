"""Small parts of a registry run to larger ones: a run over a million wheels would have 70,000 files.

Sixteen parts of one level become one of the next. A merged part is named for the numbers that it stands for, and is
written beside and renamed before they are removed: a reader takes the larger one (`run_folder.parts_of`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from abiscan.registry.run_folder import every_part, is_merged, part_numbers, parts_of
from abiscan.registry.table_files import copy_rows, rows_of, sync

# Parts that become one, and the bytes that they may have together.
_PARTS, _BYTES = 16, 1 << 30
_LEVELS = 4


def merge_parts(run_directory: str) -> None:
    """Merge every group of parts that is complete.

    Raises:
        OSError: there is no room; the parts stay as they are.
    """
    for group in _groups(run_directory):
        first, last = part_numbers(group[0])[0], part_numbers(group[-1])[1]
        beside = os.path.join(run_directory, f".part={first:06}-{last:06}")
        newest = {row["path"]: part for part in group for row in rows_of(os.path.join(part, "wheels.parquet"), "path")}
        try:
            os.makedirs(beside)
            copy_rows(beside, group, newest)
            sync(beside)
            os.rename(beside, os.path.join(run_directory, f"part={first:06}-{last:06}"))
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        sync(run_directory)
        remove_merged(run_directory)


def remove_merged(run_directory: str) -> None:
    """Remove the parts whose rows are in a larger one."""
    parts = every_part(run_directory)
    for part in parts:
        if is_merged(part, parts):
            shutil.rmtree(part)


def _groups(run_directory: str) -> Iterator[list[str]]:
    """Complete groups, the smallest level first."""
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
