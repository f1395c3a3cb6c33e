"""What the template sees: every text made printable, every number counted."""

from __future__ import annotations

from msgspec import Struct, field

# Names that a cause lists at the most.
_SYMBOLS = 400


class Hit(Struct, frozen=True):
    """One finding in one file."""

    file: int
    severity: str
    message: str
    fix: str
    where: tuple[str, ...]
    suppression: str | None
    failing: bool


class RuleView(Struct, frozen=True):
    """A rule with its hits."""

    id: str
    severity: str
    summary: str
    why: str
    example: str
    use_instead: str
    references: tuple[str, ...]
    hits: tuple[Hit, ...]
    shown: tuple[Hit, ...]
    standing: int


class CauseView(Struct):
    """A cause, merged over the files that have it.

    Attributes:
        evidence: of the first file: that of many, mixed, would prove nothing.
        fixes: each distinct fix with the files that it is for; the first is shown at once.
    """

    cause: str
    confidence: str
    summary: str
    evidence: tuple[str, ...]
    fixes: dict[str, list[int]] = field(default_factory=dict)
    files: list[int] = field(default_factory=list)
    symbols: dict[str, str] = field(default_factory=dict)

    @property
    def shown_symbols(self) -> list[str]:
        return list(self.symbols.values())[:_SYMBOLS]


class FileView(Struct, frozen=True):
    """A file with the facts that its panel shows."""

    number: int
    name: str
    label: str
    folder: str
    display: str
    verdict: str
    word: str
    loader: str | None
    needed: tuple[tuple[str, str | None], ...]
    counts: tuple[tuple[str, int], ...]
    imports: int
    facts: tuple[tuple[str, str], ...]
    what_if: tuple[str, ...]
    notes: tuple[str, ...]
    errors: int
    warnings: int
    row: tuple[str, ...]


class Column(Struct, frozen=True):
    """A build of the matrix."""

    build: str
    torch: str
    variant: str
    first_of_minor: bool


class PageView(Struct, frozen=True):
    """All that the template sees."""

    title: str
    version: str
    verdict: str
    word: str
    headline: str
    target: str | None
    target_facts: tuple[tuple[str, str], ...]
    tallies: tuple[tuple[str, str, int], ...]
    causes: tuple[CauseView, ...]
    columns: tuple[Column, ...]
    matrix: tuple[FileView, ...]
    legend: tuple[str, ...]
    variants: bool
    rules: tuple[RuleView, ...]
    files: tuple[FileView, ...]
    imports: int
    notes: tuple[str, ...]
    errors: tuple[tuple[str, str], ...]
    stale: tuple[tuple[str, str, bool], ...]
