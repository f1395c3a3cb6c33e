"""The file name of a wheel and its tags (binary distribution format, PEP 425)."""

from __future__ import annotations

from abiscan.model.dependency_specifiers import find_excess
from abiscan.model.limits import MAX_TAGS


def expanded_tags(triple: str) -> tuple[str, ...] | None:
    """The tags of a compressed tag set (PEP 425), or the text itself if it is not a tag; None for more than
    MAX_TAGS."""
    parts = triple.split("-")
    if len(parts) != 3:
        return (triple,)
    pythons, abis, platforms = (part.split(".") for part in parts)
    if len(pythons) * len(abis) * len(platforms) > MAX_TAGS:
        return None
    return tuple(f"{python}-{abi}-{platform}" for python in pythons for abi in abis for platform in platforms)


def find_excess_of_wheel_name(file_name: str) -> str:
    """Name the limit that a wheel's file name exceeds, in words that follow "it has"; empty for none."""
    stem = file_name.removesuffix(".whl")
    too_many = expanded_tags("-".join(stem.split("-")[-3:])) is None
    return find_excess(stem) or (f"more than {MAX_TAGS} tags in its name" if too_many else "")


def split_wheel_name(file_name: str) -> tuple[str, str, tuple[str, ...]] | None:
    """(name, version, expanded tags) of a wheel's file name (binary distribution format, "File name convention"); None
    if it is not a valid one, or exceeds the limits."""
    stem = file_name.removesuffix(".whl")
    parts = stem.split("-")
    if stem == file_name or len(parts) not in (5, 6):
        return None
    tags = expanded_tags("-".join(parts[-3:]))
    return None if tags is None or find_excess(stem) else (parts[0], parts[1], tags)
