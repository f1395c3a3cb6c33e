"""Whether a changed file can be restored from the index of its git repository, which is read as data.

git itself is not run: the configuration of a repository can name commands that git starts. Index format:
https://git-scm.com/docs/index-format; location: https://git-scm.com/docs/gitrepository-layout."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

# Bytes: an index with a million files; a `.git` file.
_MAX_INDEX = 256 << 20
_MAX_LINK = 1 << 12
_HEADER = 12
# ctime, mtime, dev, ino, mode, uid, gid, size; then the object id and two bytes of flags.
_STATUS = 40
_EXTENDED = 0x4000
_INTENT_TO_ADD = 0x2000
# Bits of the flags with the stage, which is not 0 for entries of a merge conflict.
_STAGE = 0x3000


def why_not_safe(path: Path, data: bytes) -> str | None:
    """Why a change of the file would lose data, as the end of a sentence; None if the index has its contents, so that
    `git restore FILE` restores them.

    Args:
        data: contents of the file.
    """
    path = Path(os.path.abspath(path))
    top = next((each for each in path.parents if os.path.lexists(each / ".git")), None)
    if top is None:
        return "it is not in a git repository"
    try:
        entries = _entries(_git_directory(top) / "index")
    except FileNotFoundError:
        return "nothing is committed in its git repository"
    except (OSError, ValueError):
        return "the index of its git repository cannot be read"
    known = entries.get(os.fsencode(path.relative_to(top).as_posix()))
    if known is None:
        return "git does not track it"
    # A blob is hashed with its type and length first, by SHA-1 or SHA-256.
    digest = hashlib.sha256() if len(known) == 32 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data) + data)
    return None if digest.digest() == known else "it has changes that are neither staged nor committed"


def _git_directory(top: Path) -> Path:
    """`.git`, or the directory that a file of that name refers to (worktrees, submodules).

    Raises:
        OSError, ValueError: it cannot be read.
    """
    place = top / ".git"
    if place.is_dir():
        return place
    with place.open("rb") as file:
        kind, _, target = file.read(_MAX_LINK).partition(b"gitdir: ")
    if kind or not target:
        raise ValueError("not a link to a git directory")
    return top / os.fsdecode(target.rstrip(b"\n"))


@functools.lru_cache(maxsize=1)
def _entries(index: Path) -> Mapping[bytes, bytes]:
    """Path -> blob id of the files of an index, without conflicts and intent-to-add entries.

    Raises:
        OSError, ValueError: it cannot be read, or is not an index.
    """
    with index.open("rb") as file:
        data = file.read(_MAX_INDEX + 1)
    version = int.from_bytes(data[4:8], "big")
    if len(data) > _MAX_INDEX or data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index")
    return dict(_parse(data, version, int.from_bytes(data[8:12], "big"), _hash_size(data)))


def _hash_size(data: bytes) -> int:
    """20 for SHA-1, 32 for SHA-256: the index ends with the hash of its contents, or with zeros (index.skipHash).

    Raises:
        ValueError: neither.
    """
    if hashlib.sha1(data[:-20], usedforsecurity=False).digest() == data[-20:]:
        return 20
    if hashlib.sha256(data[:-32]).digest() == data[-32:]:
        return 32
    if not any(data[-20:]) and any(data[-32:-20]):
        return 20
    raise ValueError("damaged, or of an unknown hash")


def _parse(data: bytes, version: int, count: int, hash_size: int) -> Iterator[tuple[bytes, bytes]]:
    at, name = _HEADER, b""
    for _ in range(count):
        begin = at
        blob = data[at + _STATUS : at + _STATUS + hash_size]
        at += _STATUS + hash_size
        flags = int.from_bytes(data[at : at + 2], "big")
        at += 2
        more = 0
        if flags & _EXTENDED:
            more = int.from_bytes(data[at : at + 2], "big")
            at += 2
        if version == 4:
            # The name shares a prefix with that of the entry before; only the rest is stored.
            cut, at = _offset(data, at)
            end = data.index(b"\0", at)
            name = name[: len(name) - cut] + data[at:end]
            at = end + 1
        else:
            end = data.index(b"\0", at)
            name = data[at:end]
            # One to eight zeros, up to a multiple of eight bytes.
            at = begin + (end - begin + 8) // 8 * 8
        if not flags & _STAGE and not more & _INTENT_TO_ADD:
            yield name, blob


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """Read a number as in the offsets of deltas (pack-format). Return it and its end.

    Raises:
        ValueError: it has no end.
    """
    value = -1
    for place in range(at, at + 8):
        byte = data[place] if place < len(data) else 0x80
        value = (value + 1) << 7 | (byte & 0x7F)
        if not byte & 0x80:
            return value, place + 1
    raise ValueError("a number without an end")
