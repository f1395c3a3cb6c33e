"""Requirements of a distribution, by the name of what is required."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)"


def normal_name(name: str) -> str:
    """A distribution's name as an index compares it ("Names and normalization", packaging.python.org)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required_name(line: str) -> str | None:
    """The name in a requirement, as it stands; None where it begins with none."""
    name = re.match(_NAME, line)
    return None if name is None else name[1]


def requirements_by_name(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Normalized name -> the `Requires-Dist` lines on it, sorted; without those of extras, which an installer does not
    follow by itself."""
    found: dict[str, list[str]] = {}
    for line in lines:
        name = required_name(line)
        if name is not None and "extra" not in line.partition(";")[2]:
            found.setdefault(normal_name(name), []).append(spelled(line))
    return {name: tuple(sorted(each)) for name, each in found.items()}


def spelled(line: str) -> str:
    """`torch (==2.4.1)` and `torch ==2.4.1`, as older builders write it, are `torch==2.4.1`."""
    required, semicolon, marker = line.partition(";")
    if "@" not in required:
        required = re.sub(r"\(([^()]*)\)", r"\1", re.sub(r"\s+", "", required))
    return (required + semicolon + marker).strip()
