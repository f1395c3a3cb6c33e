"""`abiscan compat` as a sheet: common compatibility, then each input with the releases of torch and with the rest, and
what a single input excludes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from abiscan.model.compat_report import CompatReport
from abiscan.model.compatibility import Aspect, Compared, Compatibility, compatible_releases
from abiscan.model.release import ReleaseState
from abiscan.model.versions import minor, order
from abiscan.report.sheet import Sheet
from abiscan.report.text_table import Row, Table, Tone
from abiscan.report.wording import python_words, system_words

_NAMES = {Aspect.TORCH: "torch", Aspect.PYTHON: "CPython", Aspect.GPU: "GPU", Aspect.SYSTEM: "system"}
_ALL = "all"
_FOR_OTHER_SYSTEMS = "the inputs are for different systems"
_YES, _MAYBE, _NO = "yes", "maybe", "no"
# Columns of releases, which fit 100 columns of a terminal with the name of a package.
_RANGES = 5


def sheet(found: CompatReport) -> Sheet:
    """The answer as a sheet."""
    aspects = [aspect for aspect in _NAMES if any(_words(aspect, t.compatibility) for t in found.inputs)]
    labels = _labels(found.inputs)
    others = tuple(row for aspect in aspects if aspect is not Aspect.TORCH for row in _rows(aspect, found, labels))
    tables = [_releases(found, labels)] if Aspect.TORCH in aspects else []
    tables.append(Table(("aspect", "input", "compatible with"), others, "Python and system" if tables else ""))
    names = ", ".join(labels)
    alone = len(labels) == 1
    if found.conflicts:
        word, tone = "CONFLICT", Tone.BAD
        without = " and no ".join(_NAMES[aspect] for aspect in found.conflicts)
        headline = f"{names}: no {without} is compatible with {'it' if alone else 'all of them'}"
        if Aspect.SYSTEM in found.conflicts:
            headline = f"{names}: {_FOR_OTHER_SYSTEMS}"
    else:
        word, tone = ("UNDECIDED", Tone.DOUBT) if found.undecided else ("COMPATIBLE", Tone.GOOD)
        parts = [f"{_NAMES[aspect]} {_words(aspect, found.common)}" for aspect in aspects]
        headline = f"{names}: {'' if alone else 'all '}compatible with {'; '.join(parts)}"
        if not parts:
            headline = f"{names}: no requirement on torch, Python, GPUs or the system was found"
        if not any(each.files for each in found.inputs):
            headline = f"{names}: no shared object could be read"
    return Sheet(word, headline, tone, tuple(tables), (*found.notes, *found.undecided))


def _labels(targets: Sequence[Compared]) -> list[str]:
    """The label of each input, with its system, CUDA or file name if another input has the same label."""
    labels = _short_labels(targets)
    for label in [each for each in dict.fromkeys(labels) if labels.count(each) > 1]:
        same = [number for number, each in enumerate(labels) if each == label]
        for words in _DISTINCT:
            found = [words(targets[number]) for number in same]
            if len(set(found)) == len(found):
                for number, text in zip(same, found, strict=True):
                    labels[number] = f"{label} ({text or 'no CUDA'})"
                break
    return labels


# What distinguishes inputs with the same name and version, the shortest first.
_DISTINCT: tuple[Callable[[Compared], str], ...] = (
    lambda target: ", ".join(target.compatibility.machines),
    lambda target: ", ".join(f"CUDA {version}" for version in target.compatibility.cuda),
    lambda target: target.path.rpartition("/")[2],
    lambda target: target.path,
)


def _short_labels(targets: Sequence[Compared]) -> list[str]:
    """For a file the shortest end of its path that is unique."""
    labels = []
    for number, target in enumerate(targets):
        parts = target.label.split("/")
        others = ["/" + other.label for other in (*targets[:number], *targets[number + 1 :])]
        ends = ("/".join(parts[-depth:]) for depth in range(1, len(parts)))
        labels.append(next((end for end in ends if not any(o.endswith("/" + end) for o in others)), target.label))
    return labels


def _releases(found: CompatReport, labels: Sequence[str]) -> Table:
    """Each input with ranges of releases on which every input has one outcome: the newest that suit an input."""
    each = [*(target.compatibility for target in found.inputs), found.common]
    releases = {build.torch for reach in each for build in reach.torch or ()}
    known = tuple(sorted(releases, key=lambda release: order(release) or ()))
    outcomes = {release: tuple(_outcome(reach, release) for reach in each) for release in known}
    groups = [list(group) for _cells, group in itertools.groupby(known, outcomes.__getitem__)]
    shown = [group for group in groups if set(outcomes[group[0]]) != {_NO}][-_RANGES:]
    rows = _rows(Aspect.TORCH, found, labels)
    cells = [outcomes[group[0]] for group in shown]
    columns = ("input", *(_range(group, known) for group in shown), "compatible with")
    *inputs, common = (
        replace(row, cells=(row.cells[1], *(column[at] for column in cells), row.cells[2]))
        for at, row in zip(range(-len(rows), 0), rows, strict=True)
    )
    return Table(columns, tuple(inputs) or (common,), "torch", common if inputs else None)


def _outcome(reach: Compatibility, release: str) -> str:
    if reach.torch is None:
        return _YES
    states = {build.state for build in reach.torch if build.torch == release and build.compatible}
    return _NO if not states else _MAYBE if states == {ReleaseState.POSSIBLE_LAYOUT} else _YES


def _range(group: Sequence[str], known: Sequence[str]) -> str:
    """`2.4-2.9`; with patch releases where the range has not all of a minor release."""
    first, last = group[0], group[-1]
    minors = [next(each for each in known if minor(each) == minor(first)) == first]
    minors.append([each for each in known if minor(each) == minor(last)][-1] == last)
    ends = [minor(each) if whole else each for each, whole in zip((first, last), minors, strict=True)]
    if first == last and not all(minors):
        return first
    return ends[0] if ends[0] == ends[1] else "-".join(ends)


def _rows(aspect: Aspect, found: CompatReport, labels: Sequence[str]) -> list[Row]:
    rows = []
    for target, label in zip(found.inputs, labels, strict=True):
        if len(labels) == 1:
            break  # the common row has the same contents
        alone = [e.text for e in found.exclusions if e.input == target.path and e.aspect is aspect]
        tail = f"; the only input that excludes {alone[0]}" if alone else ""
        tone = Tone.DOUBT if alone else Tone.PLAIN
        rows.append(Row((_NAMES[aspect], label, f"{_words(aspect, target.compatibility) or 'any'}{tail}"), tone))
    bad = aspect in found.conflicts
    details = tuple(f"{f.text}: {f.required_by}" for f in found.common.floors) if aspect is Aspect.SYSTEM else ()
    common = _words(aspect, found.common) or "nothing"
    if bad and Aspect.SYSTEM in found.conflicts and aspect in (Aspect.TORCH, Aspect.SYSTEM):
        common = f"none: {_FOR_OTHER_SYSTEMS}"
    rows.append(
        Row((_NAMES[aspect], labels[0] if len(labels) == 1 else _ALL, common), Tone.BAD if bad else Tone.GOOD, details)
    )
    return rows


def _words(aspect: Aspect, reach: Compatibility) -> str:
    """Compatibility in one aspect; empty for any."""
    match aspect:
        case Aspect.TORCH:
            return "" if reach.torch is None else compatible_releases(reach.torch)
        case Aspect.PYTHON:
            return "" if reach.pythons is None else python_words(reach.pythons) or "none"
        case Aspect.GPU:
            return "" if reach.gpus is None else " ".join(reach.gpus) or "none"
        case _:
            return ", ".join(
                [*reach.machines, *filter(None, [system_words(reach)]), *(f"CUDA {version}" for version in reach.cuda)]
            )
