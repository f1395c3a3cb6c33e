"""What the rules look at: one file's facts, with the questions that earlier stages can answer about its names."""

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
    """One shared object, bound.

    Attributes:
        facts: of the file.
        imports: every import with its status and provider.
        needed: every needed library and whether it was found.
        module: the file's identity over rebuilds (`abiscan.model.fingerprint.module_key`).
        parse: the parts of a mangled name; None where it is no C++ name.
        target: what the imports were bound against.
        exported_in: the releases that export a name: () for none of them, None where nobody can say.
        libraries: the torch libraries that export a name in some release; None where nobody can say.
        span: the oldest and the newest release that `exported_in` covers.
        declared: the known releases that the file's package admits; none where it declares nothing.
        bound_functions: names the functions on tensors that pybind11 binds.
        gnu_available: whether GNU's demangler was there to be asked.
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
