"""`layout-drift`: a class shared with torch has another layout in the target (docs/explanation/layouts.md).

The shared classes are detected from imports (`shared_records`):

- a constructor, a destructor or the vtable of a class: the file creates or destroys objects in its own memory;
- a function with a parameter by value, by rvalue reference or as an element: the file creates the argument;
- a function that returns a class by value: the file allocates the result;
- the type information of a base class: each derived object contains one;
- a function that only inline functions of torch headers call: one of them was compiled into the file, with the offsets
  of the fields that it reads;
- debug information: a class of the file contains a shared class by value, or derives from it;
- a function that registers a kernel: the file contains the number of the dispatch key.

Classes that torch creates and returns by reference count only for inline functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.mangling import CxxName, SpecialKind, parse
from abiscan.model import versions
from abiscan.model.cause import Confidence
from abiscan.model.finding import Finding, Severity
from abiscan.model.versions import ReleaseRanges
from abiscan.releases.layout import LayoutChange, Layouts, change_of, is_moved
from abiscan.releases.layout_table import LayoutTable
from abiscan.releases.type_text import made_for
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule

_LENGTH = r"\d+"
# References to a vtable: code that creates or destroys objects. Members of torch::Library (torch/library.h) that
# register a kernel for the key of TORCH_LIBRARY_IMPL or `torch::dispatch(key, f)`, and the keys that extensions use.
_REGISTERING = ("_ZNR5torch7Library5_impl", "_ZNR5torch7Library9_fallback")
KEY, _KEYS = "c10::DispatchKey", ("CPU", "CUDA")
_TABLES = frozenset({SpecialKind.VTABLE, SpecialKind.VTT, SpecialKind.CONSTRUCTION_VTABLE})


class Numbers(Struct, frozen=True):
    """Enumerators that code passes, as the numbers that were compiled into it.

    Attributes:
        complete: whether all of them are known.
    """

    known: tuple[int, ...]
    complete: bool


def unread() -> Numbers:
    """The result if the code is not read."""
    return Numbers((), complete=False)


class Use(Struct, frozen=True):
    """How a file shares a class with torch.

    Attributes:
        via: mangled name of the evidence; empty for debug information.
        how: a clause about `via`.
        fields: fields that the file reads of an object of torch; None if the file allocates objects.
        certain: whether the import has no other explanation.
        numbers: for an enumeration, the enumerators in the code. Read only when needed, as this takes milliseconds.
    """

    record: str
    via: str
    how: str
    fields: tuple[str, ...] | None
    certain: bool = True
    numbers: Callable[[], Numbers] | None = None


class CompiledAgainst(Struct, frozen=True):
    """What is known about the headers that a file was compiled with.

    Attributes:
        releases: possible releases, oldest first; empty if unknown.
        because: source of this, as text.
    """

    releases: tuple[str, ...]
    because: str


class LayoutSubject(Struct, frozen=True):
    """The facts about a file for the comparison.

    Attributes:
        module: see `RuleSubject`.
        target: the release that it is checked against.
        uses: result of `shared_records`.
        readable: demangles a name.
    """

    module: str
    target: str
    uses: tuple[Use, ...]
    side: CompiledAgainst
    table: LayoutTable
    readable: Callable[[str], str]


def shared_records(
    names: Iterable[str], bases: Iterable[str], table: LayoutTable, keys: Callable[[], Numbers] = unread
) -> tuple[Use, ...]:
    """Find the classes with several layouts that a file shares with torch, each with its strongest evidence, sorted.

    Args:
        names: mangled names of its torch imports.
        bases: type information (`_ZTI...`) of its torch base classes.
        keys: dispatch keys for which its code registers kernels.
    """
    found: dict[str, Use] = {}
    derived = frozenset(bases)
    for use in _uses(names, derived, table, keys):
        known = found.get(use.record)
        if known is None or (known.fields is not None and use.fields is None):
            found[use.record] = use
        elif known.fields is not None and use.fields is not None:
            both = tuple(dict.fromkeys((*known.fields, *use.fields)))
            stronger = known if known.certain else use
            found[use.record] = Use(use.record, stronger.via, stronger.how, both, stronger.certain)
    return tuple(found[record] for record in sorted(found))


def with_held(uses: Sequence[Use], held: Mapping[str, str]) -> tuple[Use, ...]:
    """Add the classes that classes of the file contain by value; sorted by class.

    Args:
        held: torch class -> containing class, from `Binary.record_holders`.
    """
    found = {use.record: use for use in uses}
    for record, holder in held.items():
        # A member of an enumeration type may have any number.
        if record != KEY and (record not in found or found[record].fields is not None):
            how = f"the file's class `{holder}` contains an object of this class (source: debug information)"
            found[record] = Use(record, "", how, None)
    return tuple(found[record] for record in sorted(found))


def _uses(
    names: Iterable[str], bases: Collection[str], table: LayoutTable, keys: Callable[[], Numbers]
) -> Iterator[Use]:
    for name in names:
        trace = table.trace(name)
        if trace is not None:
            how = "which only inline functions of torch's headers call"
            for record, fields in trace.fields.items():
                yield Use(record, name, how, fields, trace.only_inline)
            if trace.result:
                yield Use(
                    trace.result,
                    name,
                    "which returns an object of this class into memory that the file allocates",
                    None,
                )
        if name.startswith(_REGISTERING) and KEY in table.changing:
            yield Use(KEY, name, "which registers a kernel for a dispatch key", None, numbers=keys)
        records = _named_in(name, table)
        if not records:
            continue
        parsed = parse(name)
        if parsed is None:
            continue
        for record in records:
            # A function may pass on the key that it got from torch.
            if record == KEY:
                continue
            how = _how(parsed, record, derived=name in bases)
            if how:
                yield Use(record, name, how, None)


def _named_in(name: str, table: LayoutTable) -> list[str]:
    """The classes with several layouts whose unqualified name is in a mangled name, as <source-name> (Itanium ABI,
    5.1.3)."""
    records: list[str] = []
    for length in re.finditer(_LENGTH, name):
        at = length.end()
        if len(length[0]) <= 3:
            records += table.by_last_name.get(name[at : at + int(length[0])], ())
    return list(dict.fromkeys(records))


def _how(name: CxxName, record: str, *, derived: bool) -> str:
    """A clause on how the import of `name` shares the class; empty if it only refers to one."""
    if name.kind is SpecialKind.TYPEINFO:
        return "the base of a class in the file" if derived and name.qualified == record else ""
    if name.kind in _TABLES:
        return "which the file sets in an object that it constructs or destroys" if name.qualified == record else ""
    if name.kind is not SpecialKind.FUNCTION:
        return ""
    # D0 frees an object through its vtable, wherever it was created.
    if "::".join(name.scope) == record and name.variant[:1] in ("C", "D") and name.variant != "D0":
        return "which the file calls on memory that it allocates"
    if any(record in made_for(parameter) for parameter in name.parameters or ()):
        return "which takes an object of this class that the file constructs"
    return ""


# --- releases ---------------------------------------------------------------------------------------------------


def affected(use: Use, built: str, target: str, table: LayoutTable) -> bool:
    """Whether code compiled against one release uses another layout of this class than a second release."""
    one, other = table.number(use.record, built), table.number(use.record, target)
    if not one or not other or one == other:
        return False
    if use.numbers is not None:
        return not use.numbers().complete or bool(_moved(use, built, target, table))
    return use.fields is None or _is_moved(use.record, use.fields, built, target, table)


def _is_moved(record: str, fields: tuple[str, ...], built: str, target: str, table: LayoutTable) -> bool:
    """`is_moved` between two releases that have the record. Releases with one number have the same layouts."""
    key = (record, fields, table.number(record, built), table.number(record, target))
    known = table.compared.get(key)
    if known is None:
        known = table.compared[key] = is_moved(record, fields, _layouts(table, built), _layouts(table, target))
    return known


def drifted(uses: Iterable[Use], side: CompiledAgainst, target: str, table: LayoutTable) -> dict[str, tuple[str, ...]]:
    """Class -> the possible releases of the file's headers with another layout than the target."""
    found = {}
    if target in table.read_from:
        for use in uses:
            releases = tuple(release for release in side.releases if affected(use, release, target, table))
            if releases:
                found[use.record] = releases
    return found


