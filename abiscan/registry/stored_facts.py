"""Stored facts of units, used to check them again without reading them."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from abiscan.registry.run_folder import parts_of, runs_of
from abiscan.registry.scan_unit import FACTS_FORMAT
from abiscan.registry.table_files import FACTS_GROUP, report_damage, rows_of

# Number of cached row groups.
_GROUPS_KEPT = 8


class FactsOf:
    """The newest facts of each unit in the runs of a directory. The facts stay on disk."""

    def __init__(self, directory: str) -> None:
        self._newest: dict[str, tuple[str | None, str, int]] = {}
        for run in runs_of(directory):
            for part in parts_of(run.place(directory)):
                file = os.path.join(part, "facts.parquet")
                for row, about in enumerate(rows_of(file, "path", "identity", "format")):
                    if about["format"] == FACTS_FORMAT:
                        self._newest[about["path"]] = about["identity"], file, row
        self._groups: OrderedDict[tuple[str, int], list[bytes]] = OrderedDict()
        self._files: OrderedDict[str, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self._newest)

    def paths(self) -> Iterator[tuple[str, str | None]]:
        """(path, identity) of every unit, in the order of the facts on disk."""
        for path, (identity, _file, _row) in sorted(self._newest.items(), key=lambda item: item[1][1:]):
            yield path, identity

    def of(self, path: str, identity: str | None) -> bytes | None:
        """The facts of a unit with these contents; None if there are none."""
        known = self._newest.get(path)
        if known is None or identity is None or known[0] != identity:
            return None
        _identity, file, row = known
        return self._group(file, row // FACTS_GROUP)[row % FACTS_GROUP]

    def _group(self, file: str, number: int) -> list[bytes]:
        from pyarrow import parquet

        found = self._groups.get((file, number))
        if found is None:
            with report_damage(file):
                opened = self._files.get(file) or parquet.ParquetFile(file)
                self._files[file] = opened
                found = opened.read_row_group(number, columns=["facts"]).column(0).to_pylist()
            self._groups[file, number] = found
            while len(self._groups) > _GROUPS_KEPT:
                self._groups.popitem(last=False)
            while len(self._files) > _GROUPS_KEPT:
                self._files.popitem(last=False)
        return found
