"""How far files or sources are from torch's stable ABI, and what is to be written instead of what."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.finding import Location


class CounterpartKind(enum.StrEnum):
    """What the stable ABI has in place of a name."""

    STABLE = "stable"
    """`torch::stable`."""
    HEADERONLY = "headeronly"
    """`torch::headeronly`: no function of torch is called."""
    SHIM = "shim"
    """A C function (`aoti_torch_*`, `torch_*`)."""
    PLAIN = "plain"
    """Nothing of torch is needed for it."""
    GOES = "goes"
    """Inline functions of torch's headers use it; it goes with what they belong to."""
    NONE = "none"
    """There is no counterpart."""
    UNKNOWN = "unknown"
    """The table has nothing on it."""


class Replacement(Struct, frozen=True):
    """Names of one counterpart.

    Attributes:
        use: what to write, or to do where there is none.
        header: where that is (`torch/csrc/stable/ops.h`); empty for none.
        since: the first release whose headers have it; empty where nothing of torch is needed.
        names: what it replaces, sorted: mangled imports of a file, words of a source.
        files: the files with any of them, sorted.
        sites: where they are used; `total`: how many places there are, of which `sites` may be a part.
    """

    kind: CounterpartKind
    use: str
    header: str
    since: str
    names: tuple[str, ...]
    files: tuple[str, ...]
    sites: tuple[Location, ...]
    total: int


class PlanFile(Struct, frozen=True):
    """One file.

    Attributes:
        stable: how many stable names it uses; rewrite: names to be written otherwise; goes: names that go with them;
            none: of `rewrite`, those without a counterpart.
    """

    path: str
    stable: int
    rewrite: int
    goes: int
    none: int


class MigrationPlan(Struct, frozen=True):
    """The way of files or sources to the stable ABI.

    Attributes:
        input: as the user wrote it.
        files: those that use torch, sorted.
        replacements: most names first; those that go by themselves last.
        stable: stable names that are used (C shims that are imported; in sources, torch::stable and headeronly too),
            with the first release of each that is a C shim, empty for the others.
        readable: mangled name -> its text.
        minimum: the oldest torch that has all counterparts and all shims; None where nothing needs any.
        errors: what could not be read, in sentences.
    """

    version: str
    input: str
    files: tuple[PlanFile, ...]
    replacements: tuple[Replacement, ...]
    stable: dict[str, str]
    readable: dict[str, str]
    minimum: str | None
    errors: tuple[str, ...] = ()

    @property
    def done(self) -> float | None:
        """The part of what is used of torch that is stable: distinct stable names among these and those that must be
        rewritten. None where nothing of torch is used."""
        todo = sum(len(r.names) for r in self.replacements if r.kind is not CounterpartKind.GOES)
        total = len(self.stable) + todo
        return len(self.stable) / total if total else None
