"""Kinds of containers, and the declarations of one as a value (made by `metadata.py`)."""

from __future__ import annotations

import enum

from msgspec import Struct


class ContainerKind(enum.StrEnum):
    """Kind of container of an artifact group."""

    FILE = "file"
    DIRECTORY = "directory"
    WHEEL = "wheel"
    SDIST = "sdist"
    CONDA = "conda"
    ARCHIVE = "archive"
    INSTALLED = "installed"


PLAIN = (ContainerKind.FILE, ContainerKind.DIRECTORY)
"""Those without metadata, which are no container in a report."""


class ContainerFacts(Struct, frozen=True):
    """Declarations of a wheel, conda package, sdist or installed distribution; empty if it declares nothing.

    Attributes:
        path: display path of the container.
        file_tags: compatibility tags of a wheel's file name, expanded (`cp311-cp311-manylinux_2_28_x86_64`).
        metadata_tags: `Tag` lines of its WHEEL file; they should be the same.
        requires_dist: `Requires-Dist` lines, verbatim; `depends` of a conda package.
        requires_python: `Requires-Python`, verbatim.
        unread: why its METADATA is unreadable; empty if it is readable.
        lacks: name of the required metadata file that is missing; empty if it exists.
    """

    path: str
    kind: ContainerKind
    name: str | None = None
    version: str | None = None
    file_tags: tuple[str, ...] = ()
    metadata_tags: tuple[str, ...] = ()
    requires_dist: tuple[str, ...] = ()
    requires_python: str | None = None
    unread: str = ""
    lacks: str = ""

    @property
    def declared_tags(self) -> tuple[str, ...]:
        """The tags of the file name; without any, those of its metadata."""
        return self.file_tags or self.metadata_tags
