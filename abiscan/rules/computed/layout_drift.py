"""`layout-drift`: a record that the file shares with torch has another layout in the target (docs/layouts.md).

What a file shares is told by its imports alone (`shared_records`):

- a constructor, a destructor or the vtable of a record: code of the file makes or destroys one, in room of its own;
- a function that takes a record by value, as an rvalue, or as an element: the file makes what it hands over;
- a function that returns a record by value: the file makes the room for it;
- the type information of a class that the file derives from: each object of its own holds one;
- a function that only inline functions of torch's headers call: one of them was compiled into the file, and with it the
  places of the fields that it reads;
- a function that registers a kernel: under a dispatch key, of which the file has the number.

A record that torch makes and hands out by reference matters through the last alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from abiscan.mangling import CxxName, SpecialKind, parse
from abiscan.model.cause import Confidence
from abiscan.model.finding import Finding, Severity
from abiscan.model.versions import Windows
from abiscan.releases.layout import LayoutChange, Layouts, change_of, is_moved
from abiscan.releases.layout_table import LayoutTable
from abiscan.releases.type_text import made_for
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule

_LENGTH = r"\d+"
# What refers to a class's vtable: code of the file that sets it in an object, a constructor or destructor.
# Members of torch::Library (torch/library.h) that register a kernel under the key of its TORCH_LIBRARY_IMPL, or of
# `torch::dispatch(key, f)`; and the keys that extensions have kernels for.
_REGISTERING = ("_ZNR5torch7Library5_impl", "_ZNR5torch7Library9_fallback")
_KEY, _KEYS = "c10::DispatchKey", ("CPU", "CUDA")
_TABLES = frozenset({SpecialKind.VTABLE, SpecialKind.VTT, SpecialKind.CONSTRUCTION_VTABLE})


class Use(Struct, frozen=True):
    """How a file shares a record with torch.

    Attributes:
        via: the mangled name that tells.
        how: for a person, a clause about `via`.
        fields: those that the file reads of a record that is torch's; None where the file makes room for a whole one.
        certain: whether the import leaves no other reading.
        handed: of an enumeration, the enumerators that the file is taken to hand over; any may be.
    """

    record: str
    via: str
    how: str
    fields: tuple[str, ...] | None
    certain: bool = True
    handed: tuple[str, ...] = ()


class CompiledAgainst(Struct, frozen=True):
    """What is known of the headers that a file was compiled with.

    Attributes:
        releases: those that it can be, oldest first; none where nothing is known.
        because: who says so, for a person.
    """

    releases: tuple[str, ...]
    because: str


class LayoutSubject(Struct, frozen=True):
    """What the comparison needs of a file.

    Attributes:
        module: as in `RuleSubject`.
        target: the release that it is judged against.
        uses: of `shared_records`.
        readable: mangled name -> text.
    """

    module: str
    target: str
    uses: tuple[Use, ...]
    side: CompiledAgainst
    table: LayoutTable
    readable: Callable[[str], str]


def shared_records(names: Iterable[str], bases: Iterable[str], table: LayoutTable) -> tuple[Use, ...]:
    """The records with more than one layout that a file shares with torch, each by its strongest evidence, sorted.

    Args:
        names: mangled names of its torch imports.
        bases: type information (`_ZTI...`) of the torch classes that it derives from.
    """
    found: dict[str, Use] = {}
    derived = frozenset(bases)
    for use in _uses(names, derived, table):
        known = found.get(use.record)
        if known is None or (known.fields is not None and use.fields is None):
            found[use.record] = use
        elif known.fields is not None and use.fields is not None:
            both = tuple(dict.fromkeys((*known.fields, *use.fields)))
            stronger = known if known.certain else use
            found[use.record] = Use(use.record, stronger.via, stronger.how, both, stronger.certain)
    return tuple(found[record] for record in sorted(found))


def _uses(names: Iterable[str], bases: Collection[str], table: LayoutTable) -> Iterator[Use]:
    for name in names:
        trace = table.trace(name)
        if trace is not None:
            how = "which only inline functions of torch's headers call"
            for record, fields in trace.fields.items():
                yield Use(record, name, how, fields, trace.only_inline)
            if trace.result:
                yield Use(trace.result, name, "which returns one into room that the file makes", None)
        if name.startswith(_REGISTERING) and _KEY in table.changing:
            yield Use(_KEY, name, "which registers a kernel under one", None, handed=_KEYS)
        records = _named_in(name, table)
        if not records:
            continue
        parsed = parse(name)
        if parsed is None:
            continue
        for record in records:
            # A function may be given the key that torch handed to its caller.
            if record == _KEY:
                continue
            how = _how(parsed, record, derived=name in bases)
            if how:
                yield Use(record, name, how, None)


def _named_in(name: str, table: LayoutTable) -> list[str]:
    """The changing records whose unqualified name stands in a mangled one, as <source-name> (Itanium ABI, 5.1.3)."""
    records: list[str] = []
    for length in re.finditer(_LENGTH, name):
        at = length.end()
        if len(length[0]) <= 3:
            records += table.by_last_name.get(name[at : at + int(length[0])], ())
    return list(dict.fromkeys(records))


def _how(name: CxxName, record: str, *, derived: bool) -> str:
    """A clause on how the import of `name` shares the record; empty where it only refers to one."""
    if name.kind is SpecialKind.TYPEINFO:
        return "from which a class of the file derives" if derived and name.qualified == record else ""
    if name.kind in _TABLES:
        return "which the file sets in an object that it makes or destroys" if name.qualified == record else ""
    if name.kind is not SpecialKind.FUNCTION:
        return ""
    # D0 frees an object through its vtable, wherever it was made.
    if "::".join(name.scope) == record and name.variant[:1] in ("C", "D") and name.variant != "D0":
        return "which the file calls on room of its own"
    if any(record in made_for(parameter) for parameter in name.parameters or ()):
        return "which takes one that the file makes"
    return ""


# --- releases ---------------------------------------------------------------------------------------------------


def affected(use: Use, built: str, target: str, table: LayoutTable) -> bool:
    """Whether code that was compiled against one release reads or makes this record otherwise than another has it."""
    one, other = table.number(use.record, built), table.number(use.record, target)
    if not one or not other or one == other:
        return False
    if use.fields is None:
        return True
    # Releases of one number are alike in every byte.
    key = (use.record, use.fields, one, other)
    known = table.compared.get(key)
    if known is None:
        known = is_moved(use.record, use.fields, _layouts(table, built), _layouts(table, target))
        table.compared[key] = known
    return known


def drifted(uses: Iterable[Use], side: CompiledAgainst, target: str, table: LayoutTable) -> dict[str, tuple[str, ...]]:
    """Record -> the releases among those that the file may be compiled against which lay it out otherwise."""
    found = {}
    if target in table.read_from:
        for use in uses:
            releases = tuple(release for release in side.releases if affected(use, release, target, table))
            if releases:
                found[use.record] = releases
    return found


def certainly_drifted(uses: Sequence[Use], side: CompiledAgainst, target: str, table: LayoutTable) -> tuple[str, ...]:
    """The records that the file makes room for and that lie otherwise whichever of the possible releases it was made
    with. Of one that is torch's the file has the code that reads it, and nothing says that it comes to run."""
    found = drifted([use for use in uses if use.fields is None], side, target, table)
    by_record = {use.record: use for use in uses}
    return tuple(
        record
        for record, releases in found.items()
        if len(releases) == len(side.releases) and _is_met(by_record[record], releases, target, table)
    )


