"""Released torch builds, and the outcome of a file on each (made by `releases`)."""

from __future__ import annotations

import enum

from msgspec import Struct


class ReleaseState(enum.StrEnum):
    """Outcome of a file on a release (CONTRACT)."""

    LOADS = "loads"
    FAILS = "fails"
    OTHER_CUDA = "other-cuda"
    """It exports every symbol, but its default build has another CUDA than the file."""
    OTHER_LAYOUT = "other-layout"
    """Every import resolves, but the layout of a class that the file shares with torch changed."""


class ReleaseVerdict(Struct, frozen=True):
    """Outcome of a file on one released build.

    Attributes:
        build: unique key (version, variant, architecture).
        missing: imported names that the build does not export, mangled.
        drift: torch classes whose layout differs from that in the build for which the file was made.
        reason: short reason of a failure ("old string ABI", "CPU only"); for a file that loads, what is unknown
            ("layouts not compared"), or empty.
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
        """Whether every import resolves on it, with the libraries of its default build."""
        return self.state in (ReleaseState.LOADS, ReleaseState.OTHER_LAYOUT)

    @property
    def fits(self) -> bool:
        """Whether it loads and no shared class has another layout."""
        return self.state is ReleaseState.LOADS


class KnownBuild(Struct, frozen=True):
    """A torch build as `abiscan releases list` prints it.

    Attributes:
        wheel: the file from which it was read, with its sha256 if that was a file.
        user: whether it is from the user's index and not from the shipped one.
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
