"""Result of `diff`: the changes between two files, wheels or packages."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.compatibility import Aspect, Compared


class Effect(enum.StrEnum):
    """Effect of a change on compatibility."""

    LOST = "lost"
    GAINED = "gained"
    CHANGED = "changed"


class Change(Struct, frozen=True):
    """One change, a line of the report.

    Attributes:
        regresses: whether the new input is incompatible with something that the old one was compatible with.
        text: sentence for the text report, without a full stop.
        files: affected shared objects, by their path in the package; empty for the whole package.
        removed, added: removed and added items, verbatim (mangled names, requirements, builds), sorted.
    """

    aspect: Aspect
    effect: Effect
    text: str
    regresses: bool = False
    files: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


class DiffReport(Struct, frozen=True):
    """All changes from `old` to `new`.

    Attributes:
        changes: the most important first.
        names: mangled name of each changed import or export -> its demangled text, if a demangler accepts it.
        errors: read errors, as sentences.
    """

    version: str
    old: Compared
    new: Compared
    changes: tuple[Change, ...]
    names: dict[str, str]
    errors: tuple[str, ...] = ()

    @property
    def regressed(self) -> bool:
        """Whether the new input is compatible with less than the old one."""
        return any(change.regresses for change in self.changes)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Reasons why the answer is incomplete; empty if it is complete."""
        return tuple(
            dict.fromkeys((*self.errors, *self.old.compatibility.undecided, *self.new.compatibility.undecided))
        )
