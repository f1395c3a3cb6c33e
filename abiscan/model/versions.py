"""Torch versions as they are compared: numbers first, what stands before a release (a0, dev) below it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

# A release number and what may follow it, as PEP 440 spells pre-releases. Made for versions that people type: anything
# else is "unknown", never an error.
_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(a|b|rc|\.dev|dev)?(\d*)")
_BEFORE_RELEASE = {"dev": 0, ".dev": 0, "a": 1, "b": 2, "rc": 3}

# Pairs (first, last) of public torch versions, both included, oldest first.
Windows = tuple[tuple[str, str], ...]
Order = tuple[int, int, int, int, int]


@functools.cache
def order(version: str) -> Order | None:
    """A value that orders versions; None for what is no version."""
    found = _VERSION.match(version.strip())
    if found is None:
        return None
    major, minor, patch, stage, number = found.groups()
    return (
        int(major),
        int(minor),
        int(patch or 0),
        _BEFORE_RELEASE.get(stage or "", 4),
        int(number or 0) if stage else 0,
    )


def is_release(version: str) -> bool:
    """Whether this is a final release number, not a pre-release (`2.2.0a0`, `2.7.0.dev20250105`)."""
    found = order(version)
    return found is not None and found[3] == 4


def contains(windows: Windows, version: str) -> bool | None:
    """Whether a version lies in one of the windows; None where it cannot be compared."""
    at = order(version)
    if at is None:
        return None
    return any(_bound(first) <= at <= _bound(last) for first, last in windows)


def overlap(a: Windows, b: Windows) -> bool:
    """Whether two windows share a version."""
    return any(_bound(af) <= _bound(bl) and _bound(bf) <= _bound(al) for af, al in a for bf, bl in b)


def all_after(windows: Windows, version: str) -> bool:
    """Whether every window opens after the version."""
    at = order(version)
    return at is not None and bool(windows) and all(_bound(first) > at for first, _last in windows)


def all_before(windows: Windows, version: str) -> bool:
    """Whether every window closes before the version."""
    at = order(version)
    return at is not None and bool(windows) and all(_bound(last) < at for _first, last in windows)


def first_after(windows: Windows, version: str) -> str | None:
    """The first version behind the given one in which a window opens."""
    at = order(version)
    later = [first for first, _last in windows if at is not None and _bound(first) > at]
    return later[0] if later else None


def last_before(windows: Windows, version: str) -> str | None:
    """The last version before the given one in which a window closes."""
    at = order(version)
    earlier = [last for _first, last in windows if at is not None and _bound(last) < at]
    return earlier[-1] if earlier else None


def text(windows: Windows) -> str:
    """Windows as people write them: `2.1.0 - 2.2.2 and 2.12.0 - 2.15.0`."""
    parts = [first if first == last else f"{first} - {last}" for first, last in windows]
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def minor(version: str) -> str:
    """`2.6.0` to `2.6`."""
    return ".".join(version.split(".")[:2])


def newest(versions: Iterable[str]) -> str | None:
    """The highest of some versions."""
    known = [version for version in versions if order(version) is not None]
    return max(known, key=_bound, default=None)


def _bound(version: str) -> Order:
    found = order(version)
    return found if found is not None else (0, 0, 0, 0, 0)
