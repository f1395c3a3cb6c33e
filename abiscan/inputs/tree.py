"""Files and directories on disk."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator

from msgspec.structs import replace

from abiscan.binary import PEEK_SIZE, Binary, describe_other, open_binary
from abiscan.errors import UnreadableFile, os_error_words
from abiscan.filesystem import FileSystem, file_type
from abiscan.inputs import file_kind
from abiscan.inputs.artifact import Artifact, Group, Note, Options
from abiscan.inputs.byte_source import FileBytes
from abiscan.model.limits import MAX_COPIED
from abiscan.model.report import ArtifactKind, InputError
from abiscan.wheel.container_facts import ContainerFacts, ContainerKind

Expanded = Iterator[Artifact | InputError | Note]

_SKIPPED_DIRECTORIES = frozenset({"__pycache__", ".git", ".hg", ".svn", ".tox", ".mypy_cache", ".ruff_cache"})


class DiskContent:
    """A file as an artifact's content.

    Args:
        path: its path on this machine.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def open(self, display: str) -> Binary:
        """As `Artifact.open`."""
        return self._open(display, MAX_COPIED)

    def open_tables(self, display: str) -> Binary:
        """Open it mapped: only the parts that are read of a package's many files take memory."""
        return self._open(display, 0)

    def _open(self, display: str, copy_up_to: int) -> Binary:
        try:
            return open_binary(self._path, display, copy_up_to=copy_up_to)
        except FileNotFoundError:
            raise UnreadableFile(display, "it was removed during the run") from None

    def read(self, limit: int) -> bytes:
        """As `Artifact.read`."""
        source = FileBytes(self._path, self._path)
        try:
            if source.size > limit:
                raise UnreadableFile(self._path, f"larger than {limit} bytes")
            return source.read_at(0, limit)
        finally:
            source.close()

    def neighbour(self, name: str, limit: int) -> bytes | None:
        """Always None: `Artifact.neighbour` uses the file system, in which links count."""
        return None


def expand_file(path: str, display: str, options: Options, facts: ContainerFacts | None) -> Expanded:
    """A file that is itself an input: it must have a known kind, whatever its name.

    Args:
        facts: declarations of the installed distribution to which it belongs.
    """
    try:
        size, head = _look(path, display, options.files)
        host = options.files.host(path)
    except UnreadableFile as error:
        yield InputError(error.path, error.reason)
        return
    form = None if file_kind.is_binary(head) else file_kind.archive_form(head)
    if form is not None and not file_kind.named_like_shared_object(display):
        if options.archives:
            yield from _expand_archive(host, display, form, options)
        return
    kind = _named_kind(display, head)
    if kind is None:
        if display.lower().endswith(".py") and head:
            reason = "a Python file that torch.compile did not generate: there is nothing in it for abiscan to check"
        else:
            reason = _no_archive(head) if file_kind.named_like_archive(display) else describe_other(head[:512])
        yield InputError(display, reason)
        return
    group = Group(display, facts or ContainerFacts(display, ContainerKind.FILE))
    artifact = Artifact(display, None, kind, size, group, path, None, DiskContent(host))
    group.add(artifact)
    yield artifact


def _expand_archive(host: str, display: str, form: str, options: Options) -> Expanded:
    from abiscan.inputs.archives import expand_archive
    from abiscan.inputs.members import MemberPlace

    return expand_archive(FileBytes(host, display, options.progress), form, MemberPlace(display, None, 1), options)


def _named_kind(display: str, head: bytes) -> ArtifactKind | None:
    if file_kind.is_binary(head):
        return ArtifactKind.SHARED_OBJECT  # executables and object files as well: `elf` names their kind
    return file_kind.source_kind(display, head) if head else None


def expand_directory(path: str, display: str, options: Options, facts: ContainerFacts | None) -> Expanded:
    """All artifacts below a directory, in sorted order. Symbolic links inside it are aliases of their target if that is
    inside as well, and are never followed out of it."""
    group = Group(display, facts or ContainerFacts(display, ContainerKind.DIRECTORY))
    errors: list[InputError] = []
    archives: list[tuple[str, str, str]] = []
    skipped_links = 0
    files = options.files
    root = files.real(path).rstrip("/") + "/"
    above = "" if display == "." else display
    for full, relative, is_link in _walk(path, display, options, errors):
        shown = posixpath.join(above, relative)
        if is_link:
            target = files.real(full)
            if target.startswith(root):
                group.aliases[full] = os.path.join(path, target.removeprefix(root))
            elif file_kind.named_like_shared_object(relative):
                skipped_links += 1
            elif file_kind.named_like_archive(relative):
                errors.append(_leads_out(shown))
            continue
        named = file_kind.named_like_shared_object(relative)
        archive = file_kind.named_like_archive(relative)
        try:
            size, head = _look(full, shown, files)
            host = files.host(full)
        except UnreadableFile as error:
            # Sockets and unreadable text files are ignored; files named like shared objects are not.
            if named or archive or "permission" in error.reason:
                errors.append(InputError(error.path, error.reason))
            continue
        form = file_kind.archive_form(head) if archive else None
        if form is not None:
            archives.append((host, shown, form))
        elif archive and not file_kind.is_binary(head):
            errors.append(InputError(shown, _no_archive(head)))
        elif file_kind.shared_object_inside(head, relative):
            group.add(Artifact(shown, None, ArtifactKind.SHARED_OBJECT, size, group, full, None, DiskContent(host)))
        elif named:
            if not _is_linker_script(head):
                errors.append(InputError(shown, describe_other(head[:512])))
        elif options.sources and (kind := file_kind.source_kind(relative, head)) is not None:
            group.add(Artifact(shown, None, kind, size, group, full, None, DiskContent(host)))
    yield from errors
    yield from group
    for host, shown, form in archives if options.archives else ():
        yield from _expand_archive(host, shown, form, options)
    if not errors and not len(group) and not archives:
        yield _nothing_in(group, skipped_links)