def _is_met(use: Use, releases: Iterable[str], target: str, table: LayoutTable) -> bool:
    """Whether the file's use comes to what changed: of an enumeration, whether the enumerators that it is taken to hand
    over moved from each of the releases."""
    return not use.handed or all(
        is_moved(use.record, use.handed, _layouts(table, release), _layouts(table, target)) for release in releases
    )


def _layouts(table: LayoutTable, release: str) -> Layouts:
    return lambda record: table.layout(record, release)


# --- the finding ------------------------------------------------------------------------------------------------


def find_layout_drift(rule: Rule, subject: LayoutSubject) -> tuple[Finding, ...]:
    """One finding for each shared record that lies otherwise in the target, sorted by record."""
    found = drifted(subject.uses, subject.side, subject.target, subject.table)
    findings = []
    for use in subject.uses:
        releases = found.get(use.record)
        if releases is None:
            continue
        change = change_of(use.record, _layouts(subject.table, releases[-1]), _layouts(subject.table, subject.target))
        if change is not None:
            findings.append(_finding(rule, subject, use, releases, change))
    return tuple(findings)


def _finding(rule: Rule, subject: LayoutSubject, use: Use, releases: tuple[str, ...], change: LayoutChange) -> Finding:
    certain = len(releases) == len(subject.side.releases)
    makes = use.fields is None and _is_met(use, releases, subject.target, subject.table)
    others = Windows([(releases[0], releases[-1])]).text()
    # A file that may have been compiled for the target itself is, mostly.
    possible = subject.target in subject.side.releases
    name = _short(subject.readable(use.via))
    reads = f", and reads {_listed(use.fields)}" if use.fields is not None else ""
    side = f"was compiled for torch {others}" if certain else f"may have been compiled for torch {others}, or not"
    if change.old.is_enumeration:
        detail = _numbers(change, use.handed, releases[-1], subject.target)
    else:
        detail = _sizes(change, releases[-1], subject.target) + _change(change)
    detail += f"; the file imports `{name}`, {use.how}{reads}; it {side} ({subject.side.because})"
    fields = {"name": use.record, "target": f"torch {subject.target}", "detail": detail}
    return make_finding(
        rule,
        fields,
        (subject.module, use.record),
        severity=Severity.NOTE if possible else Severity.ERROR if certain and makes else Severity.WARNING,
        confidence=Confidence.HIGH if certain and use.certain else Confidence.MEDIUM,
        symbol=use.via,
        symbols=(use.via,),
    )