def certainly_drifted(uses: Sequence[Use], side: CompiledAgainst, target: str, table: LayoutTable) -> tuple[str, ...]:
    """Classes that the file allocates and whose layout differs from the target in every possible release of its
    headers. For objects of torch, the file contains code that reads them, but this code may never run."""
    found = drifted([use for use in uses if use.fields is None], side, target, table)
    by_record = {use.record: use for use in uses}
    return tuple(
        record
        for record, releases in found.items()
        if len(releases) == len(side.releases) and _is_met(by_record[record], releases, target, table)
    )


def _is_met(use: Use, releases: Iterable[str], target: str, table: LayoutTable) -> bool:
    """Whether a change affects the use. For an enumeration: whether in each release an enumerator moved that the file
    passes, or may pass if its code is not fully known."""
    return use.numbers is None or all(
        _moved(use, release, target, table) or _is_moved(use.record, _KEYS, release, target, table)
        for release in releases
    )


def _moved(use: Use, built: str, target: str, table: LayoutTable) -> tuple[str, ...]:
    """The enumerators in the file's code, by their names in one release, that have other numbers in another release or
    are gone."""
    layout = table.layout(use.record, built)
    if use.numbers is None or layout is None:
        return ()
    # A later enumerator with the same number is an alias or marks the end of a group.
    names = {field.offset: field.name for field in reversed(layout.fields)}
    handed = [names[number] for number in use.numbers().known if number in names]
    return tuple(name for name in handed if _is_moved(use.record, (name,), built, target, table))


