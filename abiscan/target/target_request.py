"""What the user asks about the target."""

from __future__ import annotations

from msgspec import Struct

from abiscan.environment.python import PythonEnvironment
from abiscan.filesystem import HERE, FileSystem
from abiscan.model.target import TargetPart


class TargetRequest(Struct, frozen=True):
    """The target options of the user.

    Attributes:
        torch: value of `--torch`.
        environment: interpreter and its packages; None if there is none.
        python_named: whether `--python` was given: its CPython overrides the declarations of files.
        gpus, driver: those that device code must support.
        files: file system for paths.
    """

    torch: str | None = None
    environment: PythonEnvironment | None = None
    python_named: bool = False
    gpus: tuple[TargetPart, ...] = ()
    driver: TargetPart | None = None
    files: FileSystem = HERE
