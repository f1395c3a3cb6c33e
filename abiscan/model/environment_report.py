"""Result of `env`: which packages of an environment load now, and which load after a change of torch."""

from __future__ import annotations

import enum

from msgspec import Struct

# What stands for an empty list of releases.
NO_RELEASE = "no known release"


def on_releases(releases: str) -> str:
    """Text for a list of releases after a preposition: `torch 2.6.0`, or `no known release of torch` if it is empty."""
    return f"{NO_RELEASE} of torch" if releases == NO_RELEASE else f"torch {releases}"


class PackageState(enum.StrEnum):
    """Outcome of the shared objects of a package."""

    LOADS = "loads"
    PARTLY = "partly"
    """Some load; others need a library that is not installed, or the package continues without them."""
    FAILS = "fails"
    UNDECIDED = "undecided"
    NOT_TORCH = "not-torch"
    """They load and import nothing of torch."""


class Action(enum.StrEnum):
    """What to do with a package."""

    KEEP = "keep"
    REPLACE = "replace"
    """Replace it with a release made for the other torch."""
    REBUILD = "rebuild"
    """Rebuild it: it was installed from a directory or a repository."""
    CHECK = "check"
    """Unknown whether it still loads."""
    INSTALL = "install"
    """Keep it, and install what it needs: a library that no torch build bundles, or torch itself."""


class PackageOutcome(Struct, frozen=True):
    """Outcome of a package with one torch.

    Attributes:
        failing: number of its shared objects that do not load.
        reason: reason of the first failure, as a sentence; empty if none fails.
        allowed: whether its requirements admit that torch.
        for_another: number of files that are named for another torch, CUDA or ROCm and are not checked.
        without_driver: number of files that do not load only because this machine has no GPU driver.
        absent: missing libraries that no torch build bundles, if they are the only reason of the failures.
    """

    state: PackageState
    failing: int = 0
    reason: str = ""
    allowed: bool = True
    for_another: int = 0
    without_driver: int = 0
    absent: tuple[str, ...] = ()


class PackageReport(Struct, frozen=True):
    """An installed distribution with shared objects.

    Attributes:
        files: number of its shared objects; torch_files: number of those that import torch.
        now: outcome with the installed torch; after: outcome with the other torch, if one is given.
        step: position in the upgrade order, from 1; packages of one step do not need each other. None if it is kept.
        requires_torch: its requirement on torch; empty if none.
        loads_on: torch releases on which all its files load; empty if it imports nothing of torch.
        command: command that installs what it needs, if a package provides that; else empty.
        products: what to install where no command is known: `FFmpeg`, or the library of an unknown product.
    """

    name: str
    version: str
    files: int
    torch_files: int
    now: PackageOutcome
    after: PackageOutcome | None
    action: Action
    step: int | None
    requires_torch: str
    loads_on: str
    command: str = ""
    products: tuple[str, ...] = ()


class ProblemKind(enum.StrEnum):
    """Problems of an environment as a whole."""

    SEVERAL_TORCHES = "several-torches"
    DAMAGED_TORCH = "damaged-torch"
    SEVERAL_RUNTIMES = "several-runtimes"
    """Several copies of a library that a process should load once."""
    SHADOWED = "shadowed"
    """LD_LIBRARY_PATH puts another copy of a library before the environment's."""
    EDITABLE = "editable"
    """Earlier versions did not check the shared objects of a source tree, and said so."""
    TORCH_FAILS = "torch-fails"
    """`import torch` itself fails."""
    MISSING_REQUIREMENTS = "missing-requirements"
    """A requirement of torch is not installed."""
    NO_WHEELS = "no-wheels"
    """The other torch has no wheels for the environment's Python."""


class Problem(Struct, frozen=True):
    """A problem of the environment as a whole; `command` fixes it, if one is known."""

    kind: ProblemKind
    text: str
    command: str = ""


class FixConflict(Struct, frozen=True):
    """A package that the command of a fix leaves as it is, though it does not load.

    Attributes:
        text: why, as a sentence without a subject; command: builds it from source, if that is known; else empty.
    """

    package: str
    text: str
    command: str = ""


class EnvironmentFix(Struct, frozen=True):
    """A command that brings an environment into a state that loads.

    Attributes:
        torch: version with label of torch after the command; None if no release suits all packages.
        command: pip commands in one line; empty if there is nothing to install.
        replaced: names of the packages that it replaces, with torch.
        kept: number of packages that stay as they are and load.
        undecided: names of packages that stay, and of which files could not be decided or need other libraries.
        conflicts: packages that it does not fix. With `torch` None, packages without a common release.
    """

    torch: str | None
    command: str
    replaced: tuple[str, ...]
    kept: int
    undecided: tuple[str, ...] = ()
    conflicts: tuple[FixConflict, ...] = ()


class EnvironmentReport(Struct, frozen=True):
    """An environment with its packages; packages that need an action come first.

    Attributes:
        python: description of the environment (`Python 3.11 at /opt/venv`).
        torch: the installed torch (`2.13.0+cpu`), None if there is none; after: the other torch, None if none is given.
        pure_python: number of distributions without shared objects, which are left out.
        errors: read errors, as sentences.
        root: the directory of `--root`, as given on the command line.
        fix: only with `--fix`.
        machine: platform of the interpreter.
    """

    version: str
    python: str
    torch: str | None
    after: str | None
    packages: tuple[PackageReport, ...]
    problems: tuple[Problem, ...]
    pure_python: int
    errors: tuple[str, ...] = ()
    root: str | None = None
    fix: EnvironmentFix | None = None
    machine: str = "x86_64"

    @property
    def torch_failure(self) -> Problem | None:
        """The reason why the installed torch cannot be imported, unless it is to be replaced."""
        found = (each for each in self.problems if each.kind is ProblemKind.TORCH_FAILS)
        return next(found, None) if self.after is None else None

    @property
    def fails(self) -> bool:
        """Whether torch or a package does not load: now, or after the upgrade if another torch is given."""
        return self.torch_failure is not None or any(
            outcome.state is PackageState.FAILS or not outcome.allowed for outcome in self.outcomes
        )

    @property
    def undecided(self) -> bool:
        """Whether something could not be read or decided."""
        unsure = any(each.kind is ProblemKind.MISSING_REQUIREMENTS for each in self.problems) and self.after is None
        return (
            unsure
            or self.lacks_torch
            or bool(self.errors)
            or any(each.state is PackageState.UNDECIDED for each in self.outcomes)
        )

    @property
    def lacks_torch(self) -> bool:
        """Whether there is no torch to check packages against: none is installed and no other is given."""
        return self.torch is None and self.after is None

    @property
    def outcomes(self) -> tuple[PackageOutcome, ...]:
        """Outcome of each package with the other torch if one is given, else with the installed one."""
        return tuple(p.now if p.after is None else p.after for p in self.packages)
