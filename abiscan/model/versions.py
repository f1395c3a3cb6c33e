"""Torch versions: their order, and ranges of releases."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence

# A public version (PEP 440) without epoch, as used by releases and source builds of torch.
_PUBLIC = r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:\.?(dev|a|b|rc)(\d*))?(?:\.?post(\d*))?"
_LOCAL = r"\+[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*"
_STAGES = {"dev": 0, "a": 1, "b": 2, "rc": 3}
_RELEASE = 4
# Longest text, in characters, that is read as a version: converting long numbers takes quadratic time.
_LONGEST = 256

Order = tuple[int, ...]
Span = tuple[str, str]
"""(first, last): public versions of torch, both included."""


@functools.cache
def order(version: str) -> Order | None:
    """Sort key of a version as in PEP 440, beginning with major and minor; None if the text is not a version.

    A local label (`+cu124`, `+git0123abc`) and any text after the public version are ignored.
    """
    if len(version) > _LONGEST:
        return None
    parts = version.split(".")
    if len(parts) == 3 and version.isascii() and all(map(str.isdigit, parts)):
        return int(parts[0]), int(parts[1]), int(parts[2]), _RELEASE, 0, -1
    found = re.match(_PUBLIC, version.strip())
    if found is None:
        return None
    major, minor, patch, stage, number, post = found.groups()
    return (
        int(major),
        int(minor or 0),
        int(patch or 0),
        _STAGES.get(stage, _RELEASE),
        int(number or 0),
        -1 if post is None else int(post or 0),
    )


def is_version(text: str) -> bool:
    """Whether the whole text is a version, with or without a local label."""
    found = re.match(_PUBLIC, text) if len(text) <= _LONGEST else None
    return found is not None and (found.end() == len(text) or re.fullmatch(_LOCAL, text[found.end() :]) is not None)


def is_release(version: str) -> bool:
    """Whether a version is a final release and not a pre-release (`2.2.0a0`, `2.7.0.dev20250105`)."""
    found = order(version)
    return found is not None and found[3] == _RELEASE


def minor(version: str) -> str:
    """Major and minor part of a version: `2.6` for `2.6.0`."""
    return ".".join(version.split(".")[:2])


class ReleaseRanges(tuple[Span, ...]):
    """Ranges of releases, for example those that export a symbol: disjoint spans, oldest first.

    It equals the plain tuple of its spans and is empty for no release.

    >>> ReleaseRanges((("2.1.0", "2.2.2"), ("2.12.0", "2.15.0"))).text()
    '2.1.0-2.2.2 and 2.12.0-2.15.0'
    """

    __slots__ = ()

    @classmethod
    def of_known(cls, known: Iterable[str], selected: Callable[[str], bool]) -> ReleaseRanges:
        """The ranges of selected versions among the known ones, which must be sorted."""
        spans: list[Span] = []
        open_run = False
        for version in known:
            if not selected(version):
                open_run = False
            elif open_run:
                spans[-1] = (spans[-1][0], version)
            else:
                spans.append((version, version))
                open_run = True
        return cls(spans)

    @property
    def first(self) -> str:
        """The oldest release.

        Raises:
            IndexError: there is none.
        """
        return self[0][0]

    @property
    def last(self) -> str:
        """The newest release.

        Raises:
            IndexError: there is none.
        """
        return self[-1][1]

    # --- questions --------------------------------------------------------------------------------------------------

    def contains(self, version: str) -> bool | None:
        """Whether a version is in one of the ranges; None if the text is not a version."""
        at = order(version)
        if at is None:
            return None
        return any(_bound(first) <= at <= _bound(last) for first, last in self)

    def intersect(self, other: ReleaseRanges) -> ReleaseRanges:
        """The versions that are in both."""
        both = ((max(a, c, key=_bound), min(b, d, key=_bound)) for a, b in self for c, d in other)
        return ReleaseRanges((first, last) for first, last in both if _bound(first) <= _bound(last))

    def all_after(self, version: str) -> bool:
        """Whether every range begins after the version."""
        at = order(version)
        return at is not None and bool(self) and all(_bound(first) > at for first, _last in self)

    def all_before(self, version: str) -> bool:
        """Whether every range ends before the version."""
        at = order(version)
        return at is not None and bool(self) and all(_bound(last) < at for _first, last in self)

    def first_after(self, version: str) -> str | None:
        """The first version after the given one with which a range begins."""
        at = order(version)
        return next((first for first, _last in self if at is not None and _bound(first) > at), None)

    def last_before(self, version: str) -> str | None:
        """The last version before the given one with which a range ends."""
        at = order(version)
        return next((last for _first, last in reversed(self) if at is not None and _bound(last) < at), None)

    # --- texts ------------------------------------------------------------------------------------------------------

    def text(self, *, last: str = " and ") -> str:
        """Readable text such as `2.1.0-2.2.2 and 2.12.0-2.15.0`; empty for no range.

        Args:
            last: separator before the last range; commas separate the others.
        """
        parts = [first if first == end else f"{first}-{end}" for first, end in self]
        return last.join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))

    def requirement(self, known: Sequence[str]) -> str:
        """A requirement that allows the newest range, no other known version and no older one: `torch>=2.4,<2.6`.

        Args:
            known: all known versions, sorted; contains those of the range.
        """
        first, last = self[-1]
        after = known.index(last) + 1
        parts = [f">={_short(first)}"]
        if after < len(known):
            parts.append(f"<{_short(known[after])}")
        return f"torch{','.join(parts)}"


def _short(version: str) -> str:
    """A version without a final `.0`: `2.4` for `2.4.0`."""
    return version.removesuffix(".0") if version.count(".") > 1 else version


def _bound(version: str) -> Order:
    """Sort key of the end of a range; text that is not a version sorts first."""
    return order(version) or ()
