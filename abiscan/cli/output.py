"""Writes reports and progress."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from abiscan.errors import UsageError, nearest, os_error_words

if TYPE_CHECKING:
    from abiscan.cli.command_line import CommandLine
    from abiscan.cli.progress_bar import ProgressBar
    from abiscan.report.style import Style

# Never opened by their names: in a container without the links of /dev they would become files, and opening them anew
# empties the file that standard output goes to.
_STANDARD_OUTPUT = frozenset({"", "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})


def progress(counted: str = "files") -> ProgressBar | None:
    """A progress bar on a terminal; None in CI or a pipe."""
    if not sys.stderr.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return None
    from abiscan.cli.progress_bar import ProgressBar

    return ProgressBar(counted=counted)


def style_for(line: CommandLine, stream: object) -> Style:
    from abiscan.report.style import Style

    terminal = bool(getattr(stream, "isatty", lambda: False)())
    color = {"always": True, "never": False}.get(line.color)
    if color is None:
        # The same order as `_colorize` of CPython: https://no-color.org, then https://force-color.org.
        forced = bool(os.environ.get("FORCE_COLOR")) or (terminal and os.environ.get("TERM") != "dumb")
        color = forced and not os.environ.get("NO_COLOR")
    width = None
    if terminal:
        import shutil

        # Wider lines are hard to read.
        width = min(shutil.get_terminal_size().columns, 120)
    return Style(width=width, color=color, verbose=line.verbose, quiet=line.quiet, selected=line.select)


def outputs_of(given: Sequence[str], known: Iterable[str], inputs: Iterable[str] = ()) -> list[tuple[str, str | None]]:
    """(format, file) pairs.

    Args:
        given: `NAME[:FILE]` of every `-f`; `-` and `/dev/stdout` are standard output.
        known: names of formats.
        inputs: paths of what is read.

    Raises:
        UsageError: an unknown format, a file that cannot be written or is an input, or two outputs for one file or
            standard output.
    """
    names = list(known)
    outputs: list[tuple[str, str | None]] = []
    for item in given or ("text",):
        name, _, path = item.partition(":")
        if name not in names:
            near = nearest(name, names)
            raise UsageError(
                f"no format {name!r}; " + (f"did you mean {near}?" if near else f"known: {', '.join(names)}")
            )
        outputs.append((name, None if path in _STANDARD_OUTPUT else path))
    if sum(path is None for _, path in outputs) > 1:
        raise UsageError("two formats for standard output: give all but one a file (-f json:report.json)")
    taken: dict[str, str] = {}
    for form, file in outputs:
        if file is None or _is_special(file):
            continue
        real = os.path.realpath(file)
        if real in taken:
            raise UsageError(f"{file}: one file for two formats, {taken[real]} and {form}")
        taken[real] = form
    check_writable([path for _, path in outputs if path is not None], inputs)
    return outputs


def write_outputs(
    outputs: Sequence[tuple[str, str | None]], line: CommandLine, render: Callable[[str, Style], str]
) -> None:
    """Write a document in every requested format.

    Args:
        outputs: as returned by `outputs_of`.
        render: (format, style) -> text.
    """
    from msgspec.structs import replace

    style = style_for(line, sys.stdout)
    for name, path in outputs:
        if path is None:
            # Bytes: the encoding of the terminal must not decide whether a report can be written.
            sys.stdout.flush()
            sys.stdout.buffer.write(render(name, style).encode("utf-8", "backslashreplace"))
            sys.stdout.buffer.flush()
        else:
            write(path, render(name, replace(style, width=None, color=False)))


def write(path: str, text: str) -> None:
    """Replace a file atomically: write a temporary file beside it, then rename. Pipes and terminals are written
    directly.

    Raises:
        UsageError: it cannot be written (the temporary file is removed), or must not: see `_refuse`.
    """
    _refuse(path)
    data = text.encode("utf-8", "backslashreplace")
    try:
        if _is_special(path):
            with open(path, "wb") as file:
                file.write(data)
            return
        target = os.path.realpath(path)
        import tempfile

        descriptor, temporary = tempfile.mkstemp(
            prefix=f".{os.path.basename(target)[:64]}.", dir=os.path.dirname(target)
        )
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, _mode_for(target))
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {os_error_words(error)}") from error


def check_writable(paths: Sequence[str], inputs: Iterable[str] = ()) -> None:
    """Raise the errors of `write` early.

    Args:
        inputs: paths of what is read.

    Raises:
        UsageError: a path that cannot be written to, or is an input.
    """
    read = {os.path.realpath(each) for each in inputs} if paths else set()
    for path in paths:
        if os.path.realpath(path) in read and not _is_special(path):
            raise UsageError(f"{path}: cannot be written: it is an input of this run")
        _refuse(path)
        if os.path.isdir(path):
            raise UsageError(f"{path}: cannot be written: is a directory")
        if _is_special(path):
            if not os.access(path, os.W_OK):
                raise UsageError(f"{path}: cannot be written: permission denied")
            continue
        import tempfile

        try:
            target = os.path.realpath(path)
            descriptor, temporary = tempfile.mkstemp(prefix=".abiscan-", dir=os.path.dirname(target))
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {os_error_words(error)}") from error
        os.close(descriptor)
        os.unlink(temporary)


def _refuse(path: str) -> None:
    """Refuse to write to a link of another user, a pipe or disk by its path, and a file of a kind that is scanned.

    Links: like `protected_symlinks` in proc(5), which does not apply to a resolved link. Pipes: opening one
    waits for its reader, without a limit.
    """
    from abiscan.filesystem import other_owner  # it imports msgspec, which `run` must import first

    try:
        status = os.lstat(path)
    except OSError:
        return
    owner = other_owner(status)
    if stat.S_ISLNK(status.st_mode) and owner is not None:
        raise UsageError(f"{path}: cannot be written: a symbolic link {owner}")
    try:
        kind = os.stat(path).st_mode
    except OSError:
        return
    real = os.path.realpath(path)
    if stat.S_ISREG(kind):
        from abiscan.inputs.file_kind import named_like_archive, named_like_shared_object, source_suffix

        if named_like_shared_object(real) or named_like_archive(real) or source_suffix(real):
            raise UsageError(f"{path}: cannot be written: it exists and its name is that of an input, not of a report")
    elif (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or stat.S_ISBLK(kind)) and not real.startswith("/proc/"):
        raise UsageError(f"{path}: cannot be written: neither a file nor a terminal (for a pipe, use standard output)")


def _is_special(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _mode_for(target: str) -> int:
    """The permissions of the replaced file, or those of a new file."""
    try:
        return stat.S_IMODE(os.stat(target).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def read_baseline_file(path: str, *, own: bool) -> str:
    """The text of a baseline.

    Args:
        own: whether it must belong to this user or root.

    Raises:
        UsageError: it cannot be read, or belongs to another user.
    """
    from abiscan.inputs.named_file import OtherUsersFile, read_text

    try:
        return read_text(path, "the baseline", own=own)
    except OtherUsersFile as error:
        raise UsageError(f"{error} (use --baseline {path} to accept it)") from None
    except FileNotFoundError:
        raise UsageError(f"{path}: no such baseline; make it with --write-baseline {path}") from None


def print_stderr(line: str) -> None:
    """Write a line to standard error and flush. Without space or reader it is lost, and the exit status remains."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Write `abiscan: TEXT` to standard error, made printable."""
    print_stderr(f"abiscan: {safe(text)}")


def safe(text: str) -> str:
    from abiscan.report.escape import printable

    return printable(text)
