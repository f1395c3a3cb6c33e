"""Wheels, sdists, conda packages, zip and tar archives: their members as artifacts, without unpacking to disk."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from abiscan.binary import PEEK_SIZE, looks_like_binary
from abiscan.errors import UnreadableFile
from abiscan.inputs import file_kind, zips
from abiscan.inputs.artifact import Artifact, Limits, Note, Options
from abiscan.inputs.byte_source import ByteSource, MemoryBytes, WindowBytes
from abiscan.inputs.cache import KeptFiles
from abiscan.inputs.inflate import stream_codec, unpack_member, zip_head, zip_method_error
from abiscan.inputs.member_content import MemberContent
from abiscan.inputs.members import Collector, InnerArchive, MemberPlace, not_read, nothing_found
from abiscan.inputs.scratch import Scratch
from abiscan.inputs.unpacked import Buffer, Unpacked
from abiscan.model.limits import MAX_NESTED_ARCHIVE
from abiscan.model.report import ArtifactKind, InputError
from abiscan.wheel.container_facts import ContainerKind
from abiscan.wheel.metadata import container_facts, find_kind, is_metadata

Expanded = Iterator[Artifact | InputError | Note]

if TYPE_CHECKING:
    from abiscan.inputs.tar_archive import TarArchive, TarReader

# Symbolic links are stored with their target as content.
_MAX_LINK = 4096
_CONDA_INDEX = "info/index.json"
_GLANCE = 64
# Suffix of files beside a shared object that may be read (`Artifact.beside`).
_NEIGHBOUR = ".json"
# Maximum size of the start of a member: bzip2 and zstd have no output before a whole block is read. The slack is for
# the extra field of the local header.
_MAX_AHEAD, _SLACK = 1 << 20, 256


def expand_archive(source: ByteSource, form: str, place: MemberPlace, options: Options) -> Expanded:
    """The artifacts of an archive and of archives in it, down to `Limits.depth`.

    Args:
        form: result of `file_kind.archive_form`.
    """
    try:
        if form == "zip":
            yield from _expand_zip(source, place, options)
        else:
            yield from _expand_tar(source, form, place, options)
    except UnreadableFile as error:
        yield InputError(error.path, error.reason)


def expand_source(source: ByteSource, display: str, options: Options) -> Expanded:
    """The artifacts of an archive that is not a local file, from its bytes.

    Args:
        display: its name in messages; the last part is its file name.
    """
    try:
        # A wheel is a zip file by its specification; other files are identified by content.
        named = display.endswith((".whl", ".conda"))
        form = "zip" if named else file_kind.archive_form(source.read_at(0, PEEK_SIZE))
    except UnreadableFile as error:
        yield InputError(error.path, error.reason)
        return
    if form is None:
        yield InputError(display, "not an archive")
        return
    yield from expand_archive(source, form, MemberPlace(display, None, 1), options)


# --- zip --------------------------------------------------------------------------------------------------------


class ZipArchive:
    """An open zip file that unpacks members and caches them within its limits."""

    def __init__(
        self, source: ByteSource, display: str, limits: Limits, scratch: Scratch | None = None, *, hashes: bool = False
    ) -> None:
        self.source, self.display, self.limits = source, display, limits
        self.kept = KeptFiles(limits.kept, scratch, hashes=hashes)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.source, self.display, self.limits

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    @cached_property
    def members(self) -> Mapping[str, zips.ZipMember]:
        """Members by name."""
        return {member.name: member for member in zips.members(self.source, self.display, self.limits)}

    def head(self, member: zips.ZipMember, size: int) -> bytes:
        """The first bytes of a member; fewer if it is damaged."""
        wanted = min(size, member.size)
        ahead = 2 * size + _SLACK
        while True:
            _offset, data = zips.data_start(self.source, member, self.display, ahead=ahead)
            head = zip_head(data, member.method, wanted)
            if len(head) >= wanted or len(data) >= member.packed or ahead > _MAX_AHEAD:
                return head
            ahead *= 16

    def unpack(self, member: zips.ZipMember, display: str, into: Unpacked | None = None) -> Buffer:
        """Unpack a whole member, into the given place or to memory."""
        offset = zips.data_offset(self.source, member, display)
        self.source.will_read(offset, member.packed)
        return unpack_member(self.source, offset, member, display, into)

    def content(self, member: zips.ZipMember) -> MemberContent:
        """A member as an artifact's content."""
        return MemberContent(self, member.name, member, member.offset, member.size)

    def neighbour(self, name: str, limit: int) -> bytes | None:
        """The bytes of a member; None if there is none."""
        other = self.members.get(name)
        return None if other is None else self.content(other).read(limit)


