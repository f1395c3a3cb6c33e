"""Demangled text, and which demangler wrote it: GNU's demangler first, LLVM's for what that one cannot read.

Which names a demangler reads is a fact about its age, so every answer says which one gave it. Both run in this process
and were written for compilers' output: a forged name of 300 characters, each part of which refers twice to the one
before, keeps GNU's busy until its text fills the memory. Names that are long or refer back often are therefore read by
our own parser first, which is bounded, and handed on only where it accepts them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from msgspec import Struct

from abiscan.mangling.cxxname import parse
from abiscan.mangling.name_kind import NameKind, classify
from abiscan.mangling.parser.cursor import NameSyntaxError
from abiscan.mangling.parser.render import may_be_large
from abiscan.model.imports import DemangledBy

# A mangled name -> its text; None where the demangler refuses the name.
_Demangle = Callable[[str], str | None]


class Demangled(Struct, frozen=True):
    """What became of a name.

    Attributes:
        text: the demangled text; None where no demangler accepted the name, or it is not C++.
        by: which demangler wrote the text.
        gnu_refused: GNU's demangler was asked and doesn't read it.
    """

    mangled: str
    text: str | None
    by: DemangledBy
    gnu_refused: bool = False

    @property
    def only_llvm(self) -> bool:
        """LLVM's demangler reads it, GNU's on this machine doesn't."""
        return self.gnu_refused and self.by is DemangledBy.LLVM

    @property
    def neither(self) -> bool:
        """It begins as a C++ name, and no demangler here reads it or may be asked."""
        return self.text is None and classify(self.mangled) is NameKind.CXX


class Demangler:
    """Demangles names and keeps the answers; one for a run.

    The C++ runtime is opened with the first C++ name, pycxxfilt with the first that GNU's demangler doesn't read.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Demangled] = {}

    @property
    def gnu_available(self) -> bool:
        """Whether GNU's demangler can be asked here; without, LLVM's alone serves."""
        return self._gnu is not None

    def demangle(self, mangled: str) -> Demangled:
        """The text of one name."""
        kept = self._kept.get(mangled)
        if kept is None:
            kept = self._kept[mangled] = self._ask(mangled)
        return kept

    def _ask(self, mangled: str) -> Demangled:
        none = Demangled(mangled, None, DemangledBy.NONE)
        if classify(mangled) not in (NameKind.CXX, NameKind.MACHO):
            return none
        # A symbol version or a clone suffix: GNU's demangler refuses the first.
        name, at, version = mangled.partition("@")
        if name.startswith("__Z"):
            name = name[1:]
        if "\0" in name or (may_be_large(name) and not _is_bounded(name)):
            return none
        text = None if self._gnu is None else self._gnu(name)
        if text is not None:
            return Demangled(mangled, text + at + version, DemangledBy.GNU)
        gnu_refused = self._gnu is not None
        text = None if self._llvm is None else self._llvm(name)
        if text is None:
            return Demangled(mangled, None, DemangledBy.NONE, gnu_refused)
        return Demangled(mangled, text + at + version, DemangledBy.LLVM, gnu_refused)

    @functools.cached_property
    def _gnu(self) -> _Demangle | None:
        """That of the C++ runtime on this machine."""
        from abiscan.mangling.cxx_runtime import cxa_demangle

        ask = cxa_demangle()
        if ask is None:
            return None

        def demangle(name: str) -> str | None:
            text = ask(name.encode("utf-8", "surrogateescape"))
            return None if text is None else text.decode("utf-8", "replace")

        return demangle

    @functools.cached_property
    def _llvm(self) -> _Demangle | None:
        """LLVM's demangler, linked into pycxxfilt."""
        try:
            import pycxxfilt
        except ImportError:
            return None

        def demangle(name: str) -> str | None:
            try:
                text: str | None = pycxxfilt.itanium_demangle(name)
            except ValueError:
                # Also UnicodeEncodeError, for bytes that are no UTF-8.
                return None
            return text

        return demangle


def _is_bounded(name: str) -> bool:
    """Whether our own parser accepts the name within its bounds, text included."""
    parsed = parse(name)
    try:
        return parsed is not None and bool(parsed.display)
    except NameSyntaxError:
        return False
