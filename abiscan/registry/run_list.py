"""Lists, removes and compares the runs of a directory."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from abiscan.errors import UsageError
from abiscan.registry.run_folder import RunInfo, runs_of, wheels_of
from abiscan.registry.store import lock_run

# From best to worst. Other verdicts are not compared.
_RANKS = {"loads": 0, "undecided": 1, "fails": 2}


class ListedRun(Struct, frozen=True):
    """A run with a summary of its tables.

    Attributes:
        verdicts: verdict -> number of wheels. `size` is in bytes on disk.
    """

    info: RunInfo
    verdicts: Mapping[str, int]
    size: int


class RunChanges(Struct, frozen=True):
    """Changes between two runs.

    Attributes:
        worse, better: (path, old verdict, new verdict) of wheels in both. `only_old`, `only_new`: paths in one.
        unread: paths in both, one without a verdict.
    """

    worse: tuple[tuple[str, str, str], ...]
    better: tuple[tuple[str, str, str], ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    unread: tuple[str, ...]


def listed_runs(directory: str) -> list[ListedRun]:
    """The runs of a directory, oldest first."""
    found = []
    for info in runs_of(directory):
        place = info.place(directory)
        verdicts = Counter(str(row["verdict"]) for row in wheels_of(place).values())
        size = sum(os.lstat(os.path.join(root, name)).st_size for root, _, names in os.walk(place) for name in names)
        found.append(ListedRun(info, dict(sorted(verdicts.items())), size))
    return found


def remove_runs(directory: str, keep: int) -> list[RunInfo]:
    """Remove all but the newest runs.

    Args:
        keep: number of runs to keep.

    Returns:
        The removed runs, oldest first.

    Raises:
        UsageError: a process is writing to one of them.
    """
    removed = runs_of(directory)[:-keep]
    locks = [lock_run(info.place(directory)) for info in removed]
    for info in removed:
        shutil.rmtree(info.place(directory))
    for lock in locks:
        lock.close()
    return removed


def compare_runs(directory: str, old: str, new: str) -> RunChanges:
    """Compare two runs of a directory by the paths of wheels.

    Args:
        old, new: ids, or beginnings of one id each.

    Raises:
        UsageError: there is no such run, or several begin so.
    """
    before, now = (
        {path: str(row["verdict"]) for path, row in wheels_of(_named(directory, each).place(directory)).items()}
        for each in (old, new)
    )
    both = sorted(before.keys() & now.keys())
    unread = tuple(path for path in both if "unreadable" in (before[path], now[path]))
    ranked = [path for path in both if before[path] in _RANKS and now[path] in _RANKS]
    changes = [(path, before[path], now[path], _RANKS[now[path]] - _RANKS[before[path]]) for path in ranked]
    return RunChanges(
        worse=tuple((path, was, is_now) for path, was, is_now, step in changes if step > 0),
        better=tuple((path, was, is_now) for path, was, is_now, step in changes if step < 0),
        only_old=tuple(sorted(before.keys() - now.keys())),
        only_new=tuple(sorted(now.keys() - before.keys())),
        unread=unread,
    )


def _named(directory: str, name: str) -> RunInfo:
    known = runs_of(directory)
    found = [info for info in known if info.id == name] or [info for info in known if info.id.startswith(name)]
    if len(found) != 1:
        ids = ", ".join(info.id for info in (found or known)[-8:])
        raise UsageError(
            f"{directory}: {f'several runs begin with {name}' if found else f'no run {name}'}; known: {ids}"
        )
    return found[0]
