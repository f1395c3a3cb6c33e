"""The shipped layouts and the user's own, as one table."""

from __future__ import annotations

import functools
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from abiscan.filesystem import HERE
from abiscan.releases.layout_table import MACHINE, SHIPPED, SUFFIX, LayoutTable, pack

if TYPE_CHECKING:
    from abiscan.releases.assertions import Assertion
    from abiscan.releases.layout import Layout

_TOGETHER = ".together"


def layouts_of(machine: str, directory: str | None) -> LayoutTable | None:
    """The layouts of an architecture; None if none are known.

    Raises:
        UnreadableFile: as `open_layouts`.
    """
    base = open_layouts(directory)
    if machine == MACHINE:
        return base
    return _layouts_beside(machine, base)


@functools.cache
def _layouts_beside(machine: str, base: LayoutTable) -> LayoutTable | None:
    from abiscan.releases.machine_layouts import SHIPPED_BESIDE, MachineLayouts

    beside = SHIPPED_BESIDE.get(machine)
    return MachineLayouts(beside, base) if beside is not None else None


@functools.cache
def open_layouts(directory: str | None) -> LayoutTable:
    """Open the shipped layouts of x86-64 together with those that the user added.

    Args:
        directory: of the user's index; it may not exist.

    Raises:
        UnreadableFile: an index is damaged.
    """
    own = HERE.matching(directory, f"*{SUFFIX}") if directory else []
    if not own:
        return LayoutTable(SHIPPED)
    tables = [LayoutTable(SHIPPED), *map(LayoutTable, own)]
    # Merging takes seconds: the merged file is cached until one of its sources changes.
    file = os.path.join(
        os.path.dirname(own[0]), f"layouts-{zlib.crc32(b''.join(t.data for t in tables)):08x}{_TOGETHER}"
    )
    if os.path.exists(file):
        return LayoutTable(file)
    packed = _merge(tables)
    with suppress(OSError):
        unfinished = f"{file}.{os.getpid()}"
        with open(unfinished, "wb") as out:
            out.write(packed)
        os.replace(unfinished, file)
        for old in HERE.matching(os.path.dirname(file), f"*{_TOGETHER}"):
            if old != file:
                os.unlink(old)
    return LayoutTable(file, packed)


def _merge(tables: Sequence[LayoutTable]) -> bytes:
    layouts: dict[str, dict[str, Layout]] = {}
    read_from: dict[str, str] = {}
    assertions: dict[str, tuple[Assertion, ...]] = {}
    for table in tables:
        added = {release: each for release, each in table.read_from.items() if each or release not in read_from}
        read_from |= added
        asserted = table.assertions
        assertions |= {release: asserted[release] for release in added}
        for record, by_release in table.records():
            for release, layout in by_release.items():
                layouts.setdefault(release, {})[record] = layout
    return pack(layouts, read_from, tables[0].traces, assertions)