def _layouts(table: LayoutTable, release: str) -> Layouts:
    return lambda record: table.layout(record, release)


def not_compared(side: CompiledAgainst, target: str, table: LayoutTable) -> tuple[str, ...]:
    """The releases with unknown layouts that are needed; none if the file is known to be made for the minor release of
    the target."""
    unknown = tuple(each for each in dict.fromkeys((*side.releases, target)) if not table.read_from.get(each))
    minor = versions.minor(target)
    return unknown if any(versions.minor(release) != minor for release in side.releases) else ()


# --- finding ----------------------------------------------------------------------------------------------------


def find_layout_drift(rule: Rule, subject: LayoutSubject) -> tuple[Finding, ...]:
    """One finding for each shared class with another layout in the target, sorted by class; one that states that the
    layouts of a release are unknown."""
    found = drifted(subject.uses, subject.side, subject.target, subject.table)
    findings = []
    for use in subject.uses:
        releases = found.get(use.record)
        if releases is None:
            continue
        change = change_of(use.record, _layouts(subject.table, releases[-1]), _layouts(subject.table, subject.target))
        if change is not None:
            findings.append(_finding(rule, subject, use, releases, change))
    unknown = not_compared(subject.side, subject.target, subject.table)
    if unknown and subject.uses:
        findings.append(_unknown(rule, subject, unknown))
    return tuple(findings)


def _unknown(rule: Rule, subject: LayoutSubject, releases: Sequence[str]) -> Finding:
    first, *others = subject.uses
    known = dict.fromkeys((*subject.table.releases, *releases))
    named = ReleaseRanges.of_known(known, releases.__contains__).text(last=", ")
    shared = f"and {len(others)} more class{'es' if len(others) > 1 else ''} are shared" if others else "is shared"
    were = "were" if others else "was"
    # A file that may be compiled for the target usually is.
    possible = subject.target in subject.side.releases
    detail = f"{shared} with torch and {were} not checked: the layouts of torch {named} are unknown"
    fields = {"name": first.record, "target": f"torch {subject.target}", "detail": detail}
    fix = f"Test the extension on torch {subject.target}: a changed layout causes no undefined symbol"
    if subject.table.headers is subject.table:  # layouts of other architectures are unknown
        fix += ". To add the layouts of a release, run `abiscan releases add` (needs Clang 16 or later)"
    return replace(
        make_finding(rule, fields, (subject.module, "not compared")),
        severity=Severity.NOTE if possible else Severity.WARNING,
        symbol=first.via or None,
        symbols=tuple(dict.fromkeys(use.via for use in subject.uses if use.via)),
        fix=fix,
    )


