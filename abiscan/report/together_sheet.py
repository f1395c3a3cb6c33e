"""`abiscan together` for a person: what all work on, what each works on, and which of them excludes what."""

from __future__ import annotations

from abiscan.model.reach import Aspect, Reach, windows_of
from abiscan.model.together import Together
from abiscan.report.sheet import Row, Sheet, Table, Tone
from abiscan.report.wording import python_words, system_words

_NAMES = {Aspect.TORCH: "torch", Aspect.PYTHON: "CPython", Aspect.GPU: "GPU", Aspect.SYSTEM: "system"}
_ALL = "together"


def sheet(found: Together) -> Sheet:
    """The answer as a page."""
    aspects = [aspect for aspect in _NAMES if any(_words(aspect, t.reach) for t in found.targets)]
    rows = tuple(row for aspect in aspects for row in _rows(aspect, found))
    names = ", ".join(target.label for target in found.targets)
    if found.conflicts:
        word, tone = "CONFLICT", Tone.BAD
        headline = (
            f"{names}: no {' and no '.join(_NAMES[aspect] for aspect in found.conflicts)} that all of them work on"
        )
    else:
        word, tone = ("UNDECIDED", Tone.DOUBT) if found.undecided else ("TOGETHER", Tone.GOOD)
        parts = [f"{_NAMES[aspect]} {_words(aspect, found.common)}" for aspect in aspects]
        headline = f"{names}: all work on {'; '.join(parts) or 'everything that abiscan knows of'}"
    return Sheet(word, headline, tone, (Table(("what", "target", "works on"), rows),), (*found.notes, *found.undecided))


def _rows(aspect: Aspect, found: Together) -> list[Row]:
    rows = []
    for target in found.targets:
        alone = [e.text for e in found.exclusions if e.target == target.path and e.aspect is aspect]
        tail = f"; alone excludes {alone[0]}" if alone else ""
        tone = Tone.DOUBT if alone else Tone.PLAIN
        rows.append(Row((_NAMES[aspect], target.label, f"{_words(aspect, target.reach) or 'any'}{tail}"), tone))
    bad = aspect in found.conflicts
    details = tuple(f"{f.text}: {f.because}" for f in found.common.floors) if aspect is Aspect.SYSTEM else ()
    common = _words(aspect, found.common) or "nothing"
    rows.append(Row((_NAMES[aspect], _ALL, common), Tone.BAD if bad else Tone.GOOD, details))
    return rows


def _words(aspect: Aspect, reach: Reach) -> str:
    """What something works on of one aspect; empty for any."""
    match aspect:
        case Aspect.TORCH:
            return "" if reach.torch is None else _torch(reach)
        case Aspect.PYTHON:
            return "" if reach.pythons is None else python_words(reach.pythons) or "none"
        case Aspect.GPU:
            return "" if reach.gpus is None else " ".join(reach.gpus) or "none"
        case _:
            return ", ".join(
                [
                    *reach.machines,
                    *filter(None, [system_words(reach)]),
                    *(f"CUDA {version}'s libraries" for version in reach.cuda),
                ]
            )


def _torch(reach: Reach) -> str:
    return windows_of(reach.torch or (), lambda build: build.works).text(last=", ") or "no known release"
