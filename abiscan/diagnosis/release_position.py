"""The position of a version relative to the releases that export a symbol."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from abiscan.model import versions
from abiscan.model.versions import ReleaseRanges


class Position(enum.Enum):
    """The position of the target's version relative to the builds that export a symbol."""

    INSIDE = enum.auto()
    """Builds of the target's version export it."""
    BEFORE = enum.auto()
    """Every build that exports it is newer than the target."""
    AFTER = enum.auto()
    """Every build that exports it is older than the target."""
    GAP = enum.auto()
    """Older and newer builds export it, but not those of the target's version."""
    NEVER = enum.auto()
    """No known build exports it."""
    UNKNOWN = enum.auto()
    """No target, no index, or the index does not record such symbols."""


def position_of(version: str | None, exported_in: ReleaseRanges | None, known: Sequence[str]) -> Position:
    """The position of a version; `known`: every version of the index, oldest first."""
    at = None if version is None else versions.order(version)
    if exported_in is None or version is None or at is None:
        return Position.UNKNOWN
    if not exported_in:
        return Position.NEVER
    if exported_in.contains(version):
        return Position.INSIDE
    if exported_in.all_after(version):
        return Position.BEFORE
    if not exported_in.all_before(version):
        return Position.GAP
    # Exported by the newest known build: a later torch most likely exports it too.
    later = at > (versions.order(known[-1]) or ()) and exported_in.last == known[-1]
    return Position.UNKNOWN if later else Position.AFTER