def _finding(rule: Rule, subject: LayoutSubject, use: Use, releases: tuple[str, ...], change: LayoutChange) -> Finding:
    certain = len(releases) == len(subject.side.releases)
    makes = use.fields is None and _is_met(use, releases, subject.target, subject.table)
    moved = _moved(use, releases[-1], subject.target, subject.table)
    others = ReleaseRanges([(releases[0], releases[-1])]).text()
    # A file that may be compiled for the target usually is.
    possible = subject.target in subject.side.releases
    name = _short(subject.readable(use.via))
    reads = f", and reads {_listed(use.fields)}" if use.fields is not None else ""
    side = f"was compiled for torch {others}" if certain else f"may have been compiled for torch {others}"
    old, new = releases[-1], subject.target
    if change.old.is_enumeration:
        detail = _numbers(change, moved, old, new)
    else:
        detail = _sizes(change, old, new) + _change(change, old, new)
    unknown = "; the key is unknown" if use.numbers is not None and not moved else ""
    imports = f"the file imports `{name}`, " if use.via else ""
    detail += f"; {imports}{use.how}{reads}{unknown}; the file {side} ({subject.side.because})"
    fields = {"name": use.record, "target": f"torch {subject.target}", "detail": detail}
    return replace(
        make_finding(rule, fields, (subject.module, use.record)),
        severity=Severity.NOTE if possible else Severity.ERROR if certain and makes else Severity.WARNING,
        confidence=Confidence.HIGH if certain and use.certain and not unknown else Confidence.MEDIUM,
        symbol=use.via or None,
        symbols=(use.via,) if use.via else (),
    )


def _numbers(change: LayoutChange, handed: Sequence[str], old: str, new: str) -> str:
    """The meaning in the other release of the enumerators that the file passes. If none is known: one that extensions
    pass and that moved, else any."""
    places, later = change.old_places, change.new_places
    if handed:
        means = {number: f"`{name}`" for name, number in reversed(later.items())}
        each = [f"{places[n]}, `{n}` in torch {old}, is {means.get(places[n], 'none')} in torch {new}" for n in handed]
        return f"has other values: {'; '.join(each)}"
    moved = [name for name, place in places.items() if later.get(name) != place]
    name = next((each for each in _KEYS if each in moved), moved[0] if moved else "")
    now = later.get(name)
    shown = "absent" if now is None else str(now)
    rest = f"; {len(moved) - 1} more changed" if len(moved) > 1 else ""
    return f"has other values: `{name}` is {places.get(name)} in torch {old} and {shown} in torch {new}{rest}"


def _sizes(change: LayoutChange, old: str, new: str) -> str:
    if change.old.size == change.new.size:
        return f"has {change.old.size} bytes in torch {old} and torch {new}, but other fields"
    return f"has {change.old.size} bytes in torch {old} and {change.new.size} in torch {new}"


def _change(change: LayoutChange, old: str, new: str) -> str:
    """The first difference between two releases, of which either may be the later, and the nested class that caused
    it."""
    text = ""
    if change.moved is not None:
        place = change.new_places.get(change.moved)
        at = _byte(change.old_places.get(change.moved, 0))
        there = "absent" if place is None else _byte(place)
        text = f" (`{change.moved}`: {at} in torch {old}, {there} in torch {new})"
    elif change.came is not None:
        text = f" (`{change.came}`: only in torch {new}, at {_byte(change.new_places.get(change.came, 0))})"
    if change.inner is not None:
        inner = change.inner
        size = "" if inner.old.size == inner.new.size else f" ({inner.old.size} and {inner.new.size} bytes)"
        text += f", because it contains `{inner.record}`{size}"
    return text


def _short(text: str) -> str:
    """A function without its parameters."""
    return text.partition("(")[0] if text.endswith((")", "const", "&")) else text


def _byte(bits: int) -> str:
    return f"byte {bits // 8}" if bits % 8 == 0 else f"bit {bits % 8} of byte {bits // 8}"


def _listed(fields: Sequence[str]) -> str:
    shown = [f"`{field}`" for field in fields[:3]]
    return ", ".join(shown) + (", ..." if len(fields) > len(shown) else "")
