"""Finds the configuration of a project: the nearest one above the working directory that no other user wrote."""

from __future__ import annotations

import os

from msgspec import Struct

from abiscan.errors import UsageError
from abiscan.filesystem import is_world_writable

_FILE = "abiscan.toml"
_PROJECT = "pyproject.toml"
_REPOSITORY = (".git", ".hg")
_WHAT = "the configuration"


class FoundConfig(Struct, frozen=True):
    """The configuration that is used, and those that are not.

    Attributes:
        path: absolute; None if there is none.
        text: contents of the file.
        ignored: (path, reason) of files that are not used.
    """

    path: str | None = None
    text: str = ""
    ignored: tuple[tuple[str, str], ...] = ()


def find_config(start: str) -> FoundConfig:
    """Find the nearest configuration at or above a directory: abiscan.toml, else a pyproject.toml with a table for
    abiscan. A file of another user (except root) is not used, nor anything above a directory that every user can write
    to, nor above the root of the repository: its author would decide what passes.

    Args:
        start: absolute path.

    Raises:
        UsageError: the nearest one cannot be read, or is a pyproject.toml that mentions abiscan and is not valid TOML.
    """
    ignored: list[tuple[str, str]] = []
    outside: str | None = None
    directory = start
    while True:
        for name in (_FILE, _PROJECT):
            path = os.path.join(directory, name)
            found = _examine(path, outside) if os.path.isfile(path) else None
            if found is None:
                continue
            text, why = found
            if why is None:
                return FoundConfig(path, text, tuple(ignored))
            ignored.append((path, why))
        parent = os.path.dirname(directory)
        if parent == directory:
            return FoundConfig(ignored=tuple(ignored))
        if outside is None:
            if is_world_writable(directory):
                outside = f"above {directory}, which every user can write to"
            elif any(os.path.lexists(os.path.join(directory, name)) for name in _REPOSITORY):
                outside = f"above {directory}, the root of the repository"
        directory = parent


def _examine(path: str, outside: str | None) -> tuple[str, str | None] | None:
    """The text of a file, and why it is not used; None if it contains no configuration.

    Args:
        outside: why nothing in its directory is used; None if that depends on the owner of the file.
    """
    from abiscan.inputs.named_file import OtherUsersFile, read_text

    is_project = path.endswith(_PROJECT)
    why = outside
    text = ""
    try:
        try:
            text = read_text(path, _WHAT, own=why is None)
        except OtherUsersFile as error:
            why = error.reason
            text = read_text(path, _WHAT)
    except UsageError:
        # Damaged files of other users are ignored.
        if why is None and not is_project:
            raise
    if not is_project:
        return text, why
    # Most projects have no table for abiscan. Parse only a file that mentions it, and never that of another user.
    if "abiscan" not in text or (why is not None and "tool.abiscan" not in text):
        return None
    if why is None:
        from abiscan.gate.config import policy_table

        if policy_table(text, path) is None:
            return None
    return text, why
