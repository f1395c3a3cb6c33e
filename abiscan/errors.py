"""What a user is told when something cannot be done: one line that names the file and the way out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar


class AbiscanError(Exception):
    """Any failure that a user can act on. `str(error)` is the one line to print."""


class UsageError(AbiscanError):
    """The command line or a configuration file asks for something that does not exist (exit status 2)."""


class UnreadableFile(AbiscanError):  # noqa: N818 - the name is what happened, as in FileNotFoundError's family
    """A file is there, and is not what it should be: truncated, corrupt, another format, no permission.

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
    """A file could not be read now and may be readable later: its server failed, or there was no room for it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        found = _transient_failures.get()
        if found is not None:
            found.append(self)


_transient_failures: ContextVar[list[TransientFailure] | None] = ContextVar("transient_failures", default=None)


@contextlib.contextmanager
def transient_failures() -> Iterator[list[TransientFailure]]:
    """The transient failures raised within, also those that a reader turned into data (`InputError`)."""
    found: list[TransientFailure] = []
    token = _transient_failures.set(found)
    try:
        yield found
    finally:
        _transient_failures.reset(token)


class UnknownBuild(UsageError):  # noqa: N818 - see UnreadableFile
    """A torch version or path that names no known build; the message lists what is known."""