def _expand_zip(source: ByteSource, place: MemberPlace, options: Options) -> Expanded:
    limits = options.limits
    scratch = options.scratch if place.depth == 1 else None
    archive = ZipArchive(source, place.display, limits, scratch, hashes=options.hashes)
    collector = Collector(place, options)
    by_name: dict[str, zips.ZipMember] = {}
    for member in zips.members(source, place.display, limits):
        if member.is_directory:
            continue
        if member.name in by_name and file_kind.named_like_shared_object(member.name):
            collector.error(member.name, "two members of this name: which one is installed depends on the installer")
        by_name[member.name] = member  # the last one wins, as with Python's zipfile, which installers use
    if find_kind(place.name, by_name) is ContainerKind.WHEEL:
        collector.options = replace(options, sources=False)
        collector.may_link = False
    for name, member in by_name.items():
        _check_zip_member(archive, name, member, collector)
    collector.names = list(by_name)
    collector.nested.sort(key=lambda inner: inner.name)
    if collector.nested and find_kind(place.name, collector.metadata) is ContainerKind.CONDA:
        yield from _expand_conda(collector.nested, place, options)
    else:
        yield from _expand_collected(archive, collector, options, largest_first=True)


def _expand_collected(
    archive: ZipArchive | TarArchive,
    collector: Collector,
    options: Options,
    *,
    largest_first: bool,
    damage: UnreadableFile | None = None,
) -> Expanded:
    """The artifacts of an archive and of archives in it, after its last member.

    Args:
        damage: why further members are unknown.
    """
    place = collector.place
    kind = find_kind(place.name, collector.metadata)
    results = list(collector.finish(kind, largest_first=largest_first))
    if damage is not None:
        yield InputError(damage.path, damage.reason)
    yield from results
    archive.kept.clear()
    if not results and not collector.nested and damage is None:
        facts = container_facts(place.display, place.name, kind, collector.metadata, collector.names)
        yield nothing_found(place, facts)
    for inner in collector.nested:
        below = place.below(inner.name)
        if below.depth > archive.limits.depth:
            yield InputError(below.display, f"an archive inside of {below.depth - 1} others: not followed deeper")
            continue
        try:
            source = inner.open(below.display)
        except UnreadableFile as error:
            yield InputError(error.path, error.reason)
            continue
        yield from expand_archive(source, inner.form, below, options)


