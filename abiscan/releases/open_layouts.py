"""The shipped layouts and the user's own, as one table, and those of other architectures."""

from __future__ import annotations

import functools
import os
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from abiscan.data import data_file
from abiscan.filesystem import HERE
from abiscan.releases.layout import Layout
from abiscan.releases.layout_table import MACHINE, SHIPPED, SUFFIX, LayoutTable, Trace, pack

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


# Architecture -> file.
SHIPPED_BESIDE = {"aarch64": data_file("layouts-aarch64.idx")}


class MachineLayouts(LayoutTable):
    """The table of another architecture: differences over the table of x86-64.

    Nearly all records have the same layout on every 64-bit architecture (Itanium C++ ABI), except for example those
    with a `std::mutex`, which has 40 bytes on x86-64 and 48 on AArch64. Traces and assertions depend only on the
    headers.

    Args:
        path: the differences: each record there has all of its layouts, each of its `changing` all of its numbers.
        base: the table of x86-64.

    Raises:
        UnreadableFile: as `LayoutTable`.
    """

    def __init__(self, path: str | os.PathLike[str], base: LayoutTable, data: bytes | None = None) -> None:
        super().__init__(path, data)
        self._base = base

    @property
    def headers(self) -> LayoutTable:
        """The table of x86-64."""
        return self._base

    @cached_property
    def _own_changing(self) -> Mapping[str, str]:
        return super()._changing_lines()

    @cached_property
    def _own_layouts(self) -> Mapping[str, Mapping[str, Layout]]:
        return dict(self.records())

    def _changing_lines(self) -> Mapping[str, str]:
        # A record that changes on only one of them has a single number on the other.
        return {**self._base.changing, **self._own_changing}

    def number(self, record: str, release: str) -> int:
        """As `LayoutTable.number`; 0 if the release was not read for this architecture."""
        if not self.read_from.get(release):
            return 0
        return super().number(record, release) if record in self._own_changing else self._base.number(record, release)

    def layout(self, record: str, release: str) -> Layout | None:
        """As `LayoutTable.layout`."""
        read_from = self.read_from.get(release)
        if not read_from:
            return None
        own = self._own_layouts.get(record)
        return own.get(read_from) if own is not None else self._base.layout(record, release)

    def trace(self, name: str) -> Trace | None:
        """As `LayoutTable.trace`."""
        return self._base.trace(name)
