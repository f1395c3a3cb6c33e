"""The page over the tables of a registry, in the style of the page of one report: one file without network access.

`registry/dashboard_view.py` queries the tables; this module renders the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from abiscan.data import read_table
from abiscan.model.versions import ReleaseRanges, minor
from abiscan.model.words import counted, cut, size_words
from abiscan.report.html.commands import steps_of
from abiscan.report.html.document import document
from abiscan.report.html.page_data import PageTexts

# Maximum length of a name and of a sentence on the page; the SQL has all of it.
_LONGEST, _LONGEST_SENTENCE = 160, 600


class DashboardList(Struct, frozen=True):
    """A list of the page, from `data/dashboard_lists.toml`, which describes the fields."""

    id: str
    title: str
    link: str
    view: str
    empty: str
    columns: tuple[tuple[str, str, str], ...]


@cache
def dashboard_lists() -> tuple[DashboardList, ...]:
    """The lists in the order of the page."""
    return read_table("dashboard_lists.toml", dict[str, tuple[DashboardList, ...]])["list"]


def render(view: Mapping[str, Any]) -> str:
    """Render the page.

    Args:
        view: result of `registry.dashboard_view.dashboard_view`.

    Raises:
        UsageError: Jinja2 is not installed.
    """
    texts = PageTexts()
    releases: list[str] = view["releases"]
    packages = [_package(number, each, releases, view["counts"]) for number, each in enumerate(view["packages"])]
    cells = {
        f"{number},{place}": texts.add(_text(found["reason"]))
        for number, each in enumerate(view["packages"])
        for place, release in enumerate(releases)
        if (found := each["cells"].get(release)) is not None and found["reason"]
    }
    data = {
        "releases": [_text(release) for release in releases],
        "csvHead": ["package", "wheels", "fail", "undecided or unreadable"],
        "cells": cells,
        "packages": {
            _text(name): [_wheel(each, releases, texts) for each in wheels] for name, wheels in view["wheels"].items()
        },
        "listed": {
            _text(name): [len(view["wheels"].get(name, ())), count["wheels"]] for name, count in view["counts"].items()
        },
    }
    run = {name: value if isinstance(value, int | float) else _text(value) for name, value in view["run"].items()}
    return document(
        "dashboard.html",
        {**data, "texts": texts.values},
        folder=__name__,
        script="dashboard.js",
        version=run["abiscan"],
        run=run,
        notes=[_text(note) for note in view["notes"]],
        headline=_headline(view["run"], view["newest"]),
        verdict="fail" if run["fails"] else "incomplete" if run["unreadable"] else "pass",
        read=f"{size_words(view['run']['bytes_read'] or 0)} of {size_words(view['run']['size'] or 0)}",
        releases=[(_text(each), at == 0 or minor(releases[at - 1]) != minor(each)) for at, each in enumerate(releases)],
        totals=[_cell(view["totals"].get(release)) for release in releases],
        packages=packages,
        all_packages=view["all_packages"],
        trend=[_run(row) for row in view["trend"]],
        lists=[(each, _rows(view[each.id], each.columns), view["cut"][each.id]) for each in dashboard_lists()],
    )


def _headline(run: Mapping[str, Any], newest: Mapping[str, int]) -> str:
    torch = "the torch that each of them declares" if run["torch"] == "declared" else f"torch {run['torch']}"
    with_torch = run["wheels"] - run["not_torch"]
    whole = f"{run['loads']} of the {with_torch} wheels that use torch load on {torch}."
    packages = sum(newest.values())
    if not packages:
        return whole
    loads, undecided = newest.get("loads", 0), newest.get("undecided", 0)
    tail = f"; {undecided} {'is' if undecided == 1 else 'are'} undecided or unreadable" if undecided else ""
    return f"Newest release of each package: {loads} of {packages} load{tail}. {whole}"


def _package(
    number: int, each: Mapping[str, Any], releases: Sequence[str], counts: Mapping[str, Any]
) -> dict[str, Any]:
    count = counts[each["name"]]
    said = counted(count["wheels"], "wheel")
    said += f", {counted(count['fails'], 'fails', 'fail')}" if count["fails"] else ""
    return {
        "number": number,
        "name": _text(each["name"]),
        "said": said,
        "wheels": count["wheels"],
        "fails": count["fails"],
        "open": count["open"],
        "cells": [_cell(each["cells"].get(release)) for release in releases],
    }


def _cell(found: Mapping[str, Any] | None) -> tuple[str, str]:
    """Class of a cell, and percentage of wheels that load: 100 and 0 are exact."""
    if found is None:
        return "unknown", ""
    share = found["works"]
    if share in (0, 1):
        return ("loads", "100") if share else ("fails", "0")
    percent = min(99, max(1, round(100 * share)))
    return "most" if share >= 0.5 else "few", str(percent)


def _wheel(wheel: Mapping[str, Any], releases: Sequence[str], texts: PageTexts) -> list[Any]:
    works = ReleaseRanges.of_known(releases, set(wheel["works"]).__contains__).text()
    files = [
        [
            texts.add(_text(file["member"])),
            texts.add(_text(file["torch"])),
            file["unresolved"],
            texts.add(_text(file["cause"])),
            texts.add(_sentence(file["summary"])),
            _fix(file["fix"], texts),
            [texts.add(_text(name)) for name in file["names"]],
        ]
        for file in wheel["files"]
    ]
    name = wheel["path"].rpartition("/")[2]
    return [_text(name), wheel["verdict"], texts.add(_text(works)), files, wheel["failing"] - len(files)]


def _fix(fix: str | None, texts: PageTexts) -> list[Any]:
    """The lines of a fix: prose, commands that can be run unchanged, and remarks after them."""
    return [
        [texts.add(step.text), [texts.add(command) for command in step.commands], texts.add(step.remark)]
        for step in steps_of(fix or "")
    ]


def _run(row: Mapping[str, Any]) -> dict[str, Any]:
    total = max(1, row["loads"] + row["fails"] + row["undecided"] + row["unreadable"])
    shares = {kind: 100 * row[kind] / total for kind in ("loads", "fails", "undecided")}
    counts = {kind: row[kind] for kind in ("loads", "fails", "undecided", "unreadable", "wheels")}
    ended = "" if row["ended"] else "not ended"
    return {
        "run": _text(row["run"]),
        "torch": _text(row["torch"]),
        "ended": ended,
        "shares": shares,
        "cpu": f"{row['cpu_seconds'] or 0:.1f}",
        **counts,
    }


def _rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str, str]]) -> list[list[str]]:
    return [
        [_sentence(row[key]) if kind == "text" else _text(row[key]) for _heading, key, kind in columns] for row in rows
    ]


def _text(value: object, longest: int = _LONGEST) -> str:
    return cut(" ".join(str(value).split()), longest) if value is not None else ""


def _sentence(value: object) -> str:
    return _text(value, _LONGEST_SENTENCE)
