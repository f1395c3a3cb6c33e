"""Reads the declarations of a container: METADATA, WHEEL, PKG-INFO, index.json, file names, install paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from msgspec import Struct

from abiscan.model.dependency_specifiers import find_excess, find_excess_of_requirements
from abiscan.model.limits import MAX_HEADER_LINES, MAX_METADATA, MAX_TAGS
from abiscan.wheel.container_facts import ContainerFacts, ContainerKind
from abiscan.wheel.wheel_name import expanded_tags, split_wheel_name

_DIST_INFO_FILE = r"^[^/]+\.dist-info/(METADATA|WHEEL)$"
_PKG_INFO = r"^[^/]+/PKG-INFO$"
_DATA = r"^[^/]+\.data/(purelib|platlib|data|scripts|headers)/(.+)$"
_INDEX = "info/index.json"
_CONDA_SITE = r"^lib/python\d[^/]*/site-packages/(.+)$"
# From lib/pythonX.Y/site-packages up to the prefix, in every layout to which wheels are installed on Linux.
_TO_PREFIX = "../../../"
# Fields of METADATA and WHEEL that are read beside `Requires-Dist`.
_READ_FIELDS = ("name", "version", "requires-python", "tag")


def is_metadata(name: str) -> bool:
    """Whether a member is a metadata file that `container_facts` needs."""
    # About three of thousands of members pass this; matching two patterns for each would take 0.6 us.
    return name.endswith(("METADATA", "WHEEL", "PKG-INFO", "index.json")) and (
        re.match(_DIST_INFO_FILE, name) is not None or re.match(_PKG_INFO, name) is not None or name == _INDEX
    )


def find_kind(file_name: str, metadata: Iterable[str]) -> ContainerKind:
    """The kind of an archive, from its metadata files, or its suffix if they are missing."""
    names = set(metadata)
    if file_name.endswith(".whl") or any(name.endswith(".dist-info/WHEEL") for name in names):
        return ContainerKind.WHEEL
    if file_name.endswith(".conda") or _INDEX in names:
        return ContainerKind.CONDA
    return ContainerKind.SDIST if any(re.match(_PKG_INFO, name) for name in names) else ContainerKind.ARCHIVE


def _header_lines(raw: bytes) -> Iterator[str]:
    """The lines of a text up to the first empty one, divided like `str.splitlines`, one at a time because a long text
    may follow."""
    text = raw.decode("utf-8", "replace")
    start = 0
    for end in re.finditer("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|\\Z", text):
        line = text[start : end.start()]
        if not line:
            return
        yield line
        start = end.end()


def headers(raw: bytes) -> dict[str, list[str]]:
    """The header fields of a METADATA, WHEEL or PKG-INFO file, names in lower case, up to the first empty line (core
    metadata specification, "Format": RFC 822 as read by `email`).

    `packaging.metadata` has the same results, which tests check. It searches the message again for each name, so a
    hostile megabyte of distinct names takes minutes, and its imports of `email` take 25 ms.
    """
    found: dict[str, list[str]] = {}
    values: list[str] | None = None
    folded: list[str] = []
    for line in _header_lines(raw):
        if not line.strip():
            # A line of blanks continues a field, as in a folded license text (RFC 5322, section 2.2.3).
            continue
        if line[0] in " \t":
            folded.append(line.strip())
            continue
        _unfold(values, folded)
        name, colon, value = line.partition(":")
        values = found.setdefault(name.strip().lower(), []) if colon else None
        if values is not None:
            values.append(value.strip())
    _unfold(values, folded)
    return found


def _unfold(values: list[str] | None, folded: list[str]) -> None:
    """Join the last value with its continuation lines."""
    if folded and values:
        values[-1] = "\n".join((values[-1], *folded))
    folded.clear()


def find_excess_of_metadata(name: str, raw: bytes) -> str:
    """Name the limit of `abiscan.model.limits` that a file accepted by `is_metadata` exceeds, in words that follow "it
    has"; empty for none."""
    if len(raw) > MAX_METADATA:
        return f"{len(raw)} bytes (limit: {MAX_METADATA})"
    if name.endswith("index.json"):
        index = _conda_index(raw)
        if index is None:
            return "no JSON object that can be read"
        texts, requirements = [index.name, index.version], index.depends
    else:
        if next(islice(_header_lines(raw), MAX_HEADER_LINES, None), None) is not None:
            return f"more than {MAX_HEADER_LINES} lines of header"
        fields = headers(raw)
        requirements = tuple(fields.get("requires-dist", ()))
        tags = fields.get("tag", ())
        if len(tags) > MAX_TAGS or any(expanded_tags(tag) is None for tag in tags):
            return f"more than {MAX_TAGS} tags"
        texts = [text for field in _READ_FIELDS for text in fields.get(field, ())]
    excess = next(filter(None, map(find_excess, texts)), "")
    return excess or find_excess_of_requirements(requirements)


