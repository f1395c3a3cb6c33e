"""What the stage hands on: artifacts, the group that each belongs to, and what a group's container declares."""

from __future__ import annotations

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
from abiscan.wheel.metadata import ContainerFacts

if TYPE_CHECKING:
    from abiscan.binary import Binary
    from abiscan.inputs.scratch import Scratch
    from abiscan.model.progress import Progress


class Limits(Struct, frozen=True):
    """How far hostile input is followed. Sizes in bytes.

    Attributes:
        members: most members of one archive. A zip file without Zip64 records holds no more; torch, the largest
            wheel known, has 13,000.
        files: most files looked at in one directory.
        member: largest member that is unpacked. libtorch_cuda.so has 1.1 GiB.
        total: most that is unpacked from one archive, nested ones included.
        ratio: a member or stream above `ratio_from` that unpacks to more than this many times its packed size is
            taken for a zip bomb. Shared objects that patchelf padded with zeros reach 420, at 4 MiB; larger ones 20.
        depth: archives inside of archives that are followed; 1 is the named one alone.
        metadata: largest METADATA, WHEEL, PKG-INFO or index.json that is read.
        kept: unpacked shared objects of one archive that are kept for siblings; more where the largest one has more.
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
    """What to look for.

    Attributes:
        sources: yield C++/CUDA/HIP sources and generated kernels of directories, sdists and plain archives. A source
            file that is named itself is always yielded; wheels, conda packages and installed packages never yield
            their headers.
        archives: look into archives that are named, or lie in a directory; they are passed over in silence where not.
        texts_by_name: members of archives that are named as texts, pictures and tables are (`.py`, `.h`, `.json`) are
            taken for such and not looked into: each look asks a server for a range.
        files: where the targets' paths are.
        called: absolute path -> what reports call it, for files that the user knows by another name (fetched wheels).
        scratch: for the one archive that is named, where several processes read it.
        hashes: `Binary.sha256` will be asked of every shared object.
        progress: is told what is read of archives.
    """

    limits: Limits = Limits()
    sources: bool = True
    archives: bool = True
    texts_by_name: bool = False
    files: FileSystem = HERE
    called: Mapping[str, str] = {}
    scratch: Scratch | None = None
    hashes: bool = False
    progress: Progress | None = None


class Note(Struct, frozen=True):
    """Something worth saying about a target that is no error: a pure-Python wheel."""

    path: str
    message: str


class Content(Protocol):
    """Where an artifact's bytes come from."""

    def open(self, display: str) -> Binary:
        """All of it."""

    def open_tables(self, display: str) -> Binary:
        """Enough of it for facts and symbol lookups; the rest may read as zeros."""

    def read(self, limit: int) -> bytes:
        """The bytes."""

    def neighbour(self, name: str, limit: int) -> bytes | None:
        """As `Artifact.neighbour`."""


class Group(Struct, eq=False):
    """The artifacts that are shipped together (a wheel, a package, a directory): siblings provide for each other.

    Attributes:
        key: unique within a run.
        facts: what the container declares.
        aliases: symbolic links inside the container: place of the link -> place of the file.
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
        """For the makers of groups; a group is complete when its first artifact is handed out."""
        self._artifacts.append(artifact)

    def named(self, soname: str) -> tuple[Artifact, ...]:
        """The shared objects whose file name, or a symbolic link to them, is `soname`, in order of their place.

        File names are what the loader searches for; that a library calls itself otherwise (DT_SONAME) matters only
        once it is loaded.
        """
        if not self._names:
            places = {}
            for artifact in self._artifacts:
                if artifact.kind is ArtifactKind.SHARED_OBJECT:
                    places[artifact.place] = artifact
            for place in sorted(places):
                self._names.setdefault(file_key(place), []).append(places[place])
            for link in sorted(self.aliases):
                target = places.get(self.aliases[link])
                known = self._names.setdefault(file_key(link), [])
                if target is not None and target not in known:
                    known.append(target)
        return tuple(self._names.get(file_key(soname), ()))


class Artifact(Struct, frozen=True):
    """A shared object or source that was named, or lies in something that was.

    Attributes:
        path: of the file or of its outermost container, relative to where the user stood if it lies below.
        member: its name inside the container; `inner.whl!pkg/_C.so` where containers are nested.
        size: in bytes, unpacked.
        group: what it was shipped with.
        disk_path: absolute path of the file itself, of the file system that is looked at; None for a member of an
            archive.
        install_path: where a wheel's or package's member is installed, relative to site-packages (`../../../lib/x.so`
            for a wheel's `.data/data/`); None where that cannot be told.
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
        """`path`, or `path!member`: how it is called in messages."""
        return self.path if self.member is None else f"{self.path}!{self.member}"

    @property
    def place(self) -> str:
        """Where it lies among its siblings, by which `$ORIGIN` is expanded: its install path, else its name in the
        archive, else its path on disk."""
        return self.install_path or self.member or self.disk_path or self.path

    def open(self) -> Binary:
        """Read it: a memory map for a file on disk, unpacked to memory for a member.

        The last few unpacked members stay in memory (`Limits.kept`); don't hold on to what is returned for longer
        than the work on it takes.

        Raises:
            UnreadableFile: it is no binary after all, or the archive is damaged.
        """
        return self.content.open(self.display)

    def open_tables(self) -> Binary:
        """The same for looking names up only: a `Binary` whose facts, imports and exports are right and whose code
        and data may read as zeros. Cheap to keep, and each member is unpacked once for it.

        Raises:
            UnreadableFile: as `open`.
        """
        return self.content.open_tables(self.display)

    def read(self, limit: int = MAX_SOURCE_SIZE) -> bytes:
        """The bytes of a source.

        Raises:
            UnreadableFile: it has more than `limit` bytes, or cannot be read.
        """
        return self.content.read(limit)

    def beside(self, suffix: str, files: FileSystem, limit: int = MAX_COMPANION) -> bytes | None:
        """The bytes of the file that has its name with another suffix and lies beside it (`x.json` beside `x.so`), as
        `neighbour`."""
        base = (self.disk_path or self.place).rpartition("/")[2]
        return self.neighbour(posixpath.splitext(base)[0] + suffix, files, limit)

    def neighbour(self, name: str, files: FileSystem, limit: int = MAX_COMPANION) -> bytes | None:
        """The bytes of the file of a name in its folder; None where there is none.

        Args:
            files: where it is, unless in an archive.

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
