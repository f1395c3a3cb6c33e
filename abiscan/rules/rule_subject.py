"""The subject of rules: the facts of one file, and lookups of its symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.model.facts import SharedObject
from abiscan.model.imports import CheckedImport
from abiscan.model.loading import NeededLibrary
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges

if TYPE_CHECKING:
    from abiscan.mangling import CxxName


def _unknown(_name: str) -> None:
    return None


class RuleSubject(Struct, frozen=True):
    """One shared object with resolved imports.

    Attributes:
        facts: of the file.
        imports: every import with its status and provider.
        needed: every needed library and whether it was found.
        module: the module key of the file (`abiscan.model.fingerprint.module_key`).
        parse: parts of a mangled name; None if it is not a C++ name.
        target: what the imports were resolved against.
        exported_in: releases that export a name: () for none, None if unknown.
        libraries: torch libraries that export a name in some release; None if unknown.
        span: the oldest and the newest release of `exported_in`.
        declared: known releases that the package allows; empty without a declaration.
        bound_functions: names of the functions on tensors that pybind11 binds.
        gnu_available: whether GNU's demangler is available.
    """

    facts: SharedObject
    imports: tuple[CheckedImport, ...]
    needed: tuple[NeededLibrary, ...]
    module: str
    parse: Callable[[str], CxxName | None]
    target: TorchBuild | None = None
    exported_in: Callable[[str], ReleaseRanges | None] = _unknown
    libraries: Callable[[str], tuple[str, ...] | None] = _unknown
    span: tuple[str, str] | None = None
    declared: tuple[str, ...] = ()
    bound_functions: Callable[[], tuple[str, ...]] = tuple
    gnu_available: bool = True
