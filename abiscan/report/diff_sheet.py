"""`abiscan diff` as a sheet: one line for each change, the most important first."""

from __future__ import annotations

from abiscan.model.diff_report import Change, DiffReport, Effect
from abiscan.model.words import counted, shortened
from abiscan.report.sheet import Sheet
from abiscan.report.text_table import Row, Table, Tone

_MARKS = {Effect.LOST: "-", Effect.GAINED: "+", Effect.CHANGED: "~"}
# Maximum number of files in a line; the JSON report has all.
_FILES = 3


def sheet(difference: DiffReport) -> Sheet:
    """The changes as a sheet."""
    old, new = difference.old, difference.new
    rows = tuple(_row(change, difference.names) for change in difference.changes)
    lost = sum(change.regresses for change in difference.changes)
    both = f"{old.label} -> {new.label}"
    if lost:
        word, tone = "REGRESSED", Tone.BAD
        first = next(change for change in difference.changes if change.regresses)
        more = f" (and {counted(lost - 1, 'more regression')})" if lost > 1 else ""
        headline = f"{both}: {first.aspect.value}: {first.text}{more}"
    elif difference.undecided:
        word, tone = "UNDECIDED", Tone.DOUBT
        headline = f"{both}: not everything was compared; {counted(len(rows), 'change') if rows else 'no change'} found"
    elif rows:
        word, tone = "CHANGED", Tone.GOOD
        headline = f"{both}: {counted(len(rows), 'change')}; no regression"
    else:
        word, tone, headline = "SAME", Tone.GOOD, f"{both}: no differences found"
    return Sheet(word, headline, tone, (Table(("", "aspect", "change"), rows),) if rows else (), difference.undecided)


def _row(change: Change, names: dict[str, str]) -> Row:
    tone = Tone.BAD if change.regresses else Tone.PLAIN
    where = ""
    if change.files and change.aspect != "file":
        where = f"{shortened(change.files, _FILES)}: "
    details = tuple(f"- {names.get(each, each)}" for each in change.removed)
    details += tuple(f"+ {names.get(each, each)}" for each in change.added)
    return Row((_MARKS[change.effect], change.aspect.value, where + change.text), tone, details)
