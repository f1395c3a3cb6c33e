"""One thing that a text complains of: what readers of messages make and answers are given to."""

from __future__ import annotations

import enum
from typing import Final

from msgspec import Struct

from abiscan.model.finding import Location
from abiscan.model.subject import SubjectKind


class Complaint(enum.Enum):
    """What a message says is wrong."""

    SYMBOL = enum.auto()
    """A name is not defined."""
    LIBRARY = enum.auto()
    """A library was not found."""
    SYMBOL_VERSION = enum.auto()
    """A library does not define a symbol version."""
    PYTHON_NAME = enum.auto()
    """A Python name is not defined."""
    MISSING_OPERATOR = enum.auto()
    """Torch has no operator of a name."""
    NO_OPERATORS = enum.auto()
    """A package says that the library of its operators did not load."""
    NO_OVERLOAD = enum.auto()
    """A function does not take these arguments."""
    UNDECLARED = enum.auto()
    """A compiler does not know a name or a header of torch."""
    NO_HEADER = enum.auto()
    """A compiler does not find a header of torch or of CUDA."""
    HALF_OPERATION = enum.auto()
    """A compiler finds no operator or conversion of CUDA's or HIP's own 16-bit type."""
    NO_MEMBER = enum.auto()
    """A class or a namespace of torch has no member of a name."""
    OLD_STANDARD = enum.auto()
    """Torch's headers ask for a newer C++."""


_KINDS: Final = {
    Complaint.SYMBOL: SubjectKind.SYMBOL,
    Complaint.LIBRARY: SubjectKind.LIBRARY,
    Complaint.SYMBOL_VERSION: SubjectKind.VERSION,
    Complaint.PYTHON_NAME: SubjectKind.PYTHON_NAME,
    Complaint.MISSING_OPERATOR: SubjectKind.DYNAMO,
    Complaint.NO_OPERATORS: SubjectKind.LIBRARY,
    Complaint.NO_OVERLOAD: SubjectKind.COMPILE_ERROR,
    Complaint.UNDECLARED: SubjectKind.COMPILE_ERROR,
    Complaint.OLD_STANDARD: SubjectKind.COMPILE_ERROR,
    Complaint.NO_HEADER: SubjectKind.COMPILE_ERROR,
    Complaint.HALF_OPERATION: SubjectKind.COMPILE_ERROR,
    Complaint.NO_MEMBER: SubjectKind.COMPILE_ERROR,
}


class Mention(Struct, frozen=True):
    """One thing that a text complains of.

    Attributes:
        complaint: what is wrong with it.
        text: the name, library, version or message it is about; what makes it distinct.
        position: offset in the text, for the order.
        library: for a symbol, the library that its reference names; for a version, the library that lacks it.
        version: for a symbol, the version asked for.
        needed_by: the file (or the package) that needs it, where the message tells.
        location: where in a source or a script.
        by_linker: a linker says so, not a loader.
        macos: a loader or linker of macOS says so.
        msvc: the name is as MSVC's tools write it for people.
        cut_off: dots stand behind the name, of which the text has the beginning alone.
        by_ldd: `ldd` says so, which looks for torch's libraries where no Python has loaded them.
        by_torch: torch itself was imported, nothing of an extension.
        before_torch: a prompt shows that the file was imported, and torch not before it.
        context: the lines around, where types of arguments, files and kernels stand.
    """

    complaint: Complaint
    text: str
    position: int
    library: str | None = None
    version: str | None = None
    needed_by: str | None = None
    location: Location | None = None
    by_linker: bool = False
    macos: bool = False
    msvc: bool = False
    cut_off: bool = False
    by_ldd: bool = False
    by_torch: bool = False
    before_torch: bool = False
    context: str = ""

    @property
    def kind(self) -> SubjectKind:
        """As the report has it."""
        return _KINDS[self.complaint]
