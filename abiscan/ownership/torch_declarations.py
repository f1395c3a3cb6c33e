"""Names that the headers of each torch release declare, from `data/torch_declarations.xz`
(`tools/build_header_declarations.py`): names in at::, c10:: and torch::, members of their classes, macros, and headers.

The table has the names that some release lacks. A release has a name if its CUDA or its CPU build declares it; a name
that the table lacks is declared by every release or by none.
"""

from __future__ import annotations

import functools
from bisect import bisect_right

from msgspec import Struct

from abiscan.data import read_compressed
from abiscan.model.versions import order

FILE = "torch_declarations.xz"
# Scopes of the table for names without one: macros, and the paths of headers.
MACROS, HEADERS = "#", "<"
# Behind the names of members that may be declared in another form.
TEMPLATE, WRITABLE = "<>", "*"


class Absence(Struct, frozen=True):
    """A name that the headers of a release lack and those of another release declare.

    Attributes:
        last: the last release before it that declares the name; None if only later ones do.
        removed_in: the first release without the name after `last`.
        added_in: the first later release that declares it; None if none does.
    """

    last: str | None
    removed_in: str | None
    added_in: str | None


class Declarations:
    """The table.

    Attributes:
        releases: oldest first.
    """

    def __init__(self, text: str) -> None:
        head, *lines = text.splitlines()
        self.releases = tuple(head.split(" "))
        self._order = [order(release) or () for release in self.releases]
        self._text = text
        # Scope -> (masks, names) of each of its lines.
        self._lines: dict[str, list[tuple[str, str]]] = {}
        for line in lines:
            scope, masks, names = line.split("\t")
            if masks == "=":
                self._lines[scope] = self._lines[names]
            else:
                self._lines.setdefault(scope, []).append((masks, names))
        self._names: dict[str, dict[str, str]] = {}

    def _masks(self, scope: str, name: str) -> str | None:
        """Return the releases that declare a name and those that deprecate it, as for `_mask`, separated by `;`."""
        if scope not in self._names:
            # The first line with a name takes precedence.
            lines = reversed(self._lines.get(scope, ()))
            self._names[scope] = {each: masks for masks, names in lines for each in names.split()}
        return self._names[scope].get(name)

    @functools.cached_property
    def _changing(self) -> frozenset[str]:
        return frozenset(self._text.split())

    def absence(self, scope: str, name: str, release: str) -> Absence | None:
        """Return since when the headers of a release lack a name.

        Args:
            scope: namespaces and classes, `::` between them; `MACROS`, `HEADERS`, or empty for C functions.
            name: with `TEMPLATE` the member template of this name, with `WRITABLE` the function that returns anything
                else than a pointer or reference to const.
            release: a version; one that the table lacks counts as the newest before it.

        Returns:
            None if the release declares the name, or no release does.
        """
        masks = self._masks(scope, name)
        at = self._index(release)
        if masks is None or at is None:
            return None
        declared = mask_of(masks.partition(";")[0])
        if declared >> at & 1:
            return None
        before, after = declared & ((1 << at) - 1), declared >> at
        last = before.bit_length() - 1
        return Absence(
            last=self.releases[last] if before else None,
            removed_in=self.releases[last + 1] if before else None,
            added_in=self.releases[at + (after & -after).bit_length() - 1] if after else None,
        )

    def declares(self, scope: str, name: str, release: str) -> bool | None:
        """Whether the headers of a release declare a name; None if every release does, or none."""
        masks = self._masks(scope, name)
        at = self._index(release)
        return None if masks is None or at is None else bool(mask_of(masks.partition(";")[0]) >> at & 1)

    def declaring(self, scope: str, name: str) -> tuple[str, ...]:
        """Return the releases that declare a name, oldest first; none if every release does, or none."""
        masks = self._masks(scope, name)
        declared = 0 if masks is None else mask_of(masks.partition(";")[0])
        return tuple(release for at, release in enumerate(self.releases) if declared >> at & 1)

    def deprecated_since(self, scope: str, name: str, release: str) -> str | None:
        """Return the first of the consecutive releases up to `release` that deprecate every declaration of a name; None
        if `release` does not."""
        masks = self._masks(scope, name)
        at = self._index(release)
        if masks is None or at is None:
            return None
        deprecated = mask_of(masks.partition(";")[2])
        if not deprecated >> at & 1:
            return None
        while at and deprecated >> (at - 1) & 1:
            at -= 1
        return self.releases[at]

    def is_changing(self, name: str) -> bool:
        """Whether some release lacks a name, or a form of it, in some namespace or class."""
        return not self._changing.isdisjoint((name, name + TEMPLATE, name + WRITABLE))

    def _index(self, release: str) -> int | None:
        at = bisect_right(self._order, order(release) or ()) - 1
        return at if at >= 0 else None


def mask_of(written: str) -> int:
    """Parse `0-4,7` to a bit mask."""
    mask = 0
    for part in written.split(",") if written else ():
        first, _, last = part.partition("-")
        mask |= (1 << int(last or first) + 1) - (1 << int(first))
    return mask


@functools.cache
def declarations() -> Declarations:
    """The shipped table."""
    return Declarations(read_compressed(FILE))
