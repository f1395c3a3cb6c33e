"""Results of this stage: artifacts, their groups, and the declarations of a group's container."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from abiscan.errors import UnreadableFile
from abiscan.filesystem import HERE, FileSystem
from abiscan.model.limits import (
    MAX_ARCHIVE_DEPTH,
    MAX_COMPANION,
    MAX_FILES,
    MAX_MEMBER_SIZE,
    MAX_MEMBERS,
    MAX_METADATA,
    MAX_RATIO,
    MAX_SOURCE_SIZE,
    MAX_UNPACKED,
    MIB,
)
from abiscan.model.platforms import file_key
from abiscan.model.report import ArtifactKind
from abiscan.wheel.container_facts import ContainerFacts

if TYPE_CHECKING:
    from abiscan.binary import Binary
    from abiscan.inputs.scratch import Scratch
    from abiscan.model.progress import Progress


class Limits(Struct, frozen=True):
    """Limits for hostile input. Sizes in bytes.

    Attributes:
        members: maximum number of members of an archive. A zip file without Zip64 records has no more; torch, the
            largest known wheel, has 13,000.
        files: maximum number of files read in one directory.
        member: maximum size of a member that is unpacked. libtorch_cuda.so has 1.1 GiB.
        total: maximum size unpacked from one archive, including nested ones.
        ratio: a member or stream above `ratio_from` that unpacks to more than this many times its packed size is
            treated as a zip bomb. Shared objects that patchelf padded with zeros reach 420, at 4 MiB; larger ones 20.
        depth: maximum nesting of archives; 1 is only the archive on the command line.
        metadata: maximum size of METADATA, WHEEL, PKG-INFO or index.json.
        kept: size of the cache of unpacked shared objects of one archive for their siblings; larger if the largest one
            is.
    """

    members: int = MAX_MEMBERS
    files: int = MAX_FILES
    member: int = MAX_MEMBER_SIZE
    total: int = MAX_UNPACKED
    ratio: int = MAX_RATIO
    ratio_from: int = 64 * MIB
    depth: int = MAX_ARCHIVE_DEPTH
    metadata: int = MAX_METADATA
    kept: int = 32 * MIB


class Options(Struct, frozen=True):
    """Which files are searched for, and how.

    Attributes:
        sources: whether to yield C++/CUDA/HIP sources and generated kernels in directories, sdists and plain archives.
            A source file that is itself an input is always yielded; wheels, conda packages and installed packages never
            yield their headers.
        archives: whether to read archives that are inputs or in a directory; otherwise they are skipped silently.
        texts_by_name: skip members of archives with names of texts, pictures and tables (`.py`, `.h`, `.json`), because
            checking their content would request a range from the server.
        files: the file system of the inputs' paths.
        display_names: absolute path -> name in reports, for files that the user knows by another name (fetched wheels).
        scratch: for a single input archive that several processes read.
        hashes: whether `Binary.sha256` will be needed for every shared object.
        progress: receives what is read from archives.
    """

    limits: Limits = Limits()
    sources: bool = True
    archives: bool = True
    texts_by_name: bool = False
    files: FileSystem = HERE
    display_names: Mapping[str, str] = {}
    scratch: Scratch | None = None
    hashes: bool = False
    progress: Progress | None = None


class Note(Struct, frozen=True):
    """A remark on an input that is not an error, such as a pure-Python wheel."""

    path: str
    message: str


class Content(Protocol):
    """Source of an artifact's bytes."""

    def open(self, display: str) -> Binary:
        """Open the whole binary."""

    def open_tables(self, display: str) -> Binary:
        """Open enough of it for facts and symbol lookups; the rest may read as zeros."""

    def read(self, limit: int) -> bytes:
        """Read the bytes."""

    def neighbour(self, name: str, limit: int) -> bytes | None:
        """As `Artifact.neighbour`."""


