"""A released build of torch, and how a file fares on it (made by `releases`)."""

from __future__ import annotations

import enum

from msgspec import Struct


class ReleaseState(enum.StrEnum):
    """How a release takes a file (CONTRACT)."""

    LOADS = "loads"
    FAILS = "fails"
    OTHER_CUDA = "other-cuda"
    """It exports everything; its default build has another CUDA than the file is made with."""
    OTHER_LAYOUT = "other-layout"
    """Every import binds; a record that the file shares with torch lies otherwise than the file was compiled with."""


class ReleaseVerdict(Struct, frozen=True):
    """How a file fares on one released build.

    Attributes:
        build: unique key (version, variant, architecture).
        missing: mangled names that the build does not export.
        drift: torch's classes and records that lie otherwise than in the build that the file was made for.
        reason: in a word why it fails ("old string ABI", "CPU only"); where it loads, what of it is not known ("layouts
            not compared"), mostly empty.
    """

    build: str
    torch: str
    variant: str
    cxx11_abi: bool
    state: ReleaseState
    missing: tuple[str, ...]
    drift: tuple[str, ...]
    reason: str

    @property
    def loads(self) -> bool:
        """Whether every import binds on it, with the libraries that its default build brings."""
        return self.state in (ReleaseState.LOADS, ReleaseState.OTHER_LAYOUT)

    @property
    def fits(self) -> bool:
        """Whether it loads, and nothing that it shares with torch lies otherwise."""
        return self.state is ReleaseState.LOADS


class KnownBuild(Struct, frozen=True):
    """A torch build as `abiscan releases list` prints it.

    Attributes:
        wheel: the file that it was read from, with its sha256 where that was a file.
        user: from the user's own index, not from the shipped one.
    """

    key: str
    torch: str
    variant: str
    machine: str
    cuda: str | None
    hip: str | None
    cxx11_abi: bool | None
    git_revision: str | None
    wheel: str
    sha256: str | None
    user: bool
