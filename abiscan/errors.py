"""Errors for the user: one line with the file and what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar


def os_error_words(error: OSError) -> str:
    """The reason of an error of the system, in lower case: `no such file or directory`."""
    return (error.strerror or str(error)).lower()


class AbiscanError(Exception):
    """A failure that the user can act on. `str(error)` is the line to print."""


class UsageError(AbiscanError):
    """The command line or a configuration file is invalid or names something that does not exist (exit status 2)."""


def require_modules(message: str, *modules: str) -> None:
    """Check that optional dependencies are installed.

    Raises:
        UsageError: one is missing; `message` has the command that installs it.
    """
    import importlib.util

    if any(importlib.util.find_spec(module) is None for module in modules):
        raise UsageError(message)


class UnreadableFile(AbiscanError):  # noqa: N818 - named after the event, as FileNotFoundError
    """A file exists but cannot be used: truncated, corrupt, another format, no permission.

    Attributes:
        path: the file as the user named it.
        reason: what is wrong, without the path ("not an ELF file: it starts with text").
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type[UnreadableFile], tuple[str, str]]:
        return type(self), (self.path, self.reason)


class TransientFailure(UnreadableFile):
    """A file could not be read but may be readable later: its server failed, or there was no space for it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        found = _transient_failures.get()
        if found is not None:
            found.append(self)


_transient_failures: ContextVar[list[TransientFailure] | None] = ContextVar("transient_failures", default=None)


@contextlib.contextmanager
def transient_failures() -> Iterator[list[TransientFailure]]:
    """Collect the transient failures raised in this context, also those that a reader turned into data
    (`InputError`)."""
    found: list[TransientFailure] = []
    token = _transient_failures.set(found)
    try:
        yield found
    finally:
        _transient_failures.reset(token)


class UnknownBuild(UsageError):  # noqa: N818 - see UnreadableFile
    """A torch version or path without a known build; the message lists the known ones."""


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that is most similar, for a suggestion in a message; None if none is.

    Args:
        cutoff: similarity from which it counts, between 0 and 1 (`difflib.get_close_matches`).
    """
    import difflib  # rarely needed

    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)), None)
