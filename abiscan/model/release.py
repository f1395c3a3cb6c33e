"""Released torch builds, and the outcome of a file on each (made by `releases`)."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from msgspec import Struct

from abiscan.model.versions import ReleaseRanges


class ReleaseState(enum.StrEnum):
    """Outcome of a file on a release (CONTRACT)."""

    LOADS = "loads"
    POSSIBLE_LAYOUT = "possible-layout"
    """Every import resolves, and the layout of a class that the file shares with torch may have changed."""
    FAILS = "fails"
    OTHER_CUDA = "other-cuda"
    """It exports every symbol, but its default build has another CUDA than the file."""
    OTHER_LAYOUT = "other-layout"
    """Every import resolves, but the layout of a class that the file shares with torch changed."""

    @property
    def fits(self) -> bool:
        """Whether the file loads and no shared class is known to have another layout."""
        return self in (ReleaseState.LOADS, ReleaseState.POSSIBLE_LAYOUT)


class ReleaseVerdict(Struct, frozen=True):
    """Outcome of a file on one released build.

    Attributes:
        build: unique key (version, variant, architecture).
        missing: imported names that the build does not export, mangled.
        drift: torch classes whose layout or vtable differs, or may differ, from that in the build for which the file
            was made.
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
    def key(self) -> str:
        """`build`, as of a build of the release index."""
        return self.build

    @property
    def name(self) -> str:
        """`2.6.0+cu124`."""
        return f"{self.torch}+{self.variant}" if self.variant else self.torch

    @property
    def loads(self) -> bool:
        """Whether every import resolves on it, with the libraries of its default build."""
        return self.fits or self.state is ReleaseState.OTHER_LAYOUT

    @property
    def verdict(self) -> str:
        """`loads` or `fails`, whatever the layouts."""
        return "loads" if self.loads else "fails"

    @property
    def fits(self) -> bool:
        """Whether it loads and no shared class is known to have another layout."""
        return self.state.fits


def best_releases(states: Iterable[tuple[str, ReleaseState]]) -> frozenset[str]:
    """The releases that a range or a fix may name: those on which all loads and no layout changed. If there is none,
    those on which a layout change is only possible."""
    fitting = [(release, state) for release, state in states if state.fits]
    clear = frozenset(release for release, state in fitting if state is ReleaseState.LOADS)
    return clear or frozenset(release for release, _ in fitting)


def graded_ranges(states: Iterable[tuple[str, ReleaseState]]) -> str:
    """`2.5.0-2.5.1 (warning: possible layout change on 2.6.0)`; empty if it loads on no release.

    Args:
        states: releases, oldest first, each with the state of each of its builds.
    """
    known = tuple(states)
    releases = dict.fromkeys(release for release, _ in known)
    best = ReleaseRanges.of_known(releases, best_releases(known).__contains__)
    doubtful = {release for release, state in known if state is ReleaseState.POSSIBLE_LAYOUT}
    doubtful -= {release for release, state in known if state is ReleaseState.LOADS}
    if not doubtful:
        return best.text(last=", ")
    on = ReleaseRanges.of_known(releases, doubtful.__contains__)
    where = "" if on == best else f" on {on.text(last=', ')}"
    return f"{best.text(last=', ')} (warning: possible layout change{where})"