def _check_zip_member(archive: ZipArchive, name: str, member: zips.ZipMember, collector: Collector) -> None:
    limits = archive.limits
    if collector.refuses(name):
        return None
    if member.encrypted:
        return collector.error(name, "encrypted: decrypt it first")
    if (reason := zip_method_error(member.method)) is not None:
        return collector.error(name, reason)
    if collector.options.texts_by_name and file_kind.named_like_text(name) and not is_metadata(name):
        return None
    try:
        if is_metadata(name):
            if member.size > limits.metadata:
                return collector.error(name, not_read(f"{member.size} bytes; no more than {limits.metadata} are read"))
            return collector.add_metadata(name, bytes(archive.unpack(member, f"{archive.display}!{name}")))
        # Unpacking 64 bytes of each of thousands of members is faster than unpacking 1,024.
        size = PEEK_SIZE if _has_wanted_name(name, collector.options) else _GLANCE
        head = archive.head(member, size)
        if size == _GLANCE and looks_like_binary(head):
            head = archive.head(member, PEEK_SIZE)
    except UnreadableFile as error:
        return collector.error(name, error.reason)
    # Installers of wheels write every member as a regular file, whatever its mode; a binary is not a link.
    if member.is_link and collector.may_link and not looks_like_binary(head):
        # `head` has at most _GLANCE or PEEK_SIZE bytes of it.
        whole = head if member.size <= len(head) else archive.head(member, _MAX_LINK)
        target = whole.decode("utf-8", "surrogateescape")
        return collector.links.add(name, posixpath.join(posixpath.dirname(name), target))
    if len(head) < min(member.size, 4):
        return collector.error(name, "damaged: its compressed data cannot be unpacked")
    form = file_kind.archive_form(head) if file_kind.named_like_archive(name) else None
    if form is not None:
        return collector.nested.append(InnerArchive(member.name, form, partial(_nested_source, archive, member)))
    kind = collector.check(name, member.size, head)
    if kind is None:
        return None
    if member.size > limits.ratio_from and member.size > limits.ratio * member.packed:
        return collector.error(
            name, f"unpacks to more than {limits.ratio} times its size, as a zip bomb does: not unpacked"
        )
    if kind is ArtifactKind.SHARED_OBJECT:
        archive.kept.allow(member.offset, member.size)
    collector.add(name, member.size, kind, archive.content(member))
    return None


def _has_wanted_name(name: str, options: Options) -> bool:
    return (
        file_kind.named_like_archive(name)
        or file_kind.named_like_shared_object(name)
        or (options.sources and file_kind.source_suffix(name))
    )


def _nested_source(archive: ZipArchive, member: zips.ZipMember, display: str) -> ByteSource:
    if member.method == 0:
        return WindowBytes(archive.source, zips.data_offset(archive.source, member, display), member.packed)
    if member.size > min(MAX_NESTED_ARCHIVE, archive.limits.member):
        raise UnreadableFile(
            display, f"an archive of {member.size} bytes inside of another: unpack the outer one first"
        )
    return MemoryBytes(archive.unpack(member, display))


# --- conda ------------------------------------------------------------------------------------------------------


def _expand_conda(nested: list[InnerArchive], place: MemberPlace, options: Options) -> Expanded:
    """A .conda file: a zip of pkg-*.tar.zst, with the files, and info-*.tar.zst, with index.json (conda's package
    specification, ".conda file format"). Member names do not include the inner archive names."""
    from abiscan.inputs.tar_archive import TarReader

    metadata: dict[str, bytes] = {}
    for inner in nested:
        if inner.name.startswith("info-"):
            source = inner.open(place.display)
            reader = TarReader(source, stream_codec(source.read_at(0, 8)), place.display, options.limits)
            for entry in reader:
                if entry.name != _CONDA_INDEX or not entry.isreg():
                    continue
                if entry.size > options.limits.metadata:
                    excess = f"{entry.size} bytes (limit: {options.limits.metadata})"
                    raise UnreadableFile(f"{place.display}!{_CONDA_INDEX}", not_read(excess))
                metadata[_CONDA_INDEX] = bytes(reader.rest(entry, reader.head(entry, 0)))
    for inner in nested:
        if inner.name.startswith("pkg-"):
            yield from _expand_tar(inner.open(place.display), inner.form, place, options, metadata)


# --- tar --------------------------------------------------------------------------------------------------------


