"""Stored facts of a container, from which it can be checked against another release without reading it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from abiscan.analysis.dispatch_keys import KEY_POSITION, key_takers
from abiscan.analysis.shared_layouts import NOT_ITS_OWN
from abiscan.binary import Binary
from abiscan.binary.stored_binary import StoredBinary
from abiscan.binary.stored_values import StoredFile, StoredImports
from abiscan.errors import UnreadableFile
from abiscan.filesystem import HERE
from abiscan.inputs import Artifact, Group
from abiscan.loader.file_problem import first_problem, unknown_elsewhere
from abiscan.model.imports import Owner
from abiscan.model.report import ArtifactKind
from abiscan.ownership.names import OwnScopes, owner_of
from abiscan.provenance.called_operators import read_calls
from abiscan.provenance.provenance_facts import AOTINDUCTOR, CALLS_BY_NAME, PYBIND11, pybind11_ids
from abiscan.provenance.read_operators import find_operators
from abiscan.releases.assertions import MARK
from abiscan.releases.open_layouts import layouts_of
from abiscan.wheel.container_facts import ContainerFacts


class StoredArtifact(Struct, frozen=True):
    """Facts of one shared object of a container.

    Attributes:
        file: the facts; None if it could not be read, for the reason in `unreadable`.
    """

    path: str
    member: str | None
    size: int
    install_path: str | None
    file: StoredFile | None
    unreadable: str = ""


class StoredContainer(Struct, frozen=True):
    """A wheel, package or archive with its shared objects, in the order in which they were checked."""

    facts: ContainerFacts
    aliases: dict[str, str]
    artifacts: tuple[StoredArtifact, ...]


class FactKeeper:
    """Collects the facts of the files of a container while they are checked."""

    def __init__(self) -> None:
        self._files: dict[str, StoredFile] = {}
        self._groups: dict[str, tuple[Group, list[Artifact]]] = {}
        self._unreadable: dict[str, str] = {}

    def keep(self, artifact: Artifact) -> None:
        """Add a shared object that was just checked, while it is open.

        Raises:
            UnreadableFile: a table lies outside of the file.
        """
        self._of(artifact)
        found = stored_file(artifact.open())
        if CALLS_BY_NAME in found.imports.names:
            found = replace(found, calls=read_calls(artifact, HERE))
        self._files[artifact.display] = found

    def refuse(self, artifact: Artifact, reason: str) -> None:
        """Add an artifact that could not be read."""
        self._of(artifact)
        self._unreadable[artifact.display] = reason

    def _of(self, artifact: Artifact) -> None:
        self._groups.setdefault(artifact.group.key, (artifact.group, []))[1].append(artifact)

    def containers(self) -> Iterator[StoredContainer]:
        """The collected containers. Call this after all files were checked: only then are the imports that files of a
        package resolve from each other known."""
        for group, artifacts in self._groups.values():
            exported = self._exported(artifacts) if len(artifacts) > 1 else {}
            yield StoredContainer(group.facts, group.aliases, tuple(self._stored(each, exported) for each in artifacts))

    def _stored(self, artifact: Artifact, exported: Mapping[str, tuple[str, ...]]) -> StoredArtifact:
        found = self._files.get(artifact.display)
        if found is not None:
            more = exported.get(artifact.display, ())
            found = replace(found, exported=tuple(dict.fromkeys((*found.exported, *more))))
        reason = self._unreadable.get(artifact.display, "")
        return StoredArtifact(artifact.path, artifact.member, artifact.size, artifact.install_path, found, reason)

    def _exported(self, artifacts: list[Artifact]) -> dict[str, tuple[str, ...]]:
        kept = [each for each in artifacts if each.display in self._files]
        asked = tuple(dict.fromkeys(name for each in kept for name in self._asked(each)))
        found = {}
        for each in kept:
            with suppress(UnreadableFile):  # reported as unread when it is checked again
                found[each.display] = tuple(sorted(each.open_tables().exported_among(asked)))
        return found

    def _asked(self, artifact: Artifact) -> Iterator[str]:
        """The imports that another file of the package may export: those of the C library and of Python are not."""
        for each in self._files[artifact.display].imports.rows():
            if owner_of(each.name, each.version) not in (Owner.LIBC, Owner.PYTHON):
                yield each.name


def stored_file(binary: Binary) -> StoredFile:
    """The facts of a file that a check against any release may need.

    Raises:
        UnreadableFile: a table lies outside of the file.
    """
    facts = binary.facts()
    names = [each.name for each in facts.imports]
    beginnings: list[str] = []

    def names_with_prefix(prefix: str, limit: int) -> tuple[str, ...]:
        found = binary.names_with_prefix(prefix, limit)
        beginnings.extend([prefix] if found else [])
        return found

    scopes = OwnScopes(names_with_prefix)
    for each in facts.imports:
        owner_of(each.name, each.version, None, scopes)
    names_with_prefix("PyInit_", 1)  # a Python module exports this name itself
    of_torch = [name for name in names if owner_of(name) is Owner.TORCH]
    layouts = layouts_of(binary.machine, None) if of_torch else None
    ids = tuple(pybind11_ids(binary))
    return StoredFile(
        facts=replace(facts, imports=()),
        imports=StoredImports.of(facts.imports),
        exported=(AOTINDUCTOR,) if binary.exports_name(AOTINDUCTOR) else (),
        prefixes=tuple(beginnings),
        derived=binary.derived_classes(),
        device=binary.device_images(),
        strings={
            PYBIND11.decode("ascii"): ids,
            **({MARK.decode("ascii"): tuple(binary.strings_with(MARK))} if of_torch else {}),
        },
        marks=binary.build_marks(),
        problem=first_problem(binary) or unknown_elsewhere(binary),
        operators=find_operators(binary, names),
        sites=binary.call_sites(of_torch),
        record_sizes=binary.record_sizes(layouts.changing.keys()) if layouts is not None else {},
        record_holders=binary.record_holders(layouts.changing.keys(), NOT_ITS_OWN) if layouts is not None else {},
        constants=binary.call_constants(takers, KEY_POSITION) if (takers := key_takers(of_torch)) else {},
        bound=binary.bound_functions() if ids and of_torch else (),
    )


class _StoredContent:
    """Content of an artifact from a stored file."""

    def __init__(self, stored: StoredArtifact) -> None:
        self._stored = stored
        self._binary: StoredBinary | None = None

    def open(self, display: str) -> Binary:
        """As `Artifact.open`."""
        if self._binary is None:
            if self._stored.file is None:
                raise UnreadableFile(display, self._stored.unreadable)
            self._binary = StoredBinary(self._stored.file)
        return self._binary

    def open_tables(self, display: str) -> Binary:
        """As `Artifact.open_tables`."""
        return self.open(display)

    def read(self, limit: int) -> bytes:
        """Unavailable: the bytes are not stored."""
        raise UnreadableFile(self._stored.path, "its contents are not among its stored facts: scan the file itself")

    def neighbour(self, name: str, limit: int) -> bytes | None:
        """Unavailable, as `read`."""
        return None


def artifacts_of(container: StoredContainer, key: str) -> Iterator[Artifact]:
    """The artifacts of a stored container, in the form in which `inputs.expand` yields them."""
    group = Group(key, container.facts, dict(container.aliases))
    for each in container.artifacts:
        group.add(
            Artifact(
                path=each.path,
                member=each.member,
                kind=ArtifactKind.SHARED_OBJECT,
                size=each.size,
                group=group,
                disk_path=None,
                install_path=each.install_path,
                content=_StoredContent(each),
            )
        )
    yield from group
