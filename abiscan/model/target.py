"""The torch that imports are resolved against."""

from __future__ import annotations

import enum

from msgspec import Struct


class TargetKind(enum.StrEnum):
    INSTALLED = "installed"
    RELEASE = "release"
    PATH = "path"


class Target(Struct, frozen=True):
    """The torch that imports are resolved against.

    Attributes:
        torch: public version without a label (`2.6.0`).
        variant: what the label says (`cpu`, `cu124`, `rocm6.2`).
        cxx11_abi: whether its std::string is the new one (from its exports).
        note: what a user should know about the choice ("no torch is installed: the newest known build is used").
        python: the interpreter whose names serve `Py*` imports, if one was found.
    """

    kind: TargetKind
    torch: str
    variant: str
    cuda: str | None
    hip: str | None
    cxx11_abi: bool | None
    path: str | None
    note: str | None
    machine: str | None = None
    git_revision: str | None = None
    python: str | None = None