def _expand_tar(
    source: ByteSource, form: str, place: MemberPlace, options: Options, metadata: Mapping[str, bytes] = {}
) -> Expanded:
    """As `expand_archive`.

    Args:
        metadata: metadata of the package that is beside the archive.
    """
    from abiscan.inputs.tar_archive import TarArchive, TarReader

    codec = None if form == "tar" else form
    archive = TarArchive(source, codec, place.display, options.limits, hashes=options.hashes)
    collector = Collector(place, options)
    for name, content in metadata.items():
        collector.names.append(name)
        collector.add_metadata(name, content)
    damage = None
    try:
        _collect_tar(archive, TarReader(source, codec, place.display, options.limits), collector)
    except UnreadableFile as error:
        damage = error  # members before it are valid
    stems = {posixpath.splitext(name)[0] for name in collector.names if not name.endswith(_NEIGHBOUR)}
    archive.neighbours = {
        name: number for name, number in archive.neighbours.items() if posixpath.splitext(name)[0] in stems
    }
    yield from _expand_collected(archive, collector, options, largest_first=False, damage=damage)


def _collect_tar(archive: TarArchive, reader: TarReader, collector: Collector) -> None:
    seen: set[str] = set()
    for number, member in enumerate(reader):
        name = posixpath.normpath(member.name) if not file_kind.is_unsafe_name(member.name) else member.name
        if member.isdir() or collector.refuses(name):
            continue
        if name in seen and _is_wanted(name):
            collector.error(name, "two members of this name: which one is unpacked depends on the order")
        elif member.issym() or member.islnk():
            # A hard link has its target relative to the top of the archive (POSIX pax, "linkname").
            folder = "" if member.islnk() else posixpath.dirname(name)
            collector.links.add(name, posixpath.join(folder, member.linkname))
            seen.add(name)
        elif not member.isreg() or member.issparse():
            if _is_wanted(name):
                what = "a sparse member of a tar archive: unpack it first"
                collector.error(name, what if member.isreg() else f"{_special(member.type)}, not a file: not checked")
        else:
            seen.add(name)
            collector.names.append(name)
            if name.endswith(_NEIGHBOUR):
                archive.neighbours[name] = number
            _check_tar_member(archive, reader, (number, member, name), collector)


def _is_wanted(name: str) -> bool:
    return file_kind.named_like_shared_object(name) or file_kind.named_like_archive(name)


def _special(kind: bytes) -> str:
    """Kind of a tar member other than a file, directory or link (POSIX ustar, "typeflag")."""
    known = {b"3": "a character device", b"4": "a block device", b"6": "a named pipe"}
    return known.get(kind, f"a member of the unknown type {kind!r}")


def _check_tar_member(
    archive: TarArchive,
    reader: TarReader,
    entry: tuple[int, Any, str],
    collector: Collector,
) -> None:
    number, member, name = entry
    head = reader.head(member, PEEK_SIZE)
    if is_metadata(name):
        if member.size > archive.limits.metadata:
            most = archive.limits.metadata
            return collector.error(name, not_read(f"{member.size} bytes; no more than {most} are read"))
        return collector.add_metadata(name, bytes(reader.rest(member, head)))
    form = file_kind.archive_form(head) if file_kind.named_like_archive(name) else None
    if form is not None:
        inside: WindowBytes | MemoryBytes
        if archive.codec is None:
            inside = WindowBytes(archive.source, member.offset_data, member.size)
        elif member.size + sum(inner.open("").size for inner in collector.nested) > MAX_NESTED_ARCHIVE:
            return collector.error(name, "a large archive inside of another: unpack the outer one first")
        else:
            inside = MemoryBytes(reader.rest(member, head))
        return collector.nested.append(InnerArchive(name, form, lambda _display: inside))
    kind = collector.check(name, member.size, head)
    if kind is None:
        return None
    if kind is ArtifactKind.SHARED_OBJECT:
        archive.kept.allow(number, member.size)
        display = f"{archive.display}!{name}"
        try:
            # The stream is here now: cache the member, or at least its tables, for its siblings.
            archive.kept.whole(
                number,
                member.size,
                display,
                partial(reader.rest, member, head),
                again=partial(archive.unpack, number, display),
            )
        except UnreadableFile as error:
            return collector.error(name, error.reason)
    collector.add(name, member.size, kind, archive.content(number, member.size, name))
    return None
