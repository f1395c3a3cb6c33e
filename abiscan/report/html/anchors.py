"""Ids of the elements that a link leads to, made of names: a link leads to the same on the page of the next run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence


def anchor_of(kind: str, *names: str) -> str:
    """`kind-3fa9c2d107`."""
    return f"{kind}-{hashlib.sha256(chr(0).join(names).encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def anchors_of(kind: str, paths: Sequence[str]) -> list[str]:
    """One for each container or file. Its directory counts only where two paths differ in nothing else."""
    counts = Counter(map(short_path, paths))
    return [anchor_of(kind, path if counts[short_path(path)] > 1 else short_path(path)) for path in paths]


def short_path(path: str) -> str:
    """`CONTAINER!MEMBER` of `DIRECTORY/CONTAINER!MEMBER`, the name of a container; the whole path of a loose file."""
    container, mark, member = path.partition("!")
    packed = mark or container.endswith((".whl", ".conda", ".zip", ".gz"))
    return container.rpartition("/")[2] + mark + member if packed else path