def _nothing_in(group: Group, skipped_links: int) -> InputError | Note:
    from abiscan.inputs.members import MemberPlace, nothing_found

    found = nothing_found(MemberPlace(group.key, None, 1), group.facts)
    if skipped_links and isinstance(found, InputError):
        link = "one symbolic link that leads" if skipped_links == 1 else f"{skipped_links} symbolic links that lead"
        found = replace(found, message=f"{found.message}; not followed: {link} out of it")
    return found


def not_an_archive(path: str, display: str, files: FileSystem) -> InputError | None:
    """Why a file named like an archive is not one; None if it is one."""
    try:
        _size, head = _look(path, display, files, "an archive")
    except UnreadableFile as error:
        return InputError(error.path, error.reason)
    if not file_kind.is_binary(head) and file_kind.archive_form(head) is not None:
        return None
    return InputError(display, _no_archive(head))


def _no_archive(head: bytes) -> str:
    return f"not an archive: {describe_other(head[:512]).removeprefix('not an ELF file: ')}"


def archives_below(path: str, display: str, options: Options) -> tuple[tuple[str, ...], tuple[InputError, ...], bool]:
    """Display paths of the archives below a directory that `expand_directory` reads; errors of files named like
    archives that cannot be read, and of directories that cannot be listed; and whether there are other files too (or
    nothing at all)."""
    found: list[str] = []
    errors: list[InputError] = []
    others = False
    above = "" if display == "." else display
    root = options.files.real(path).rstrip("/") + "/"
    for full, relative, is_link in _walk(path, display, options, errors):
        shown = posixpath.join(above, relative)
        if is_link or not file_kind.named_like_archive(relative):
            others = True
            if file_kind.named_like_archive(relative) and not options.files.real(full).startswith(root):
                errors.append(_leads_out(shown))
        elif (why := not_an_archive(full, shown, options.files)) is not None:
            errors.append(why)
            others = True
        else:
            found.append(shown)
    return tuple(found), tuple(errors), others or bool(errors) or not found


def _leads_out(display: str) -> InputError:
    return InputError(display, "a symbolic link that leads out of the directory: not followed; name it, or its target")


def _is_linker_script(head: bytes) -> bool:
    # Such as /usr/lib/libc.so: linker input, found in every library directory of a system.
    return b"\0" not in head and (b"GNU ld script" in head or head.lstrip().startswith((b"INPUT", b"GROUP")))


def _walk(path: str, display: str, options: Options, errors: list[InputError]) -> Iterator[tuple[str, str, bool]]:
    """(path, path relative to the start, is a symbolic link) of every file, sorted within each directory."""
    files, budget = options.files, options.limits.files
    pending = [(path, "")]
    while pending:
        directory, prefix = pending.pop()
        try:
            with os.scandir(files.host(directory)) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            shown = posixpath.join(display, prefix) if prefix else display
            errors.append(InputError(shown, f"cannot be listed: {os_error_words(error)}"))
            continue
        below = []
        for entry in listed:
            budget -= 1
            if budget < 0:
                errors.append(InputError(display, f"more than {options.limits.files} files: name a smaller directory"))
                return
            relative = f"{prefix}/{entry.name}" if prefix else entry.name
            full = os.path.join(directory, entry.name)
            if entry.is_symlink():
                # isfile and not is_file: a link to itself is not a file, and not a reason to stop.
                if files.is_file(full):
                    yield full, relative, True
                elif not files.exists(full) and (
                    file_kind.named_like_shared_object(relative) or file_kind.named_like_archive(relative)
                ):
                    shown = posixpath.join("" if display == "." else display, relative)
                    errors.append(InputError(shown, f"a symbolic link to {_target(entry.path)}, which does not exist"))
            elif entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_DIRECTORIES:
                    below.append((full, relative))
            else:
                yield full, relative, False
        pending.extend(reversed(below))


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return "something"


def _look(path: str, display: str, files: FileSystem, wanted: str = "a shared object") -> tuple[int, bytes]:
    """(size, first bytes) of a file.

    Raises:
        UnreadableFile: it is not a regular file, or cannot be read.
    """
    try:
        host = files.host(path)
        mode = os.stat(host).st_mode
    except OSError as error:
        raise UnreadableFile(display, f"cannot be opened: {os_error_words(error)}") from error
    if not stat.S_ISREG(mode):
        raise UnreadableFile(display, f"{file_type(mode)}, not {wanted}")
    source = FileBytes(host, display)
    try:
        return source.size, source.read_at(0, PEEK_SIZE)
    finally:
        source.close()
