"""Result of `migrate`: the unstable names that files or sources use, and their counterparts in torch's stable ABI."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.finding import Location


class CounterpartKind(enum.StrEnum):
    """Kind of counterpart that the stable ABI has for a name."""

    STABLE = "stable"
    """`torch::stable`."""
    HEADERONLY = "headeronly"
    """`torch::headeronly`: calls no function of torch."""
    SHIM = "shim"
    """A C function (`aoti_torch_*`, `torch_*`)."""
    PLAIN = "plain"
    """Needs nothing of torch."""
    INLINED = "inlined"
    """Used by inline functions of torch's headers; disappears with the calls of these."""
    NONE = "none"
    """There is no counterpart."""
    UNKNOWN = "unknown"
    """Not in the table."""


class Replacement(Struct, frozen=True):
    """A counterpart with the names that it replaces.

    Attributes:
        use: the replacement, or what to do if there is none.
        header: its header (`torch/csrc/stable/ops.h`); empty for none.
        since: the first release whose headers declare it; empty if it needs nothing of torch.
        names: the replaced names, sorted: mangled imports of a file, identifiers of a source.
        files: files that use them, sorted.
        sites: places that use them; `total`: number of all places, of which `sites` may be a part.
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
    """Counts of one file.

    Attributes:
        stable: stable names that it uses; rewrite: names to replace; inlined: names that disappear with these; none,
            unknown: names among `rewrite` without a counterpart, and not in the table.
        places: uses of the names to replace whose place is known.
    """

    path: str
    stable: int
    rewrite: int
    inlined: int
    none: int
    unknown: int = 0
    places: int = 0


class FileRewrites(Struct, frozen=True):
    """A source that `abiscan fix` rewrites, with the rules."""

    path: str
    rules: tuple[str, ...]


class EarlierPlan(Struct, frozen=True):
    """The plan of an earlier run.

    Attributes:
        where: the file with it.
        done: as in `MigrationPlan`.
        rewrite: path of a file -> names to replace.
    """

    where: str
    done: float | None
    rewrite: dict[str, int]


class MigrationPlan(Struct, frozen=True):
    """Migration of files or sources to the stable ABI.

    Attributes:
        input: as given on the command line.
        files: files that use torch, sorted.
        replacements: most names first; names that disappear by themselves last.
        stable: stable names in use (imported C shims; in sources also torch::stable and headeronly), with the first
            release of each C shim, empty for the others.
        names: mangled name -> demangled name.
        minimum: the oldest torch with all counterparts and shims; None if none are needed.
        errors: read errors, as sentences.
        rewrites: sources that `abiscan fix` rewrites.
        earlier: the plan to compare with; None if none is given.
    """

    version: str
    input: str
    files: tuple[PlanFile, ...]
    replacements: tuple[Replacement, ...]
    stable: dict[str, str]
    names: dict[str, str]
    minimum: str | None
    errors: tuple[str, ...] = ()
    rewrites: tuple[FileRewrites, ...] = ()
    earlier: EarlierPlan | None = None

    @property
    def done(self) -> float | None:
        """Fraction of the distinct names in use that are stable, among the stable ones and those to replace. None if
        nothing of torch is used."""
        todo = sum(len(r.names) for r in self.replacements if r.kind is not CounterpartKind.INLINED)
        total = len(self.stable) + todo
        return len(self.stable) / total if total else None
