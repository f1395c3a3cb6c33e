"""Small charts: for each project the compatible releases and the findings of each run.

They are SVG with classes for the style sheet and no inline styles, as the content security policy requires."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from abiscan.model.compatibility import ranges_of
from abiscan.model.history import RunSummary, WheelSummary
from abiscan.model.versions import order
from abiscan.report.wording import ranges_words

UNJUDGED = "not checked against the releases"
# Units of the drawing: width per run, height per release, height of the findings below.
_WIDE, _HIGH, _BARS = 14, 6, 40


class Shape(Struct, frozen=True):
    """A rectangle."""

    kind: str
    x: float
    y: float
    width: float
    height: float


class Trend(Struct, frozen=True):
    """One project over the runs.

    Attributes:
        shapes: ranges of releases, then findings. `floor`: y of the line below the ranges.
        newest, oldest: releases at the top and bottom. `highest`: findings of the highest bar.
        rows: (run, version, loads on, errors, warnings, notes) for a table.
        change: difference to the run before, as a sentence; may be empty.
        unchecked: runs of the project without outcomes for releases.
    """

    name: str
    width: int
    height: int
    floor: int
    shapes: tuple[Shape, ...]
    newest: str
    oldest: str
    highest: int
    rows: tuple[tuple[str, ...], ...]
    change: str
    unchecked: tuple[str, ...]


def trends_of(runs: Sequence[RunSummary]) -> tuple[Trend, ...]:
    """One chart per project of the last run, over all runs; empty if there is no earlier run."""
    if len(runs) < 2:
        return ()
    names = dict.fromkeys(wheel.name for wheel in runs[-1].wheels if wheel.torch)
    return tuple(_trend(name, runs) for name in names)


def _trend(name: str, runs: Sequence[RunSummary]) -> Trend:
    each = [[wheel for wheel in run.wheels if wheel.name == name] for run in runs]
    releases = dict.fromkeys(b.torch for wheels in each for wheel in wheels for b in wheel.torch)
    versions = sorted(releases, key=lambda v: order(v) or ())
    floor = _HIGH * len(versions)
    counts = [
        tuple(sum(getattr(wheel, kind) for wheel in wheels) for kind in ("errors", "warnings", "notes"))
        for wheels in each
    ]
    highest = max(1, *(sum(found) for found in counts))
    shapes: list[Shape] = []
    rows = []
    words = []
    unchecked = []
    for place, (run, wheels) in enumerate(zip(runs, each, strict=True)):
        x = place * _WIDE + 2
        loading = [v for v in versions if _loads(wheels, v)]
        if wheels and not any(wheel.torch for wheel in wheels):
            # An empty column means that it loads on no release; a run without outcomes has a shape.
            shapes.append(Shape("unchecked", x, 0, _WIDE - 4, floor))
            unchecked.append(run.label)
        for version in loading:
            y = floor - _HIGH * (versions.index(version) + 1)
            shapes.append(Shape("window", x, y, _WIDE - 4, _HIGH - 1))
        top = float(floor + 6 + _BARS)
        for kind, number in zip(("error", "warning", "note"), counts[place], strict=True):
            height = _BARS * number / highest
            top -= height
            if number:
                shapes.append(Shape(kind, x, round(top, 2), _WIDE - 4, round(height, 2)))
        words.append(_words(wheels))
        version = ", ".join(dict.fromkeys(w.version for w in wheels if w.version))
        rows.append((run.label, version, words[-1], *map(str, counts[place])))
    change = ""
    if words[-2] != words[-1] and any(wheel.torch for wheel in each[-2]):
        change = f"loads on {words[-1]}; {words[-2]} in the run before"
    return Trend(
        name,
        _WIDE * len(runs),
        floor + 6 + _BARS,
        floor,
        tuple(shapes),
        versions[-1] if versions else "",
        versions[0] if versions else "",
        highest,
        tuple(rows),
        change,
        tuple(unchecked),
    )


def _loads(wheels: Sequence[WheelSummary], version: str) -> bool:
    """Whether all of the project's wheels load on a build of the release."""
    checked = [wheel for wheel in wheels if wheel.torch]
    return bool(checked) and all(any(b.torch == version and b.state.fits for b in wheel.torch) for wheel in checked)


def _words(wheels: Sequence[WheelSummary]) -> str:
    checked = [wheel for wheel in wheels if wheel.torch]
    if not wheels:
        return "not in this run"
    if not checked:
        return UNJUDGED
    found = ranges_of(checked[0].torch, lambda build: _loads(checked, build.torch))
    return ranges_words(found)
