"""`abiscan diff` for a person: a line a change, the most important first."""

from __future__ import annotations

from abiscan.model.diff_report import Change, DiffReport, Effect
from abiscan.report.sheet import Row, Sheet, Table, Tone
from abiscan.report.wording import counted

_MARKS = {Effect.LOST: "-", Effect.GAINED: "+", Effect.CHANGED: "~"}
# Files that a line names; the JSON report has all.
_FILES = 3


def sheet(difference: DiffReport) -> Sheet:
    """The changes as a page."""
    old, new = difference.old, difference.new
    rows = tuple(_row(change, difference.names) for change in difference.changes)
    lost = sum(change.regresses for change in difference.changes)
    both = f"{old.label} -> {new.label}"
    if lost:
        word, tone = "REGRESSED", Tone.BAD
        headline = f"{both}: compatible with less than before ({lost} of {counted(len(rows), 'change')})"
    elif difference.undecided:
        word, tone = "UNDECIDED", Tone.DOUBT
        seen = f"{counted(len(rows), 'change')} shown" if rows else "no change seen"
        headline = f"{both}: not everything could be compared; {seen}"
    elif rows:
        word, tone = "CHANGED", Tone.GOOD
        headline = f"{both}: {counted(len(rows), 'change')}; compatible with everything that the old one is"
    else:
        word, tone, headline = "SAME", Tone.GOOD, f"{both}: nothing that abiscan compares changed"
    return Sheet(word, headline, tone, (Table(("", "what", "change"), rows),) if rows else (), difference.undecided)


def _row(change: Change, names: dict[str, str]) -> Row:
    tone = Tone.BAD if change.regresses else Tone.PLAIN
    where = ""
    if change.files and change.aspect != "file":
        more = f" and {len(change.files) - _FILES} more" if len(change.files) > _FILES else ""
        where = f"{', '.join(change.files[:_FILES])}{more}: "
    details = tuple(f"- {names.get(each, each)}" for each in change.removed)
    details += tuple(f"+ {names.get(each, each)}" for each in change.added)
    return Row((_MARKS[change.effect], change.aspect.value, where + change.text), tone, details)
