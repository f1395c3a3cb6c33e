"""Data for the script: every name once, and for each file the numbers of its imports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from abiscan.model.imports import CheckedImport, Owner
from abiscan.model.report import ArtifactReport
from abiscan.report.html.file_view import STATUSES, ranges_words
from abiscan.report.html.values import PageView
from abiscan.report.order import sorted_imports

_OWNERS = list(Owner)
CSV_HEAD = ("path", "name", "version", "files", "verdict", "admits torch", "loads on torch")


def page_data(view: PageView, artifacts: Sequence[ArtifactReport]) -> dict[str, Any]:
    """The data of `script.js`."""
    texts = PageTexts()
    bindings: dict[tuple[Any, ...], int] = {}
    symbols: dict[tuple[str, str | None], int] = {}
    wheel_of = {file.number: wheel.number for wheel in view.wheels for file in wheel.files}
    value = {
        "wheels": [[w.title or w.path, w.anchor] for w in view.wheels],
        "files": [[f.display, f.label, wheel_of.get(f.number, -1), f.anchor] for f in view.files],
        "lists": [[[each.title, each.note, each.rows] for each in f.lists] for f in view.files],
        "statuses": [s.value for s in STATUSES],
        "owners": [o.value for o in _OWNERS],
        # A file's imports are indices into this list, since most files share them.
        "imports": [
            [_binding(bound, a, bindings, symbols, texts) for bound in sorted_imports(a.imports)] for a in artifacts
        ],
        "columns": [column.name for column in view.heat.columns],
        "csvHead": CSV_HEAD,
        "csv": {row.number: row.csv for row in view.heat.rows},
        "cells": {
            f"{row.number},{place}": [texts.add(cell.reason), cell.count, [texts.add(name) for name in cell.names]]
            for row in view.heat.rows
            for place, cell in enumerate(row.cells)
            if cell.reason or cell.count
        },
    }
    value["symbols"] = [[name, demangled or 0] for name, demangled in symbols]
    value["bindings"] = list(bindings)
    value["texts"] = texts.values
    return value


def _binding(
    bound: CheckedImport,
    report: ArtifactReport,
    bindings: dict[tuple[Any, ...], int],
    symbols: dict[tuple[str, str | None], int],
    texts: PageTexts,
) -> int:
    symbol = (bound.name, bound.demangled)
    key = (
        symbols.setdefault(symbol, len(symbols)),
        STATUSES.index(bound.status),
        _OWNERS.index(bound.owner),
        texts.add(bound.provider or ""),
        texts.add(ranges_words(report.exported_in.get(bound.name))),
        texts.add("; ".join(c.cause.value for c in report.import_causes.get(bound.name, ()))),
    )
    return bindings.setdefault(key, len(bindings))


class PageTexts:
    """Texts, each stored once."""

    __slots__ = ("_places", "values")

    def __init__(self) -> None:
        self.values: list[str] = []
        self._places: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The index of a text in `values`."""
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self.values)
            self.values.append(text)
        return place
