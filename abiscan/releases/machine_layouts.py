"""Layouts of other architectures than x86-64: a table of differences over the table of x86-64.

Nearly all records have the same layout on every 64-bit architecture (Itanium C++ ABI), except for example those with a
`std::mutex`, which has 40 bytes on x86-64 and 48 on AArch64. Traces and assertions depend only on the headers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property

from abiscan.data import data_file
from abiscan.releases.layout import Layout
from abiscan.releases.layout_table import LayoutTable, Trace

# By architecture.
SHIPPED_BESIDE = {"aarch64": data_file("layouts-aarch64.idx")}


class MachineLayouts(LayoutTable):
    """The table of another architecture.

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
