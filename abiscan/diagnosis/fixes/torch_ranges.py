"""Requirements for a range of torch releases in commands of fixes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from abiscan.model.dependency_specifiers import admits
from abiscan.model.versions import ReleaseRanges


def torch_range(ranges: ReleaseRanges, newest_known: str | None) -> str:
    """A requirement for a release in one of the ranges, newest first: `"torch>=2.1.0,<=2.2.2"`."""
    first, last = ranges[-1]
    if last == newest_known:
        return f'"torch>={first}"'
    return f'"torch=={first}"' if first == last else f'"torch>={first},<={last}"'


INSTALL = r'pip install "torch(?P<specifier>[^"]*)"'
"""A command that installs a release in a range of `torch_range`."""


@lru_cache(maxsize=256)  # the same fix is advised for many files
def _admitted(specifier: str, known: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(version for version in known if admits(specifier, (version,)))


def restrict_releases(fix: str, known: Sequence[str], admitted: Callable[[str], bool], *, widen: bool = False) -> str:
    """A fix without alternatives that name other releases of torch than the admitted ones.

    Args:
        known: public versions of the known releases, oldest first.
        widen: whether a named range becomes that of all admitted releases.
    """
    ways = []
    for way in fix.split("\nor: "):
        found = re.search(INSTALL, way)
        named = () if found is None else _admitted(found["specifier"], tuple(known))
        right = tuple(version for version in (known if widen and named else named) if admitted(version))
        if found is not None and right != named:
            if not right:
                continue
            text = torch_range(ReleaseRanges.of_known(known, right.__contains__), known[-1])
            way = f"{way[: found.start()]}pip install {text}{way[found.end() :]}"  # noqa: PLW2901
        ways.append(way)
    return "\nor: ".join(ways)
