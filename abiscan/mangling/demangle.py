"""Demangled text, and whose it is: GNU's demangler first, LLVM's for what that one cannot read.

Which names a demangler reads is a fact about its age, so every answer says who spoke. Both run in this process and
were written for compilers' output: a forged name of 300 characters, each part of which refers twice to the one before,
keeps GNU's busy until its text fills the memory. Names that are long or refer back often are therefore read by
`itanium.py` first, which is bounded, and handed on only where it accepts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.mangling.name_kind import NameKind, classify
from abiscan.mangling.parser.render import may_be_large
from abiscan.model.binding import DemangledBy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Demangled(Struct, frozen=True):
    """What became of a name.

    Attributes:
        text: the demangled text; None where no demangler accepted the name, or it is not C++.
        by: whose text it is.
        gnu_ok: whether GNU's demangler accepts the name; None where it was not asked (not C++, no C++ runtime here,
            refused as too complex).
        llvm_ok: as `gnu_ok`, for LLVM's; None too where GNU's answer was enough.
    """

    mangled: str
    text: str | None
    by: DemangledBy
    gnu_ok: bool | None
    llvm_ok: bool | None

    @property
    def only_llvm(self) -> bool:
        """LLVM's demangler reads it, GNU's on this machine doesn't."""
        return self.gnu_ok is False and self.llvm_ok is True

    @property
    def neither(self) -> bool:
        """It begins as a C++ name, and no demangler here reads it or may be asked."""
        return self.text is None and classify(self.mangled) is NameKind.CXX


class _Gnu:
    """`__cxa_demangle` of the C++ runtime on this machine, through cxxfilt."""

    __slots__ = ("_demangle", "_rejected", "library")

    def __init__(self) -> None:
        import cxxfilt

        default = cxxfilt.default_demangler
        if not isinstance(default, cxxfilt.Demangler):
            raise ImportError("no C++ runtime library on this machine")
        self._demangle: Callable[[bytes], bytes] = default.demangleb
        self._rejected = cxxfilt.Error
        self.library: str = default._libcxx_name

    def demangle(self, name: str) -> str | None:
        try:
            return self._demangle(name.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
        except self._rejected:
            return None


class _Llvm:
    """LLVM's demangler, linked into pycxxfilt."""

    __slots__ = ("_demangle", "version")

    def __init__(self) -> None:
        import pycxxfilt

        self._demangle: Callable[[str], str | None] = pycxxfilt.itanium_demangle
        self.version: str = pycxxfilt.LLVM_VERSION

    def demangle(self, name: str) -> str | None:
        try:
            return self._demangle(name)
        except ValueError:
            # Also UnicodeEncodeError, for bytes that are no UTF-8.
            return None


class Demangler:
    """Demangles names and keeps the answers; one for a run.

    cxxfilt is imported with the first C++ name, pycxxfilt with the first that GNU's demangler doesn't read.
    """

    __slots__ = ("_gnu", "_gnu_error", "_kept", "_llvm", "_llvm_error")

    def __init__(self) -> None:
        self._gnu: _Gnu | None = None
        self._gnu_error: str | None = None
        self._llvm: _Llvm | None = None
        self._llvm_error: str | None = None
        self._kept: dict[str, Demangled] = {}

    @property
    def gnu_available(self) -> bool:
        """Whether GNU's demangler can be asked here; without, LLVM's alone serves."""
        return self._gnu_demangler() is not None

    @property
    def llvm_available(self) -> bool:
        """Whether LLVM's demangler can be asked here."""
        return self._llvm_demangler() is not None

    def demangle(self, mangled: str) -> Demangled:
        """The text of one name."""
        kept = self._kept.get(mangled)
        if kept is None:
            kept = self._kept[mangled] = self._ask(mangled)
        return kept

    def demangle_all(self, names: Iterable[str]) -> dict[str, Demangled]:
        """The texts of many names, by name."""
        return {name: self.demangle(name) for name in names}

    def only_llvm(self) -> tuple[str, ...]:
        """Of the names asked so far, those that LLVM's demangler reads and GNU's doesn't, sorted."""
        return tuple(sorted(name for name, answer in self._kept.items() if answer.only_llvm))

    def neither(self) -> tuple[str, ...]:
        """Of the names asked so far, the C++ names that no demangler reads, sorted."""
        return tuple(sorted(name for name, answer in self._kept.items() if answer.neither))

    def versions(self) -> dict[str, str]:
        """Who speaks, by demangler: the file of the C++ runtime, the version of LLVM. Asking imports both."""
        found = {}
        gnu = self._gnu_demangler()
        found["gnu"] = f"__cxa_demangle of {gnu.library}" if gnu is not None else f"not available: {self._gnu_error}"
        llvm = self._llvm_demangler()
        found["llvm"] = f"LLVM {llvm.version}" if llvm is not None else f"not available: {self._llvm_error}"
        return found

    def _ask(self, mangled: str) -> Demangled:
        none = Demangled(mangled, None, DemangledBy.NONE, None, None)
        if classify(mangled) not in (NameKind.CXX, NameKind.MACHO):
            return none
        # A symbol version or a clone suffix: GNU's demangler refuses the first.
        name, at, version = mangled.partition("@")
        if name.startswith("__Z"):
            name = name[1:]
        if "\0" in name or (may_be_large(name) and not _well_formed(name)):
            return none
        gnu = self._gnu_demangler()
        if gnu is not None:
            text = gnu.demangle(name)
            if text is not None:
                return Demangled(mangled, text + at + version, DemangledBy.GNU, True, None)
        gnu_ok = None if gnu is None else False
        llvm = self._llvm_demangler()
        if llvm is None:
            return Demangled(mangled, None, DemangledBy.NONE, gnu_ok, None)
        text = llvm.demangle(name)
        if text is None:
            return Demangled(mangled, None, DemangledBy.NONE, gnu_ok, False)
        return Demangled(mangled, text + at + version, DemangledBy.LLVM, gnu_ok, True)

    def _gnu_demangler(self) -> _Gnu | None:
        if self._gnu is None and self._gnu_error is None:
            try:
                self._gnu = _Gnu()
            except (ImportError, OSError, AttributeError) as error:
                # OSError: the runtime is there and cannot be loaded. AttributeError: it has no __cxa_demangle.
                self._gnu_error = str(error)
        return self._gnu

    def _llvm_demangler(self) -> _Llvm | None:
        if self._llvm is None and self._llvm_error is None:
            try:
                self._llvm = _Llvm()
            except ImportError as error:
                self._llvm_error = str(error)
        return self._llvm


def _well_formed(name: str) -> bool:
    """Whether our own parser accepts the name within its bounds, text included."""
    from abiscan.mangling.cxxname import parse
    from abiscan.mangling.parse_errors import NameSyntaxError

    parsed = parse(name)
    if parsed is None:
        return False
    try:
        return bool(parsed.display)
    except NameSyntaxError:
        return False


def is_malformed(mangled: str, demangled: Demangled) -> bool:
    """Whether a name begins as C++ and is none: neither the demanglers that `demangled` asked nor our own parser read
    it.

    Names of other languages and conventions (Rust, vector functions, C) are never malformed.
    """
    if demangled.text is not None or classify(mangled) is not NameKind.CXX:
        return False
    return not _well_formed(mangled)
