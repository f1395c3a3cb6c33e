"""A package that brings several builds of a module: on which releases of torch it works, all of it together."""

from __future__ import annotations

from collections.abc import Iterable

from abiscan.target.declared import without_build


def covered(members: Iterable[tuple[str, frozenset[str]]]) -> tuple[frozenset[str], bool]:
    """The releases on which a package works, and whether it brings builds to choose from: members that are named for a
    torch each (`libx_torch24.so`, `libx_torch25.so`), or that have no release in common. Else all must load.

    Args:
        members: the place of each in the package, with the releases that it loads on: at least one.
    """
    rows = tuple(members)
    builds: dict[str, frozenset[str]] = {}
    for place, releases in rows:
        module = without_build(place)
        builds[module] = builds.get(module, frozenset()) | releases
    if not builds:
        return frozenset(), False
    together = frozenset.intersection(*builds.values())
    return together or frozenset.union(*builds.values()), len(builds) < len(rows) or not together
