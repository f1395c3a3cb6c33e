"""Inputs as given by the user -> artifacts, errors and notes, lazily and in a fixed order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.errors import UnreadableFile, UsageError, nearest
from abiscan.filesystem import FileSystem
from abiscan.inputs import file_kind
from abiscan.inputs.artifact import Artifact, Note, Options
from abiscan.inputs.file_kind import name_of_record
from abiscan.inputs.tree import archives_below, expand_directory, expand_file, not_an_archive
from abiscan.model.limits import MAX_FIELD, MAX_LISTED
from abiscan.model.report import InputError
from abiscan.wheel.container_facts import ContainerKind

INSTALLED = "installed:"
"""Prefix for the name of an installed package, even if a file or directory has the same name."""


def is_fetched(target: str) -> bool:
    """Whether an input has the form of something that pip downloads: a URL (RFC 3986, 3.1), or a name with a version
    (dependency specifiers specification). A file may have such a name, too."""
    if "=" not in target and "://" not in target and "<" not in target and ">" not in target:
        return False
    import re

    form = r"[A-Za-z][A-Za-z0-9+.-]*://|[A-Za-z0-9][\w.-]*(\[[\w., -]*\])?\s*([=~<>!]=|===|[<>])\s*[\w*]"
    return re.match(form, target) is not None


class _Target(Struct, frozen=True):
    """An input that was found: a path, an installed package, or the URL of an archive that is read on its server."""

    path: str
    display: str
    package: object | None = None
    remote: bool = False


def expand(
    targets: Sequence[str], *, cwd: str, environment_paths: Sequence[str] = (), options: Options | None = None
) -> Iterator[Artifact | InputError | Note]:
    """Yield the artifacts, errors and notes of all inputs. All inputs are located before anything is read.

    Inputs are processed in the given order; a directory's files sorted by path; the shared objects of a zip archive
    largest first (which needs less memory: see `Artifact.open_tables`), those of a tar in its order. Artifacts of
    several inputs are yielded once.

    Args:
        targets: shared objects, sources, wheels, sdists, conda packages, zip and tar archives, directories, or names of
            installed packages.
        cwd: absolute; base of relative inputs; paths below it are displayed relative to it.
        environment_paths: directories of installed packages, in the order of `import`.

    Raises:
        UsageError: on the first item: an input is neither a path nor an installed package.
    """
    options = options or Options()
    files = options.files
    found = [_find(target, cwd, environment_paths, options) for target in targets]
    seen: set[tuple[str, str | None]] = set()
    last = path = ""
    for target in found:
        for item in _expand_one(target, environment_paths, options):
            if isinstance(item, Artifact):
                here = item.disk_path or (
                    target.path if target.path in options.display_names else os.path.join(cwd, item.path)
                )
                if here != last:  # the members of an archive have one path
                    last, path = here, files.real(here)
                if (path, item.member) in seen:
                    continue
                seen.add((path, item.member))
            yield item


class Archives(Struct, frozen=True):
    """The archives among the inputs.

    Attributes:
        archives: their distinct display paths, in the order of `expand`; the path, if the report uses another name.
        others: whether the inputs contain anything else.
        errors: files named like archives that cannot be read, and directories that cannot be listed.
    """

    archives: tuple[str, ...]
    others: bool
    errors: tuple[InputError, ...] = ()


def archives_of(
    targets: Sequence[str], *, cwd: str, environment_paths: Sequence[str] = (), options: Options | None = None
) -> Archives:
    """The archives that `expand` would read, without reading them.

    Raises:
        UsageError: an input is neither a path nor an installed package.
    """
    options = options or Options()
    found: dict[str, str] = {}
    errors: list[InputError] = []
    others = False
    files = options.files
    for target in [_find(target, cwd, environment_paths, options) for target in targets]:
        if target.package is not None or target.remote:
            others = True
            continue
        if files.is_directory(target.path):
            inside, unread, more = archives_below(target.path, target.display, options)
            errors += unread
            others = others or more
        else:
            why = not_an_archive(target.path, target.display, files)
            if why is None and not file_kind.named_like_shared_object(target.display):
                inside = (target.path if target.path in options.display_names else target.display,)
            else:
                inside, others = (), True
                if why is not None and file_kind.named_like_archive(target.display):
                    errors.append(why)
        for display in inside:
            found.setdefault(files.real(os.path.join(cwd, display)), display)
    return Archives(tuple(found.values()), others, tuple(errors))


def _expand_one(
    target: _Target, environment_paths: Sequence[str], options: Options
) -> Iterator[Artifact | InputError | Note]:
    if target.remote:
        yield from _expand_remote(target, options)
    elif target.package is not None:
        from abiscan.inputs.packages import InstalledPackage, expand_installed

        assert isinstance(target.package, InstalledPackage)
        yield from expand_installed(target.package, target.display, options)
    elif any(f"{site}/".startswith(f"{target.path}/") for site in environment_paths):
        from abiscan.inputs.packages import expand_environment

        yield from expand_environment(target.path, target.display, environment_paths, options)
    else:
        yield from _expand_path(target, environment_paths, options)


def _holds_records(site: str, files: FileSystem) -> bool:
    """Whether an installer recorded packages in a directory; not so in the source tree of an editable install."""
    try:
        return any(map(name_of_record, files.names(site)))
    except OSError:
        return False  # the error is reported when the file itself is read


def _expand_path(
    target: _Target, environment_paths: Sequence[str], options: Options
) -> Iterator[Artifact | InputError | Note]:
    is_directory = options.files.is_directory(target.path)
    facts = None
    if any(target.path.startswith(f"{site}/") and _holds_records(site, options.files) for site in environment_paths):
        from abiscan.inputs.packages import installed_facts

        kind = ContainerKind.DIRECTORY if is_directory else ContainerKind.FILE
        facts, unread = installed_facts(target.path, target.display, kind, environment_paths, options)
        yield from unread
    if is_directory:
        # Headers of an installed package are not sources of it.
        own = options if facts is None else replace(options, sources=False)
        yield from expand_directory(target.path, target.display, own, facts)
    else:
        yield from expand_file(target.path, target.display, options, facts)


def _expand_remote(target: _Target, options: Options) -> Iterator[Artifact | InputError | Note]:
    from abiscan.inputs.archives import expand_source
    from abiscan.inputs.remote import open_remote
    from abiscan.inputs.remote_file import named

    try:
        source = open_remote(named(target.path))
    except UnreadableFile as error:
        yield InputError(error.path, error.reason)
        return
    yield from expand_source(source, target.display, replace(options, texts_by_name=True))
    if options.archives and not source.checked and "#sha256=" in target.path:
        yield Note(target.display, "read by ranges: its hash was not checked against the one in the URL")


def _find(target: str, cwd: str, environment_paths: Sequence[str], options: Options) -> _Target:
    files = options.files
    target, named = target.removeprefix(INSTALLED), target.startswith(INSTALLED)
    path = os.path.normpath(os.path.join(cwd, target)) if target else ""
    if target and not named and files.is_named(path):
        return _Target(path, options.display_names.get(path) or (path if files.root else display_path(target, cwd)))
    if files.root and not named and is_fetched(target):
        from abiscan.inputs.remote_file import shown

        raise UsageError(f"{shown(target)}: not a path in --root {files.shown}; nothing is fetched with --root")
    if "://" in target and not named:
        from abiscan.inputs.remote import readable
        from abiscan.inputs.remote_file import shown

        if readable(target):
            return _Target(target, shown(target), remote=True)
    # Imported late: most inputs are files.
    from abiscan.inputs.packages import find_installed

    package = find_installed(target, environment_paths, files)
    if package is not None:
        return _Target(package.site, _shown(package.site, cwd, files), package)
    raise UsageError(f"{target or repr(target)}: {_not_found(target, path, environment_paths, files)}")


def _shown(path: str, cwd: str, files: FileSystem) -> str:
    # With another root there is no working directory.
    return path if files.root else display_path(path, cwd)


def _not_found(target: str, path: str, environment_paths: Sequence[str], files: FileSystem) -> str:
    if is_fetched(target):
        import shlex

        return (
            "no file, and nothing is fetched here. First: "
            f"pip download --no-deps -d wheels {shlex.quote(target)}, then: abiscan wheels"
        )

    from abiscan.inputs.packages import installed_names

    directory, name = os.path.split(path)
    try:
        beside = files.names(directory)
    except OSError:
        beside = []
    near = nearest(name, beside, 0.7)
    if near is not None:
        return f"no such file or directory; did you mean {os.path.join(os.path.dirname(target), near)}?"
    if "/" in target or ".so" in target or not environment_paths:
        return "no such file or directory"
    near = nearest(target, installed_names(environment_paths, files), 0.7)
    hint = f"did you mean {near}?" if near else "pass a path, or another environment with --python"
    return f"no such file, and no package or module of that name is installed in {environment_paths[0]}; {hint}"


def display_path(path: str, cwd: str) -> str:
    """Relative to `cwd` if below it; otherwise as given, without `.` and doubled slashes. With slashes, on Windows
    too."""
    full = os.path.normpath(os.path.join(cwd, path))
    base = os.path.join(os.path.normpath(cwd), "")
    if os.path.join(full, "") == base:
        return "."
    shown = full[len(base) :] if full.startswith(base) else os.path.normpath(path)
    return shown if os.sep == "/" else shown.replace(os.sep, "/")


def read_target_list(path: str, *, cwd: str) -> list[str]:
    """Read the inputs in a file (`-r FILE`): one a line, relative to the working directory; `#` starts a comment line,
    or a comment after white space; empty lines are skipped.

    Raises:
        UsageError: it cannot be read, is not text, or has no input.
    """
    from abiscan.inputs.named_file import read_named

    try:
        raw = read_named(os.path.join(cwd, path), "the list of inputs", pipes=True)
    except FileNotFoundError:
        hint = "; for standard input, write /dev/stdin" if path == "-" else ""
        raise UsageError(f"{path}: no such file{hint}") from None
    if b"\0" in raw:
        raise UsageError(f"{path}: not a list of inputs: it is a binary file; -r takes a text file, one PATH per line")
    targets = []
    for line in raw.decode("utf-8", "surrogateescape").splitlines():
        text = line.strip()
        if text.startswith("#"):
            continue
        text = text.partition(" #")[0].partition("\t#")[0].rstrip()
        if len(text) > MAX_FIELD:
            raise UsageError(f"{path}: a line of {len(text)} characters; no path or URL is longer than {MAX_FIELD}")
        if text:
            targets.append(text)
        if len(targets) > MAX_LISTED:
            raise UsageError(f"{path}: more than {MAX_LISTED} inputs: divide the list")
    if not targets:
        raise UsageError(f"{path}: the list is empty: write one PATH per line")
    return targets