def container_facts(
    display: str, file_name: str, kind: ContainerKind, metadata: Mapping[str, bytes], names: Iterable[str]
) -> ContainerFacts:
    """Read the declarations of a container.

    Args:
        metadata: content of the members that `is_metadata` accepts.
        names: all members.
    """
    if kind is ContainerKind.CONDA:
        return _conda_facts(display, metadata, names)
    main: dict[str, list[str]] = {}
    wheel: dict[str, list[str]] = {}
    for name in sorted(metadata):
        if name.endswith(("/METADATA", "/PKG-INFO")):
            main = main or headers(metadata[name])
        elif name.endswith("/WHEEL"):
            wheel = wheel or headers(metadata[name])
    by_name = split_wheel_name(file_name) if kind is ContainerKind.WHEEL else None
    return ContainerFacts(
        path=display,
        kind=kind,
        name=_first(main, "name") or (by_name[0] if by_name else None),
        version=_first(main, "version") or (by_name[1] if by_name else None),
        file_tags=by_name[2] if by_name else (),
        metadata_tags=tuple(wheel.get("tag", ())),
        requires_dist=tuple(main.get("requires-dist", ())),
        requires_python=_first(main, "requires-python"),
        unread=_unread(main, metadata),
        lacks="METADATA" if kind is ContainerKind.WHEEL and not any(map(_is_core_metadata, names)) else "",
    )


def _is_core_metadata(name: str) -> bool:
    return name.endswith("/METADATA") and is_metadata(name)


def _unread(main: Mapping[str, list[str]], metadata: Mapping[str, bytes]) -> str:
    """Why the METADATA is unreadable; empty if it is not. Core metadata has a Metadata-Version, a Name and a Version
    (core metadata specification): a file without any of them is something else. Refused metadata is a separate
    error."""
    if main.keys() & {"metadata-version", "name", "version"}:
        return ""
    return "its METADATA cannot be read" if any(map(_is_core_metadata, metadata)) else ""


def _first(fields: dict[str, list[str]], name: str) -> str | None:
    return next(iter(fields.get(name, ())), None)


class _CondaIndex(Struct, frozen=True):
    """Fields of info/index.json (conda's package specification)."""

    name: str = ""
    version: str = ""
    depends: tuple[str, ...] = ()


def _conda_index(raw: bytes) -> _CondaIndex | None:
    import msgspec.json

    try:
        return msgspec.json.decode(raw, type=_CondaIndex)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _conda_facts(display: str, metadata: Mapping[str, bytes], names: Iterable[str]) -> ContainerFacts:
    index = _conda_index(metadata.get(_INDEX, b"{}")) or _CondaIndex()
    return ContainerFacts(
        path=display,
        kind=ContainerKind.CONDA,
        name=index.name or None,
        version=index.version or None,
        requires_dist=index.depends,
        lacks="" if _INDEX in metadata or _INDEX in names else _INDEX,
    )


def install_path(kind: ContainerKind, name: str) -> str | None:
    """Install path of a member, relative to site-packages; None if it has no fixed one."""
    if kind is ContainerKind.WHEEL:
        match = re.match(_DATA, name)
        if match is None:
            return posixpath.normpath(name)
        root, rest = match.groups()
        if root in ("purelib", "platlib"):
            return posixpath.normpath(rest)
        return _TO_PREFIX + {"data": "", "scripts": "bin/", "headers": "include/"}[root] + rest
    if kind is ContainerKind.CONDA:
        site = re.match(_CONDA_SITE, name)
        return site.group(1) if site else _TO_PREFIX + name
    return None
