"""The values of the template, which makes all texts printable (`document`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from abiscan.model.cause import CauseGroup
from abiscan.model.cause_page import CausePage
from abiscan.model.finding import LEFT_OUT, RuleInfo, Severity
from abiscan.model.report import Report
from abiscan.report.html.commands import CommandStep
from abiscan.report.html.heat_map import HeatMap
from abiscan.report.html.trends import Trend

# Maximum number of symbols of a cause.
_SYMBOLS = 400


class FindingView(Struct):
    """One finding, for all files that have it."""

    severity: str
    message: str
    steps: tuple[CommandStep, ...]
    suppression: str | None
    failing: bool
    anchor: str
    files: list[int] = field(default_factory=list)
    where: list[str] = field(default_factory=list)


class RuleView(Struct, frozen=True):
    """A rule with its hits. `info` has no texts for a rule that the report does not list.

    Attributes:
        severity: the worst of the findings. `findings`, `standing`: numbers of all and of open findings, per file.
    """

    info: RuleInfo
    anchor: str
    severity: Severity
    hits: tuple[FindingView, ...]
    findings: int
    standing: int

    @property
    def settled(self) -> str:
        """Why none of its findings is open, in a word."""
        return "ignored" if all(hit.suppression in LEFT_OUT.values() for hit in self.hits) else "accepted"

    @property
    def links(self) -> list[str]:
        """The references that are addresses."""
        return [each for each in self.info.references if each.startswith(("https://", "http://"))]


class CauseView(Struct):
    """A cause, merged over the files that have it.

    Attributes:
        group: of the first file, whose evidence is shown: mixed evidence would prove nothing.
        fixes: each distinct fix with its files; the first is always shown.
        page: text about the cause in general.
    """

    group: CauseGroup
    anchor: str
    fixes: dict[tuple[CommandStep, ...], list[int]] = field(default_factory=dict)
    files: list[int] = field(default_factory=list)
    symbols: dict[str, str] = field(default_factory=dict)
    page: CausePage | None = None

    @property
    def shown_symbols(self) -> list[str]:
        return list(self.symbols.values())[:_SYMBOLS]


class FoldedList(Struct, frozen=True):
    """A list of a panel, which the script shows. `rows`: head, text and tail of each."""

    title: str
    rows: tuple[tuple[str, str, str], ...]
    note: str = ""


class FileView(Struct, frozen=True):
    """A file with the facts of its panel.

    Attributes:
        anchor: id of the panel, the same in every run.
        facts, target: (name, value) of the file and of its target environment.
        lists: provenance, device code, operators, needed libraries.
        bad: it fails the run.
    """

    number: int
    anchor: str
    name: str
    label: str
    folder: str
    display: str
    verdict: str
    word: str
    bad: bool
    loader: str | None
    counts: tuple[tuple[str, int], ...]
    imports: int
    facts: tuple[tuple[str, str], ...]
    target: tuple[tuple[str, str], ...]
    lists: tuple[FoldedList, ...]
    what_if: tuple[str, ...]
    notes: tuple[str, ...]
    errors: int
    warnings: int


class WheelView(Struct, frozen=True):
    """A wheel, package or archive, or files without one (then `title` is empty).

    Attributes:
        anchor: id of its card, the same in every run.
        facts: (name, value) of its declarations and releases. `requirements`: those other than torch.
        target: the facts on target environments that all of its files share.
        files: its members, those that use torch first. `plain`: number of the others.
        unread: (path, message) of read errors in it.
    """

    number: int
    anchor: str
    title: str
    path: str
    verdict: str
    word: str
    bad: bool
    reason: str
    files: tuple[FileView, ...]
    line: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    target: tuple[tuple[str, str], ...] = ()
    requirements: tuple[str, ...] = ()
    plain: int = 0
    unread: tuple[tuple[str, str], ...] = ()


class PlaceView(Struct, frozen=True):
    """A file of a wheel, and the number of further files of it. `wheel` is empty on a page about one wheel."""

    wheel: str
    anchor: str
    file: str
    file_anchor: str
    more: int


class PageView(Struct, frozen=True):
    """All values of the template.

    Attributes:
        wheel_of: wheel of each file, by file number, on a page about several wheels.
    """

    report: Report
    title: str
    word: str
    headline: str
    together: str | None
    target: str | None
    target_facts: tuple[tuple[str, str], ...]
    tallies: tuple[tuple[str, str, int, str], ...]
    causes: tuple[CauseView, ...]
    heat: HeatMap
    apart: tuple[str, ...]
    failing: tuple[RuleView, ...]
    noted: tuple[RuleView, ...]
    wheels: tuple[WheelView, ...]
    files: tuple[FileView, ...]
    imports: int
    trends: tuple[Trend, ...]
    notes: tuple[str, ...]
    wheel_of: Mapping[int, WheelView]

    def places(self, numbers: Sequence[int]) -> list[PlaceView]:
        """The files with these numbers, grouped by wheel if there are several."""
        by_wheel: dict[int, list[int]] = {}
        for number in dict.fromkeys(numbers):
            wheel = self.wheel_of.get(number)
            by_wheel.setdefault(-1 - number if wheel is None else wheel.number, []).append(number)
        found = []
        for place, inside in by_wheel.items():
            first = self.files[inside[0]]
            title, anchor = ("", "") if place < 0 else (self.wheel_of[inside[0]].title, self.wheel_of[inside[0]].anchor)
            found.append(PlaceView(title, anchor, first.label, first.anchor, len(inside) - 1))
        return found
