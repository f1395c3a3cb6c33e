"""`vtable-drift`: a class of the file derives from a torch class whose vtable differs in the target.

Two questions are asked, from the stronger evidence down:

- Is the derived class's own vtable, as the file exports it, smaller than the base's in the target? A derived class has
  at least its base's slots, so the file was compiled with another declaration: no build needs to be known.
- Do the vtables of the base differ between the build that the file was made for, where that is known, and the target?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from abiscan.elf.typeinfo import DerivedClass
from abiscan.fingerprint import fingerprint
from abiscan.model import Confidence, Finding
from abiscan.names import parse
from abiscan.rules.schema import Rule
from abiscan.value import value

# A word of a vtable, as `abiscan.libtorch.releases` has it.
Words = Sequence[str | int | None]
_WORD = 8
# Words before the first function: offset to top and type information (Itanium C++ ABI, section 2.5.2).
_PREFIX = 2
# Functions named in a message, of those that came and of those that went.
_SHOWN = 2


@value
class VtableChange:
    """How a base's vtable differs.

    Attributes:
        came, went: mangled names of virtual functions that only the target, only the other build has.
        reordered: the same functions, in other slots.
    """

    old_size: int
    new_size: int
    came: tuple[str, ...]
    went: tuple[str, ...]
    reordered: bool


def compare(old: Words, new: Words) -> VtableChange | None:
    """What changed between two vtables of one class; None where each slot is the same function.

    A function that only has another std::string in its name is the same. A slot whose function is not known (no symbol,
    or never emitted) is taken as unchanged.
    """
    before, after = _entities(old), _entities(new)
    slots = zip(before[_PREFIX:], after[_PREFIX:], strict=False)
    if len(old) == len(new) and all(a == b for a, b in slots if a is not None and b is not None):
        return None
    return VtableChange(
        old_size=len(old) * _WORD,
        new_size=len(new) * _WORD,
        came=_only(new, after, before),
        went=_only(old, before, after),
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


@value
class DriftSubject:
    """What the comparison needs of a file and its target.

    Attributes:
        derived: of `elf.typeinfo.derived_classes`.
        module: as in `RuleSubject`.
        target: the target torch, as a person would write it (`torch 2.13.0`).
        in_target: class (`N5torch8autograd4NodeE`) -> words of its vtable; None where nobody can say.
        built_for: the release that the file was made for, if it is known; `in_built_for`: vtables there.
        readable: mangled name -> text, as short as it says what is meant.
    """

    derived: tuple[DerivedClass, ...]
    module: str
    target: str
    in_target: Callable[[str], Words | None]
    built_for: str | None
    in_built_for: Callable[[str], Words | None]
    readable: Callable[[str], str]


def find_drift(rule: Rule, subject: DriftSubject) -> tuple[Finding, ...]:
    """One finding for each base class that drifted, sorted."""
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
    old = subject.in_built_for(code) if subject.built_for is not None else None
    change = compare(old, new) if old is not None else None
    own = min((each.vtable_size for each in classes if each.vtable_size is not None), default=None)
    too_small = own is not None and own < len(new) * _WORD
    if change is None and not too_small:
        return None
    parts = [f"{len(new) * _WORD} bytes in {subject.target}"]
    if change is not None:
        parts[0] += f", {change.old_size} in torch {subject.built_for}"
        parts += _changes(change, subject)
    if too_small:
        parts.insert(1, f"the class derived from it was compiled with {own}")
    fields = {
        "name": subject.readable(base).removeprefix("typeinfo for "),
        "target": subject.target,
        "module": subject.module,
        "detail": "; ".join(parts),
    }
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        confidence=Confidence.HIGH if too_small else rule.confidence,
        symbol=base,
        message=rule.message.format_map(fields),
        fix=rule.fix.format_map(fields),
        fingerprint=fingerprint(rule.id, subject.module, base),
        symbols=tuple(sorted({base, *(each.name for each in classes if each.name is not None)})),
    )


def _changes(change: VtableChange, subject: DriftSubject) -> list[str]:
    """Which virtual functions came and went."""
    told = []
    for names, verb in ((change.came, "came"), (change.went, "went")):
        if names:
            shown = ", ".join(sorted(subject.readable(name) for name in names)[:_SHOWN])
            told.append(f"{len(names)} virtual functions {verb} ({shown}{', ...' if len(names) > _SHOWN else ''})")
    if change.reordered:
        told.append("the same functions stand in other slots")
    return told
