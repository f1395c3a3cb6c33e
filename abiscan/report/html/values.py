"""What the template sees: every text made printable, every number counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from abiscan.model.cause_page import CausePage
from abiscan.report.html.commands import CommandStep
from abiscan.report.html.heat_map import HeatMap
from abiscan.report.html.trends import Trend

# Names that a cause lists at the most.
_SYMBOLS = 400


class FindingView(Struct):
    """One finding, in all the files that have the same."""

    severity: str
    message: str
    steps: tuple[CommandStep, ...]
    suppression: str | None
    failing: bool
    files: list[int] = field(default_factory=list)
    where: list[str] = field(default_factory=list)


class RuleView(Struct, frozen=True):
    """A rule with its hits; `findings` counts them with their files."""

    id: str
    anchor: str
    severity: str
    summary: str
    why: str
    example: str
    use_instead: str
    references: tuple[str, ...]
    hits: tuple[FindingView, ...]
    findings: int
    standing: int


class CauseView(Struct):
    """A cause, merged over the files that have it.

    Attributes:
        evidence: of the first file: that of many, mixed, would prove nothing.
        fixes: each distinct fix with the files that it is for; the first is shown at once.
        page: what holds of the cause whatever the file.
    """

    cause: str
    confidence: str
    summary: str
    evidence: tuple[str, ...]
    fixes: dict[tuple[CommandStep, ...], list[int]] = field(default_factory=dict)
    files: list[int] = field(default_factory=list)
    symbols: dict[str, str] = field(default_factory=dict)
    page: CausePage | None = None

    @property
    def shown_symbols(self) -> list[str]:
        return list(self.symbols.values())[:_SYMBOLS]


class FileView(Struct, frozen=True):
    """A file with the facts that its panel shows.

    Attributes:
        facts: (name, value) of the file itself; made: (topic, value, source, confidence) of its making.
        images: rows of its device code; operators: what it registers.
        bad: it is why the run does not pass.
    """

    number: int
    name: str
    label: str
    folder: str
    display: str
    verdict: str
    word: str
    bad: bool
    loader: str | None
    needed: tuple[tuple[str, str | None], ...]
    counts: tuple[tuple[str, int], ...]
    imports: int
    facts: tuple[tuple[str, str], ...]
    made: tuple[tuple[str, str, str, str], ...]
    images: tuple[tuple[str, ...], ...]
    gpu_unread: str | None
    operators: tuple[str, ...]
    more_operators: int
    what_if: tuple[str, ...]
    notes: tuple[str, ...]
    errors: int
    warnings: int


class WheelView(Struct, frozen=True):
    """A wheel, package or archive, or what is in none (`title` is then empty).

    Attributes:
        facts: (name, value) of what it declares and where it loads; requirements: those that are not on torch.
        files: its members, those that concern torch first; plain: how many of them do not.
        unread: (path, message) of what could not be read in it.
    """

    number: int
    title: str
    path: str
    verdict: str
    word: str
    bad: bool
    reason: str
    line: str
    facts: tuple[tuple[str, str], ...]
    requirements: tuple[str, ...]
    files: tuple[FileView, ...]
    plain: int
    unread: tuple[tuple[str, str], ...]


class PlaceView(Struct, frozen=True):
    """A file of a wheel, and how many more of that wheel; `wheel` is empty on a page about one."""

    wheel: str
    anchor: str
    file: str
    file_anchor: str
    more: int


class PageView(Struct, frozen=True):
    """All that the template sees.

    Attributes:
        wheel_of: the wheel of each file, by its number, on a page about several.
    """

    title: str
    version: str
    verdict: str
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
    errors: tuple[tuple[str, str], ...]
    stale: tuple[tuple[str, str, bool], ...]
    wheel_of: Mapping[int, WheelView]

    def places(self, numbers: Sequence[int]) -> list[PlaceView]:
        """The files of these numbers, by wheel where the page has several."""
        by_wheel: dict[int, list[int]] = {}
        for number in dict.fromkeys(numbers):
            wheel = self.wheel_of.get(number)
            by_wheel.setdefault(-1 - number if wheel is None else wheel.number, []).append(number)
        found = []
        for place, inside in by_wheel.items():
            first = self.files[inside[0]]
            title, anchor = ("", "") if place < 0 else (self.wheel_of[inside[0]].title, f"wheel-{place}")
            found.append(PlaceView(title, anchor, first.label, f"file-{first.number}", len(inside) - 1))
        return found
