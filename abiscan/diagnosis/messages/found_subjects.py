"""What a message is about where code answers it: a symbol, a library, a symbol version."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from abiscan.model.finding import Location
from abiscan.model.subject import SubjectKind


class FoundSubject(Struct, frozen=True, kw_only=True):
    """One thing that a text reports as missing.

    Attributes:
        text: the name.
        position: offset in the text, for the order.
        message: id of the message of the catalogue; None for a name by itself.
        needed_by: the file (or the package) that needs it, where the message tells.
        location: where in a source.
        by_linker: a linker reports it, not a loader.
    """

    text: str
    position: int
    message: str | None = None
    needed_by: str | None = None
    location: Location | None = None
    by_linker: bool = False

    kind: ClassVar[SubjectKind]

    @property
    def key(self) -> tuple[str, ...]:
        """What makes it distinct."""
        return self.kind, self.text


class SymbolSubject(FoundSubject, frozen=True, kw_only=True):
    """A symbol that is not defined.

    Attributes:
        library: that its reference names.
        version: that is asked for.
        macos: a loader or linker of macOS reports it.
        msvc: the name is as MSVC's tools write it for people.
        cut_off: dots stand behind the name, of which the text has the beginning alone.
        before_torch: a prompt shows that the file was imported, and torch not before it.
    """

    library: str | None = None
    version: str | None = None
    macos: bool = False
    msvc: bool = False
    cut_off: bool = False
    before_torch: bool = False

    kind: ClassVar[SubjectKind] = SubjectKind.SYMBOL

    @property
    def key(self) -> tuple[str, ...]:
        """What makes it distinct."""
        return self.kind, self.text, self.version or ""


class LibrarySubject(FoundSubject, frozen=True, kw_only=True):
    """A library that was not found.

    Attributes:
        by_ldd: `ldd` reports it, which looks for torch's libraries where no Python has loaded them.
        by_torch: torch itself was imported, nothing of an extension.
        searched: the folder of torch's libraries that the command of a linker names with -L.
    """

    by_ldd: bool = False
    by_torch: bool = False
    searched: str | None = None

    kind: ClassVar[SubjectKind] = SubjectKind.LIBRARY


class VersionSubject(FoundSubject, frozen=True, kw_only=True):
    """A symbol version that a library does not define.

    Attributes:
        library: that lacks it.
    """

    library: str | None = None

    kind: ClassVar[SubjectKind] = SubjectKind.VERSION
