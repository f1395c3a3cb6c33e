"""Builds a finished group from the members of a container: the common part of all kinds of archives."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from abiscan.binary import describe_other
from abiscan.inputs import file_kind
from abiscan.inputs.artifact import Artifact, Content, Group, Note, Options
from abiscan.inputs.byte_source import ByteSource
from abiscan.model.limits import MAX_LINK_STEPS, MAX_MEMBER_NAME
from abiscan.model.report import ArtifactKind, InputError
from abiscan.wheel.container_facts import ContainerFacts, ContainerKind
from abiscan.wheel.metadata import find_excess_of_metadata
from abiscan.wheel.wheel_name import find_excess_of_wheel_name

# Further errors of one archive are counted, not listed.
_MAX_LISTED = 20
# MAXSYMLINKS of Linux (include/linux/namei.h).
_MAX_LINKS = 40
# Number of characters shown of a name that is too long.
_SHOWN = 100
_WITHOUT_SOURCES = (ContainerKind.WHEEL, ContainerKind.CONDA, ContainerKind.INSTALLED)


class MemberPlace(Struct, frozen=True):
    """The position of a container.

    Attributes:
        path: display path of the outermost container.
        inside: names of the nested ones down to this, joined by `!`; None for the outermost.
        depth: 1 for the outermost.
    """

    path: str
    inside: str | None
    depth: int

    @property
    def display(self) -> str:
        """Name of the container in messages."""
        return self.path if self.inside is None else f"{self.path}!{self.inside}"

    @property
    def name(self) -> str:
        """File name of the container itself."""
        return (self.inside or self.path).rsplit("!", 1)[-1].rsplit("/", 1)[-1]

    def member(self, name: str) -> str:
        """`Artifact.member` for a member of this container."""
        return name if self.inside is None else f"{self.inside}!{name}"

    def below(self, name: str) -> MemberPlace:
        """The position of an archive in this one."""
        return MemberPlace(self.path, self.member(name), self.depth + 1)


class InnerArchive(Struct, frozen=True):
    """An archive in another.

    Attributes:
        form: as of `file_kind.archive_form`.
        open: returns its bytes, from its display path; raises UnreadableFile.
    """

    name: str
    form: str
    open: Callable[[str], ByteSource]


def not_read(excess: str) -> str:
    """Error text for metadata that exceeds a limit (`find_excess_of_metadata`)."""
    return f"not read, because it has {excess}. The declarations of the package there are unknown"


class Links:
    """The symbolic and hard links of an archive: path of the link -> its target; None for a target outside of the
    archive."""

    def __init__(self) -> None:
        self.targets: dict[str, str | None] = {}
        self._steps = MAX_LINK_STEPS

    def add(self, name: str, target: str) -> None:
        """Add a link to a path in the archive, relative to its top."""
        path = posixpath.normpath(target)
        self.targets[name] = None if len(target) > MAX_MEMBER_NAME or file_kind.is_unsafe_name(path) else path

    def follow(self, path: str) -> str | None:
        """Resolve the links in a path; None if it leads out of the archive, or through too many links."""
        for _ in range(_MAX_LINKS):
            parts = path.split("/")
            for end in range(1, len(parts) + 1):
                self._steps -= 1
                link = "/".join(parts[:end])
                if self._steps < 0:
                    return None
                if link in self.targets:
                    target = self.targets[link]
                    if target is None:
                        return None
                    path = posixpath.normpath(posixpath.join(target, *parts[end:]))
                    if file_kind.is_unsafe_name(path):
                        return None
                    break
            else:
                return path
        return None


class Collector(Struct):
    """Selects the wanted members of a container, one by one; `finish` makes the group.

    Attributes:
        may_link: whether members may be symbolic links.
        nested: archives among the members.
    """

    place: MemberPlace
    options: Options
    may_link: bool = True
    names: list[str] = field(default_factory=list)
    metadata: dict[str, bytes] = field(default_factory=dict)
    links: Links = field(default_factory=Links)
    nested: list[InnerArchive] = field(default_factory=list)
    _found: list[tuple[str, int, ArtifactKind, Content]] = field(default_factory=list)
    _errors: dict[str, list[str]] = field(default_factory=dict)
    _total: int = 0

    def error(self, name: str, message: str) -> None:
        """Record an error of a member."""
        self._errors.setdefault(message, []).append(name)

    def refuses(self, name: str) -> bool:
        """Whether a member's name is refused as unsafe or too long, which is recorded as an error."""
        if len(name) > MAX_MEMBER_NAME:
            self.error(f"{name[:_SHOWN]}...", f"a name of {len(name)} characters, longer than any path: not read")
        elif file_kind.is_unsafe_name(name):
            self.error(name, "a name that leads out of the archive: not read; the archive is broken or hostile")
        else:
            return False
        return True

    def add_metadata(self, name: str, content: bytes) -> None:
        """Add the content of a member that `is_metadata` accepts."""
        excess = find_excess_of_metadata(name, content)
        if excess:
            self.error(name, not_read(excess))
        else:
            self.metadata[name] = content

    def check(self, name: str, size: int, head: bytes) -> ArtifactKind | None:
        """The kind of a member, from its first PEEK_SIZE bytes. Members named like a shared object that are none, and
        members that exceed the limits, are recorded as errors."""
        limits = self.options.limits
        if file_kind.shared_object_inside(head, name):
            kind = ArtifactKind.SHARED_OBJECT
        elif file_kind.named_like_shared_object(name):
            self.error(name, describe_other(head[:512]))
            return None
        else:
            source = file_kind.source_kind(name, head) if self.options.sources else None
            if source is None:
                return None
            kind = source
        self._total += size
        if size > limits.member or self._total > limits.total:
            self.error(name, "would unpack to more than the limits allow: unpack the archive and name the directory")
            return None
        return kind

    def add(self, name: str, size: int, kind: ArtifactKind, content: Content) -> None:
        """Add a member that `check` accepted."""
        self._found.append((name, size, kind, content))

    def finish(self, kind: ContainerKind, *, largest_first: bool) -> Iterator[Artifact | InputError | Note]:
        """The errors, then the artifacts, of a container after its last member."""
        from abiscan.wheel.metadata import container_facts, install_path

        facts = container_facts(self.place.display, self.place.name, kind, self.metadata, self.names)
        wanted = [f for f in self._found if f[2] is ArtifactKind.SHARED_OBJECT or kind not in _WITHOUT_SOURCES]
        group = Group(self.place.display, facts, self._aliases(kind))
        artifacts = [
            Artifact(
                path=self.place.path,
                member=self.place.member(name),
                kind=what,
                size=size,
                group=group,
                disk_path=None,
                install_path=install_path(kind, name),
                content=content,
            )
            for name, size, what, content in wanted
        ]
        for artifact in artifacts:
            group.add(artifact)
        excess = find_excess_of_wheel_name(self.place.name) if kind is ContainerKind.WHEEL else ""
        if excess:
            yield InputError(self.place.display, f"its tags are not read, because it has {excess}")
        yield from self._listed_errors()
        # Small libraries need large ones more often than the reverse: the largest is unpacked while nothing else is in
        # memory, and leaves its tables for the others.
        yield from sorted(artifacts, key=lambda a: (-a.size, a.member or "")) if largest_first else artifacts

    def _aliases(self, kind: ContainerKind) -> dict[str, str]:
        """Path of each link to a shared object of the container -> path of that object. Links that are named like a
        shared object or an archive but do not lead to one are recorded as errors."""
        from abiscan.wheel.metadata import install_path

        found = {name for name, _size, what, _content in self._found if what is ArtifactKind.SHARED_OBJECT}
        names = set(self.names)
        reported = {name for each in self._errors.values() for name in each}
        aliases = {}
        for name in sorted(self.links.targets):
            target = self.links.follow(name)
            if target in found:
                aliases[install_path(kind, name) or self.place.member(name)] = install_path(
                    kind, target
                ) or self.place.member(target)
            elif target not in reported and file_kind.named_like_shared_object(name):
                inside = (
                    "a file that is not a shared object" if target in names else "a file that is not in the archive"
                )
                self.error(name, f"a link to {inside}: not checked")
            elif target not in names and file_kind.named_like_archive(name):
                self.error(name, "a link to a file that is not in the archive: not read")
        return aliases

    def _listed_errors(self) -> Iterator[InputError]:
        listed = 0
        for message, names in sorted(self._errors.items()):
            room = max(0, _MAX_LISTED - listed)
            listed += len(names)
            if len(names) <= room:
                for name in sorted(names):
                    yield InputError(f"{self.place.display}!{name}", message)
            else:
                yield InputError(self.place.display, f"{len(names)} members, {min(names)} the first: {message}")


def nothing_found(place: MemberPlace, facts: ContainerFacts) -> InputError | Note:
    """The result for a container without artifacts, nested archives and errors."""
    if facts.kind in (ContainerKind.WHEEL, ContainerKind.CONDA, ContainerKind.INSTALLED):
        return Note(place.display, "no shared object inside (pure Python)")
    if facts.kind is ContainerKind.SDIST:
        return Note(place.display, "no shared object and no C++ or CUDA source inside (pure Python)")
    what = "directory" if facts.kind is ContainerKind.DIRECTORY else "archive"
    return InputError(place.display, f"no shared object in this {what}")
