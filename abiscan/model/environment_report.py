"""What becomes of the packages of an environment: which load now, and which would with another torch."""

from __future__ import annotations

import enum

from msgspec import Struct

# What stands for an empty list of releases.
NO_RELEASE = "no known release"


def on_releases(releases: str) -> str:
    """`torch 2.6.0`, `no known release of torch`: a list of releases behind a preposition."""
    return f"{NO_RELEASE} of torch" if releases == NO_RELEASE else f"torch {releases}"


class PackageState(enum.StrEnum):
    """How the shared objects of a package fare."""

    LOADS = "loads"
    PARTLY = "partly"
    """Some do; others need what is not there."""
    FAILS = "fails"
    UNDECIDED = "undecided"
    NOT_TORCH = "not-torch"
    """They load, and import nothing of torch."""


class Action(enum.StrEnum):
    """What is to be done with a package."""

    KEEP = "keep"
    REPLACE = "replace"
    """By a release that is made for the other torch."""
    REBUILD = "rebuild"
    """It was installed from a directory or a repository."""
    CHECK = "check"
    """Whether it goes on working is not known."""
    INSTALL = "install"
    """It stays, and wants what is not installed: a library that no torch brings, or torch itself."""


class PackageOutcome(Struct, frozen=True):
    """How a package fares with one torch.

    Attributes:
        failing: how many of its shared objects don't load.
        reason: in a sentence, of the first that fails; empty where none does.
        allowed: whether its requirements admit that torch.
        for_another: how many are made for another torch, CUDA or ROCm by their names, and are not judged.
        without_driver: how many don't load for want of the GPU's driver alone, which says nothing of the package.
        absent: the libraries that are not here and no torch brings, where nothing else is wrong with what fails.
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
        files: how many shared objects it has; torch_files: how many of them import torch.
        now: with the torch that is installed; after: with the other one, where one is named.
        step: when its turn is, from 1 on; packages of one step don't need each other. None for one that is kept.
        requires_torch: its requirement on torch; empty for none.
        loads_on: the releases of torch on which all its files load; empty where it imports nothing of torch.
        command: what installs what it wants, where a package has that; else empty.
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


class ProblemKind(enum.StrEnum):
    """What is wrong with an environment as a whole."""

    SEVERAL_TORCHES = "several-torches"
    DAMAGED_TORCH = "damaged-torch"
    SEVERAL_RUNTIMES = "several-runtimes"
    """Copies of a library of which a process should have one."""
    SHADOWED = "shadowed"
    """LD_LIBRARY_PATH puts another copy of a library before the environment's."""
    EDITABLE = "editable"
    """A package whose shared objects lie in its source tree, which is not looked at."""
    TORCH_FAILS = "torch-fails"
    """`import torch` itself fails."""
    MISSING_REQUIREMENTS = "missing-requirements"
    """What torch requires is not installed."""
    NO_WHEELS = "no-wheels"
    """The other torch has no wheels for the environment's Python."""


class Problem(Struct, frozen=True):
    """Something about the environment as a whole; `command` mends it, where one is known."""

    kind: ProblemKind
    text: str
    command: str = ""


class EnvironmentReport(Struct, frozen=True):
    """An environment with its packages, those that need something done first.

    Attributes:
        python: which environment, for a person (`Python 3.11 at /opt/venv`).
        torch: the installed torch (`2.13.0+cpu`), None where there is none; after: the other one, None where none is
            named.
        pure_python: how many distributions have no shared object and are left out.
        errors: what could not be read, in sentences.
        root: the directory that holds its file system (`--root`), as the user wrote it.
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

    @property
    def torch_failure(self) -> Problem | None:
        """Why the torch that is installed, and is not to be replaced, cannot be imported."""
        found = (each for each in self.problems if each.kind is ProblemKind.TORCH_FAILS)
        return next(found, None) if self.after is None else None

    @property
    def fails(self) -> bool:
        """Whether torch or a package does not load, now or (where another torch is named) after the upgrade."""
        return self.torch_failure is not None or any(
            outcome.state is PackageState.FAILS or not outcome.allowed for outcome in self.outcomes
        )

    @property
    def undecided(self) -> bool:
        """Whether something could not be read or decided."""
        unsure = any(each.kind is ProblemKind.MISSING_REQUIREMENTS for each in self.problems) and self.after is None
        return unsure or bool(self.errors) or any(each.state is PackageState.UNDECIDED for each in self.outcomes)

    @property
    def outcomes(self) -> tuple[PackageOutcome, ...]:
        """Of each package, with the torch that counts."""
        return tuple(p.now if p.after is None else p.after for p in self.packages)
