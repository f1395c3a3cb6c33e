"""Requirements of a distribution, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)"


def normal_name(name: str) -> str:
    """A normalized distribution name ("Names and normalization", packaging.python.org)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required_name(line: str) -> str | None:
    """The name in a requirement, verbatim; None if it does not begin with one."""
    name = re.match(_NAME, line)
    return None if name is None else name[1]


def requirements_by_name(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Normalized name -> its `Requires-Dist` lines, sorted; without those of extras, which are not installed by
    default."""
    found: dict[str, list[str]] = {}
    for line in lines:
        name = required_name(line)
        if name is not None and "extra" not in line.partition(";")[2]:
            found.setdefault(normal_name(name), []).append(spelled(line))
    return {name: tuple(sorted(each)) for name, each in found.items()}


def spelled(line: str) -> str:
    """Write `torch (==2.4.1)` and `torch ==2.4.1`, the forms of older builders, as `torch==2.4.1`."""
    required, semicolon, marker = line.partition(";")
    if "@" not in required:
        required = re.sub(r"\(([^()]*)\)", r"\1", re.sub(r"\s+", "", required))
    return (required + semicolon + marker).strip()
