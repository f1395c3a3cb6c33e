"""What changed between two builds of one thing."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.compatibility import Aspect, Compared


class Effect(enum.StrEnum):
    """What became of it."""

    LOST = "lost"
    GAINED = "gained"
    CHANGED = "changed"


class Change(Struct, frozen=True):
    """One change: a line of the report.

    Attributes:
        regresses: it no longer works on something that the old one worked on.
        text: a sentence without a full stop, for a person.
        files: the shared objects that it is about, by their place in the package; empty for all of it.
        removed, added: what is gone and what is new, each as it stands (mangled names, requirements, builds), sorted.
    """

    aspect: Aspect
    effect: Effect
    text: str
    regresses: bool = False
    files: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


class DiffReport(Struct, frozen=True):
    """Everything that changed from `old` to `new`.

    Attributes:
        changes: the most important first.
        names: mangled name of the changes' imports and exports -> its text, where a demangler reads it.
        errors: what could not be read, in sentences.
    """

    version: str
    old: Compared
    new: Compared
    changes: tuple[Change, ...]
    names: dict[str, str]
    errors: tuple[str, ...] = ()

    @property
    def regressed(self) -> bool:
        """Whether the new one works on less than the old one."""
        return any(change.regresses for change in self.changes)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Why the answer is not whole; empty where it is."""
        return tuple(
            dict.fromkeys((*self.errors, *self.old.compatibility.undecided, *self.new.compatibility.undecided))
        )
