"""The rows of the heat map for the wheels and files of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from abiscan.model.compatibility import Compared, loading_releases
from abiscan.model.platform_differences import differing_packages
from abiscan.model.platforms import loading_words
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container
from abiscan.model.words import cut, shortened
from abiscan.report.html.file_view import ranges_words
from abiscan.report.html.heat_map import (
    NAMES_SHOWN,
    Cell,
    HeatMap,
    MapRow,
    Mark,
    columns_of,
    declared_of,
    file_cells,
    wheel_cells,
)
from abiscan.report.html.values import FileView, WheelView
from abiscan.report.html.wheel_view import WheelUnit
from abiscan.report.wording import machines_of, readable_names

_NAME_LENGTH = 240
# Maximum number of file names below a row for several files.
_FILES_SHOWN = 6


def release_map(
    units: Sequence[WheelUnit],
    wheels: Sequence[WheelView],
    files: Sequence[FileView],
    artifacts: Sequence[ArtifactReport],
) -> HeatMap:
    """One row per wheel, and below it one row for all of its files with equal outcomes."""
    rows = _Rows(units, files, artifacts)
    for unit, wheel in zip(units, wheels, strict=True):
        rows.add(unit, wheel)
    cells = [cell for row in rows.rows for cell in row.cells]
    return HeatMap(
        rows.columns,
        tuple(rows.rows),
        tuple(mark for mark in Mark if any(cell.mark is mark for cell in cells)),
        targets=any(cell.target for cell in cells),
        declared=any(cell.declared for cell in cells),
        alarms=any(cell.mark is Mark.FAILS and (cell.declared or cell.target) for cell in cells),
        loads=loading_words(machines_of(artifacts)).clause,
    )


class _Rows:
    """The rows so far, and shared data."""

    __slots__ = ("artifacts", "columns", "differing", "files", "rows")

    def __init__(
        self, units: Sequence[WheelUnit], files: Sequence[FileView], artifacts: Sequence[ArtifactReport]
    ) -> None:
        checked = [artifacts[n] for unit in units for n in unit.files if artifacts[n].releases]
        targets = [[(t.version, t.variant)] if (t := each.torch_build) is not None else [] for each in checked]
        self.columns = columns_of(
            (
                [*((r.torch, r.variant) for r in each.releases or ()), *target]
                for each, target in zip(checked, targets, strict=True)
            ),
            chain.from_iterable(targets),
        )
        containers = (unit.container for unit in units if unit.container is not None)
        self.differing = differing_packages(containers, artifacts)
        self.files = files
        self.artifacts = artifacts
        self.rows: list[MapRow] = []

    def add(self, unit: WheelUnit, wheel: WheelView) -> None:
        """Add a wheel with its files, unless none of them was checked against releases."""
        cells: dict[int, tuple[Cell, ...]] = {}
        groups: dict[tuple[tuple[Mark, str, bool], ...], list[int]] = {}
        for n in unit.files:
            artifact = self.artifacts[n]
            if artifact.releases or artifact.verdict is ArtifactVerdict.UNDECIDED:
                names = {mangled: cut(text, _NAME_LENGTH) for mangled, text in readable_names(artifact).items()}
                cells[n] = file_cells(self.columns, artifact, names, _targets([artifact]))
                groups.setdefault(tuple((c.mark, c.reason, c.target) for c in cells[n]), []).append(n)
        group = None
        if cells and unit.container is not None and unit.target is not None:
            group = len(self.rows)
            self._add_wheel(unit.container, unit.target, unit.files, wheel, cells)
        for same in groups.values():
            self._add_files(same, group, unit.container, wheel, cells[same[0]])

    def _add_files(
        self, same: list[int], group: int | None, container: Container | None, wheel: WheelView, cells: tuple[Cell, ...]
    ) -> None:
        first = self.files[same[0]]
        rest = [self.files[n].label for n in same[1:]]
        releases = self.artifacts[same[0]].releases
        loads = "" if releases is None else loading_releases(releases)
        members = "; ".join(self.files[n].display.rpartition("!")[2] for n in same)
        self.rows.append(
            MapRow(
                len(self.rows),
                group,
                f"{first.label} and {len(rest)} more" if rest else first.label,
                (shortened(rest, _FILES_SHOWN),) if rest else (),
                first.anchor,
                first.verdict,
                any(self.files[n].bad for n in same),
                cells,
                (wheel.path, *_named(container), members, first.word, "", loads),
                files=tuple(same),
            )
        )

    def _add_wheel(
        self,
        container: Container,
        target: Compared,
        files: Sequence[int],
        wheel: WheelView,
        members: Mapping[int, tuple[Cell, ...]],
    ) -> None:
        checked = _targets(self.artifacts[n] for n in members if self.artifacts[n].replaced_by is None)
        read = all(self.artifacts[n].verdict is not ArtifactVerdict.UNREADABLE for n in files)
        found = wheel_cells(self.columns, target, container.verdict, checked, whole=read and not wheel.unread)
        builds = target.compatibility.torch or ()
        clause = loading_words(machines_of(self.artifacts[n] for n in files)).clause
        loads, declared = loading_releases(builds) if builds else "", declared_of(builds)
        admitted = "" if declared is None else ranges_words(declared)
        differs = "differs by platform" if (container.name, container.version) in self.differing else ""
        self.rows.append(
            MapRow(
                len(self.rows),
                None,
                wheel.title,
                (
                    " · ".join(
                        part
                        for part in (wheel.line, f"{clause} on {loads}" if loads else "not checked", differs)
                        if part
                    ),
                ),
                wheel.anchor,
                wheel.verdict,
                wheel.bad,
                tuple(self._attach_files(place, cell, members) for place, cell in enumerate(found)),
                (wheel.path, *_named(container), "", wheel.word, admitted, loads),
                len(members),
            )
        )

    def _attach_files(self, place: int, cell: Cell, members: Mapping[int, tuple[Cell, ...]]) -> Cell:
        """A wheel's cell with the files that it concerns."""
        if cell.mark in (Mark.LOADS, Mark.UNKNOWN):
            return cell
        good = (Mark.LOADS, Mark.UNKNOWN)
        names = [self.files[n].label for n, cells in members.items() if cells[place].mark not in good]
        return replace(cell, count=len(names), names=tuple(names[:NAMES_SHOWN]))


def _named(container: Container | None) -> Iterator[str]:
    for text in (None, None) if container is None else (container.name, container.version):
        yield text or ""


def _targets(artifacts: Iterable[ArtifactReport]) -> frozenset[str]:
    """Names of target builds, without those of files that do not import torch."""
    targets = (a.torch_build for a in artifacts if a.verdict is not ArtifactVerdict.NOT_TORCH)
    return frozenset(t.label if t.variant else t.version for t in targets if t is not None)
