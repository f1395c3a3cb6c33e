"""`vtable-drift`: a class of the file derives from a torch class whose vtable differs in the target.

Three checks, strongest evidence first (docs/explanation/silent-drift.md):

- Inherited functions are in other slots of the file's vtable than in the target's. Then the file was compiled with
  another declaration, whatever build it was made for.
- The derived vtable is smaller than that of the base in the target. It has at least the slots of its base.
- The vtables of the base differ between the target and the build that the file was made for, if that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.mangling import parse
from abiscan.model.cause import Confidence
from abiscan.model.facts import DerivedClass
from abiscan.model.finding import Finding
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule

# One word of a vtable, see `abiscan.releases`.
Words = Sequence[str | int | None]
_WORD = 8
# The slot of a pure virtual function (Itanium C++ ABI, section 3.2.6).
_PURE = "__cxa_pure_virtual"
# Words before the first function: offset to top and type information (Itanium C++ ABI, section 2.5.2).
_PREFIX = 2
# Maximum number of new and of removed functions in a message.
_SHOWN = 4


class VtableChange(Struct, frozen=True):
    """Differences between two vtables of a base.

    Attributes:
        added, went: mangled names of virtual functions that only the target, or only the other build has.
        reordered: the same functions are in other slots.
    """

    old_size: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    reordered: bool


def compare(old: Words, new: Words) -> VtableChange | None:
    """Compare two vtables of one class; None if all slots have the same functions. Functions that differ only in the
    std::string ABI are the same. A slot with an unknown function (no symbol, or not emitted) counts as unchanged."""
    before, after = _entities(old), _entities(new)
    slots = zip(before[_PREFIX:], after[_PREFIX:], strict=False)
    if len(old) == len(new) and all(a == b for a, b in slots if a is not None and b is not None):
        return None
    return VtableChange(
        old_size=len(old) * _WORD,
        added=_only(new, after, before),
        removed=_only(old, before, after),
        reordered=sorted(filter(None, before)) == sorted(filter(None, after)),
    )


def _entities(words: Words) -> list[str | None]:
    entities: list[str | None] = []
    for word in words:
        name = parse(word) if isinstance(word, str) else None
        entities.append(name.canonical if name is not None else word if isinstance(word, str) else None)
    return entities


def _only(words: Words, entities: list[str | None], other: list[str | None]) -> tuple[str, ...]:
    return tuple(
        word
        for word, entity in zip(words, entities, strict=True)
        if isinstance(word, str) and entity not in other and not word.startswith("_ZTI")
    )


class DriftSubject(Struct, frozen=True):
    """The facts about a file and its target for the comparison.

    Attributes:
        derived: from `Binary.derived_classes`.
        module: see `RuleSubject`.
        target: the target torch, as text (`torch 2.13.0`).
        in_target: class (`N5torch8autograd4NodeE`) -> words of its vtable; None if unknown.
        built_for: the release that the file was made for, if known. `in_built_for`: vtables there.
        releases: class -> (release, words of its vtable) of every release that exports it, oldest first.
        readable: mangled name -> short text.
    """

    derived: tuple[DerivedClass, ...]
    module: str
    target: str
    in_target: Callable[[str], Words | None]
    built_for: str | None
    in_built_for: Callable[[str], Words | None]
    releases: Callable[[str], Sequence[tuple[str, Words]]]
    readable: Callable[[str], str]


def find_drift(rule: Rule, subject: DriftSubject) -> tuple[Finding, ...]:
    """One finding for each changed base class, sorted."""
    bases: dict[str, list[DerivedClass]] = {}
    for derived in subject.derived:
        bases.setdefault(derived.base, []).append(derived)
    findings = [_look_at(rule, base, classes, subject) for base, classes in sorted(bases.items())]
    return tuple(finding for finding in findings if finding is not None)


def _look_at(rule: Rule, base: str, classes: list[DerivedClass], subject: DriftSubject) -> Finding | None:
    code = base.removeprefix("_ZTI")
    new = subject.in_target(code)
    if new is None:
        return None
    releases = subject.releases(code)
    own_functions = functions_of(words for _release, words in releases)
    own_tables = [each.slots for each in classes if each.slots is not None]
    moved = any(not is_laid_out_as(table, new, own_functions) for table in own_tables)
    old_name, old = subject.built_for, subject.in_built_for(code) if subject.built_for is not None else None
    if old is None and moved:
        # The file's vtables show which releases had the layout that it was compiled with.
        same = [each for each in releases if all(is_laid_out_as(t, each[1], own_functions) for t in own_tables)]
        newest = [each for each in same if len(each[1]) == max(len(words) for _release, words in same)]
        if newest:
            old = newest[-1][1]
            old_name = newest[0][0] if newest[0][0] == newest[-1][0] else f"{newest[0][0]}-{newest[-1][0]}"
    change = compare(old, new) if old is not None else None
    own = min((each.vtable_size for each in classes if each.vtable_size is not None), default=None)
    too_small = own is not None and own < len(new) * _WORD
    # A vtable that is read from relocations only has no known end, so that it looks too short is no evidence.
    proved = any(first_moved(table, new, own_functions) is not None for table in own_tables)
    if change is None and not too_small and not proved:
        return None
    parts = [f"{len(new) * _WORD} bytes in {subject.target}"]
    if change is not None:
        parts[0] += f" and {change.old_size} in torch {old_name}"
        parts += _changes(change, subject)
    if too_small:
        parts.insert(1, f"the vtable of the class in the file has {own} bytes")
    for table in own_tables:
        at = first_moved(table, new, own_functions)
        if at is not None:
            parts.append(_moved(at, table, new, subject))
            break
    fields = {
        "name": subject.readable(base).removeprefix("typeinfo for "),
        "target": subject.target,
        "detail": "; ".join(parts),
    }
    return replace(
        make_finding(rule, fields, (subject.module, base)),
        confidence=Confidence.HIGH if too_small or moved else rule.confidence,
        symbol=base,
        symbols=tuple(sorted({base, *(each.name for each in classes if each.name is not None)})),
    )


def functions_of(tables: Iterable[Words]) -> frozenset[str]:
    """The virtual functions, as entities, of a base in any release."""
    distinct = dict.fromkeys(map(tuple, tables))  # most releases have the same table as the one before
    names = {entity for words in distinct for entity in _entities(words)[_PREFIX:] if entity is not None}
    return frozenset(names - {_PURE})


def is_laid_out_as(table: Words, base: Words, functions: frozenset[str]) -> bool:
    """Whether the vtable of a derived class may begin with this vtable of its base.

    Args:
        table: of the derived class; may have too many words at its end.
        functions: of the base (`functions_of`); only these are compared. Overrides and functions without a symbol may
            be in any slot.
    """
    return len(table) >= len(base) and first_moved(table, base, functions) is None


def first_moved(table: Words, base: Words, functions: frozenset[str]) -> int | None:
    """The first slot with an inherited function that the base has in another slot, or no longer has."""
    entities, expected = _entities(table), _entities(base)
    for at in range(_PREFIX, len(table)):
        entity = entities[at]
        if entity is None or entity not in functions:
            continue
        if at >= len(expected) or (expected[at] is not None and expected[at] != entity):
            return at
    return None


def _moved(at: int, table: Words, new: Words, subject: DriftSubject) -> str:
    """The slots of a function in both vtables: code of torch calls by slot number."""
    name = str(table[at])
    expected = _entities(new)
    entity = _entities((name,))[0]
    there = f"in slot {expected.index(entity) - _PREFIX}" if entity in expected else "in no slot"
    return f"`{_short(name, subject)}` is in slot {at - _PREFIX} of the file's vtable and {there} of the target's"


def _short(name: str, subject: DriftSubject) -> str:
    """A function without its parameters."""
    return subject.readable(name).partition("(")[0]


def _changes(change: VtableChange, subject: DriftSubject) -> list[str]:
    """The new and the removed virtual functions."""
    changes = []
    for names, verb in ((change.added, "added"), (change.removed, "removed")):
        if names:
            shown = ", ".join(sorted({_short(name, subject) for name in names})[:_SHOWN])
            more = ", ..." if len(names) > _SHOWN else ""
            what = "virtual function" if len(names) == 1 else "virtual functions"
            changes.append(f"{len(names)} {what} {verb} ({shown}{more})")
    if change.reordered:
        changes.append("the order of the functions changed")
    return changes