class Group(Struct, eq=False):
    """Artifacts that are shipped together (a wheel, a package, a directory): siblings provide symbols for each other.

    Attributes:
        key: unique within a run.
        facts: declarations of the container.
        aliases: symbolic links inside the container: path of the link -> path of the file.
    """

    key: str
    facts: ContainerFacts
    aliases: dict[str, str] = field(default_factory=dict)
    _artifacts: list[Artifact] = field(default_factory=list)
    _names: dict[str, list[Artifact]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Artifact]:
        return iter(self._artifacts)

    def __len__(self) -> int:
        return len(self._artifacts)

    def add(self, artifact: Artifact) -> None:
        """Add an artifact while the group is built; a group is complete before its first artifact is yielded."""
        self._artifacts.append(artifact)

    def named(self, soname: str) -> tuple[Artifact, ...]:
        """The shared objects whose file name, or a symbolic link to them, is `soname`, in order of their path.

        The loader searches for file names; another DT_SONAME matters only after the library is loaded.
        """
        if not self._names:
            places = {}
            for artifact in self._artifacts:
                if artifact.kind is ArtifactKind.SHARED_OBJECT:
                    places[artifact.package_path] = artifact
            for place in sorted(places):
                self._names.setdefault(file_key(place), []).append(places[place])
            for link in sorted(self.aliases):
                target = places.get(self.aliases[link])
                known = self._names.setdefault(file_key(link), [])
                if target is not None and target not in known:
                    known.append(target)
        return tuple(self._names.get(file_key(soname), ()))


class Artifact(Struct, frozen=True):
    """A shared object or source that is an input or part of one.

    Attributes:
        path: of the file or of its outermost container, relative to the working directory if below it.
        member: its name inside the container; `inner.whl!pkg/_C.so` for nested containers.
        size: in bytes, unpacked.
        group: the artifacts with which it is shipped.
        disk_path: absolute path of the file itself, in the file system of the run; None for a member of an archive.
        install_path: path of a wheel's or package's member after installation, relative to site-packages
            (`../../../lib/x.so` for a wheel's `.data/data/`); None if it has no fixed one.
    """

    path: str
    member: str | None
    kind: ArtifactKind
    size: int
    group: Group
    disk_path: str | None
    install_path: str | None
    content: Content

    @property
    def display(self) -> str:
        """Its name in messages: `path` or `path!member`."""
        return self.path if self.member is None else f"{self.path}!{self.member}"

    @property
    def package_path(self) -> str:
        """Its path among its siblings, by which `$ORIGIN` is expanded: its install path, its name in the archive, or
        its path on disk."""
        return self.install_path or self.member or self.disk_path or self.path

    def open(self) -> Binary:
        """Open it: a memory map for a file on disk, unpacked to memory for a member.

        The last few unpacked members stay in memory (`Limits.kept`); do not keep the result longer than needed.

        Raises:
            UnreadableFile: it is not a binary, or the archive is damaged.
        """
        return self.content.open(self.display)

    def open_tables(self) -> Binary:
        """Open it for symbol lookups only: a `Binary` with correct facts, imports and exports, whose code and data may
        read as zeros. It uses little memory, and each member is unpacked once for it.

        Raises:
            UnreadableFile: as `open`.
        """
        return self.content.open_tables(self.display)

    def read(self, limit: int = MAX_SOURCE_SIZE) -> bytes:
        """Read the bytes of a source.

        Raises:
            UnreadableFile: it has more than `limit` bytes, or cannot be read.
        """
        return self.content.read(limit)

    def beside(self, suffix: str, files: FileSystem) -> bytes | None:
        """Read the file beside it with its name and another suffix (`x.json` beside `x.so`), as `neighbour`."""
        base = os.path.basename(self.disk_path or self.package_path)
        return self.neighbour(posixpath.splitext(base)[0] + suffix, files)

    def neighbour(self, name: str, files: FileSystem, limit: int = MAX_COMPANION) -> bytes | None:
        """Read a file in its directory by name; None if there is none.

        Args:
            files: its file system, unless it is in an archive.


        Raises:
            UnreadableFile: it has more than `limit` bytes, or cannot be read.
        """
        if self.disk_path is None:
            return self.content.neighbour(name, limit)
        path = posixpath.join(posixpath.dirname(self.disk_path), name)
        found = files.read(path, limit + 1)
        if found is not None and len(found) > limit:
            raise UnreadableFile(path, f"larger than {limit} bytes")
        return found