def _numbers(change: LayoutChange, handed: Sequence[str], old: str, new: str) -> str:
    """What one of the enumerators is in both: of those that are handed over, where one moved, else of any."""
    moved = [name for name, place in change.old_places.items() if change.new_places.get(name) != place]
    name = next((each for each in handed if each in moved), moved[0] if moved else "")
    now = change.new_places.get(name)
    shown = "no longer there" if now is None else str(now)
    rest = f"; {len(moved) - 1} more are not what they were" if len(moved) > 1 else ""
    return (
        f"has other numbers: `{name}` is {change.old_places.get(name)} in torch {old} and {shown} in torch {new}{rest}"
    )


def _sizes(change: LayoutChange, old: str, new: str) -> str:
    if change.old.size == change.new.size:
        return f"has {change.old.size} bytes in torch {old} and in torch {new}, otherwise divided"
    return f"has {change.old.size} bytes in torch {old} and {change.new.size} in torch {new}"


def _change(change: LayoutChange) -> str:
    """What moved first, and the record inside that made it move."""
    text = ""
    if change.moved is not None:
        place = change.new_places.get(change.moved)
        at = _byte(change.old_places.get(change.moved, 0))
        text = f" (`{change.moved}`, at {at} before, {'is gone' if place is None else f'is at {_byte(place)}'})"
    elif change.came is not None:
        text = f" (`{change.came}` came at {_byte(change.new_places.get(change.came, 0))})"
    if change.inner is not None:
        inner = change.inner
        size = "" if inner.old.size == inner.new.size else f", {inner.old.size} bytes before and {inner.new.size} now"
        text += f", since it holds `{inner.record}`{size}"
    return text


def _short(text: str) -> str:
    """A function without its parameters."""
    return text.partition("(")[0] if text.endswith((")", "const", "&")) else text


def _byte(bits: int) -> str:
    return f"byte {bits // 8}" if bits % 8 == 0 else f"bit {bits % 8} of byte {bits // 8}"


def _listed(fields: Sequence[str]) -> str:
    shown = [f"`{field}`" for field in fields[:3]]
    return ", ".join(shown) + (", ..." if len(fields) > len(shown) else "")
