"""A member of an archive as the content of an artifact."""

from __future__ import annotations

import posixpath
from collections.abc import Hashable
from functools import partial
from typing import Any, Protocol

from abiscan.binary import Binary
from abiscan.errors import UnreadableFile
from abiscan.inputs.cache import KeptFiles
from abiscan.inputs.unpacked import Buffer, Unpacked


class MemberArchive(Protocol):
    """An open archive that caches its unpacked members."""

    display: str
    kept: KeptFiles

    def unpack(self, member: Any, display: str, into: Unpacked | None = None) -> Buffer:
        """Unpack a whole member, into the given place or to memory."""

    def neighbour(self, name: str, limit: int) -> bytes | None:
        """The bytes of a member by its name; None if it may not be read or there is none."""


class MemberContent:
    """A member as an artifact's content.

    Args:
        member: what `archive.unpack` takes; key: identifies it in the archive.
    """

    def __init__(self, archive: MemberArchive, name: str, member: object, key: Hashable, size: int) -> None:
        self._archive, self._name, self._member, self._key, self._size = archive, name, member, key, size

    def open(self, display: str) -> Binary:
        """As `Artifact.open`."""
        unpack = partial(self._archive.unpack, self._member, display)
        return self._archive.kept.whole(self._key, self._size, display, unpack)

    def open_tables(self, display: str) -> Binary:
        """As `Artifact.open_tables`."""
        unpack = partial(self._archive.unpack, self._member, display)
        return self._archive.kept.tables(self._key, self._size, display, unpack)

    def read(self, limit: int) -> bytes:
        """As `Artifact.read`."""
        display = f"{self._archive.display}!{self._name}"
        if self._size > limit:
            raise UnreadableFile(display, f"larger than {limit} bytes")
        return bytes(self._archive.unpack(self._member, display))

    def neighbour(self, name: str, limit: int) -> bytes | None:
        """As `Artifact.neighbour`."""
        return self._archive.neighbour(posixpath.join(posixpath.dirname(self._name), name), limit)
