"""The heat map: one row per wheel (or file), with rows of its members, and one column per torch build, or per release
if no row has several builds of it.

Pages that are not made from a `Report` can make the rows themselves. The macro `heat_map` of `heat_map.html` renders
them, with `script.js`."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from abiscan.model.compatibility import BuildOfTorch, Compared, ranges_of
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.model.versions import ReleaseRanges, minor, order

Build = tuple[str, str]
"""Public version and variant."""
_Found = TypeVar("_Found")


class Mark(enum.StrEnum):
    """Meaning of a cell, such as each `ReleaseState`; the template has colour, sign and text of each."""

    LOADS = "loads"
    POSSIBLE_LAYOUT = "possible-layout"
    OTHER_LAYOUT = "other-layout"
    OTHER_CUDA = "other-cuda"
    FAILS = "fails"
    UNDECIDED = "undecided"
    UNKNOWN = "unknown"
    """Not checked."""


# Maximum number of missing symbols in a cell; the JSON report has all.
NAMES_SHOWN = 6
_VERDICTS = {
    ArtifactVerdict.LOADS: Mark.LOADS,
    ArtifactVerdict.FAILS: Mark.FAILS,
    ArtifactVerdict.UNDECIDED: Mark.UNDECIDED,
    ArtifactVerdict.UNREADABLE: Mark.UNDECIDED,
}


class ReleaseColumn(Struct, frozen=True):
    """A build of torch, or the builds of a release for several platforms.

    Attributes:
        name: `2.6.0+cu124`, `2.6.0`. `builds`: the names of its builds.
        first_of_minor: there is a gap before it.
        target: every row was checked against it.
    """

    name: str
    torch: str
    variant: str
    first_of_minor: bool
    target: bool = False
    builds: tuple[str, ...] = ()


class Cell(Struct, frozen=True):
    """The outcome of a row on a build.

    Attributes:
        reason: short, if it does not load. `names`: missing symbols or changed classes, of `count`.
        declared: in the torch range that the wheel declares. `first`, `last`: start and end of that range.
        target: the row was checked against this build.
    """

    mark: Mark
    reason: str = ""
    count: int = 0
    names: tuple[str, ...] = ()
    declared: bool = False
    first: bool = False
    last: bool = False
    target: bool = False


class MapRow(Struct, frozen=True):
    """A row.

    Attributes:
        number: unique on the page.
        group: number of the wheel's row, for a member; None otherwise.
        title: its name. `lines`: text below.
        link: element with details.
        verdict: of the run. `bad`: it fails the run.
        members: for a wheel, the checked files. `files`: otherwise, numbers of its files.
        csv: CSV columns before the builds: path, name, version, files, verdict, declared, loads on.
    """

    number: int
    group: int | None
    title: str
    lines: tuple[str, ...]
    link: str
    verdict: str
    bad: bool
    cells: tuple[Cell, ...]
    csv: tuple[str, ...]
    members: int = 0
    files: tuple[int, ...] = ()


class HeatMap(Struct, frozen=True):
    """The rows and columns.

    Attributes:
        marks: those that occur. `targets`, `declared`: whether cells are marked as target or declared. `alarms`:
            whether something does not load on its target or a declared release.
        loads: the words of `Mark.LOADS`, for the systems of the files.
    """

    columns: tuple[ReleaseColumn, ...]
    rows: tuple[MapRow, ...]
    marks: tuple[Mark, ...]
    targets: bool
    declared: bool
    alarms: bool
    loads: str


# --- columns ----------------------------------------------------------------------------------------------------


def columns_of(rows: Iterable[Iterable[Build]], targets: Iterable[Build]) -> tuple[ReleaseColumn, ...]:
    """The columns, oldest first. Unknown targets follow the known builds of their version.

    Args:
        rows: the builds (public version, variant) that each row has an outcome on, its target included.
        targets: those of all rows.
    """
    of_rows = [dict.fromkeys(row) for row in rows]
    checked = dict.fromkeys(targets)
    known = dict.fromkeys(build for row in of_rows for build in row)
    several = {torch for row in of_rows for torch, count in Counter(torch for torch, _ in row).items() if count > 1}
    variants: dict[Build, list[str]] = {}
    for torch, variant in sorted([*known, *(t for t in checked if t not in known)], key=lambda b: order(b[0]) or ()):
        variants.setdefault((torch, variant if torch in several else ""), []).append(variant)
    columns: list[ReleaseColumn] = []
    for (torch, _), these in variants.items():
        variant = these[0] if len(these) == 1 else ""
        first = not columns or minor(columns[-1].torch) != minor(torch)
        target = len(checked) == 1 and any((torch, each) in checked for each in these)
        builds = tuple(_joined(torch, each) for each in these)
        columns.append(ReleaseColumn(_joined(torch, variant), torch, variant, first, target, builds))
    return tuple(columns)


# --- cells ------------------------------------------------------------------------------------------------------


def wheel_cells(
    columns: Sequence[ReleaseColumn],
    target: Compared,
    verdict: ArtifactVerdict,
    checked: frozenset[str],
    *,
    whole: bool,
) -> tuple[Cell, ...]:
    """The cells of a wheel.

    Args:
        verdict: of the wheel. `checked`: names of its target builds.
        whole: whether all of it could be read.
    """
    known = {b.name: b for b in target.compatibility.torch or ()}
    admitted = {b.torch for b in known.values() if b.admitted}
    cells = [_wheel_cell(c, _build_of(c, known), verdict, checked, whole=whole) for c in columns]
    declared = [False, *(column.torch in admitted for column in columns), False]
    # The ends of declared ranges are marked.
    return tuple(
        replace(cell, declared=True, first=not before, last=not after) if here else cell
        for cell, before, here, after in zip(cells, declared, declared[1:], declared[2:], strict=False)
    )


def _wheel_cell(
    column: ReleaseColumn, build: BuildOfTorch | None, verdict: ArtifactVerdict, checked: frozenset[str], *, whole: bool
) -> Cell:
    mine = not checked.isdisjoint(column.builds)
    if build is None:
        # An unknown build: only the verdict of the run is known.
        return Cell(_VERDICTS.get(verdict, Mark.UNKNOWN) if mine else Mark.UNKNOWN, target=mine)
    mark = Mark(build.state)
    open_here = mine and len(checked) == 1 and _VERDICTS.get(verdict) is Mark.UNDECIDED
    if mark is Mark.LOADS and (open_here or not whole):
        return Cell(Mark.UNDECIDED, "not all of it could be read or decided", target=mine)
    reason = "" if mark is Mark.LOADS else build.reason
    return Cell(mark, reason, target=mine)


def file_cells(
    columns: Sequence[ReleaseColumn],
    file: ArtifactReport,
    names: dict[str, str],
    checked: frozenset[str],
) -> tuple[Cell, ...]:
    """The cells of a file.

    Args:
        names: readable names of its imports.
    """
    known = {release.name: release for release in file.releases or ()}
    cells = []
    for column in columns:
        release, mine = _build_of(column, known), not checked.isdisjoint(column.builds)
        if release is None:
            cells.append(Cell(_VERDICTS.get(file.verdict, Mark.UNKNOWN) if mine else Mark.UNKNOWN, target=mine))
            continue
        mark = Mark(release.state)
        if mark is Mark.LOADS and mine and file.verdict is ArtifactVerdict.UNDECIDED:
            mark = Mark.UNDECIDED
        listed = release.missing or release.drift
        texts = tuple(names.get(name, name) for name in listed[:NAMES_SHOWN])
        cells.append(Cell(mark, release.reason, len(listed), texts, target=mine))
    return tuple(cells)


def _joined(torch: str, variant: str) -> str:
    return f"{torch}+{variant}" if variant else torch


def _build_of(column: ReleaseColumn, known: Mapping[str, _Found]) -> _Found | None:
    return next((known[name] for name in column.builds if name in known), None)


# --- release ranges ---------------------------------------------------------------------------------------------


def declared_of(builds: Sequence[BuildOfTorch]) -> ReleaseRanges | None:
    """The known releases that the requirements allow; None without a torch requirement."""
    if not builds or builds[0].admitted is None:
        return None
    return ranges_of(builds, lambda build: build.admitted is True)
