"""Demangling: with GNU's demangler first, and LLVM's for names that GNU's refuses.

Which names a demangler accepts depends on its age, so every result includes which one it was. Both run in this process
and were written for the output of compilers: a crafted name of 300 characters, each part of which refers twice to the
previous one, keeps GNU's busy until its text fills the memory. Names that are long or refer back often are therefore
parsed first by the bounded parser of this package, and demangled only if it accepts them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from msgspec import Struct

from abiscan.mangling.cxxname import microsoft_text, parse
from abiscan.mangling.name_kind import NameKind, classify
from abiscan.mangling.parser.cursor import NameSyntaxError
from abiscan.mangling.parser.render import may_be_large
from abiscan.model.imports import DemangledBy

# Name of GCC's runtime on Linux since GCC 3.4.
_LIBSTDCXX = "libstdc++.so.6"
# A mangled name -> its text; None if the demangler refuses the name.
_Demangle = Callable[[str], str | None]


class Demangled(Struct, frozen=True):
    """Result of demangling a name.

    Attributes:
        text: the demangled text; None if no demangler accepted the name or it is not C++.
        by: the demangler that produced the text.
        gnu_refused: whether GNU's demangler refused the name.
    """

    mangled: str
    text: str | None
    by: DemangledBy
    gnu_refused: bool = False

    @property
    def only_llvm(self) -> bool:
        """Whether only LLVM's demangler accepts the name, not GNU's on this machine."""
        return self.gnu_refused and self.by is DemangledBy.LLVM

    @property
    def neither(self) -> bool:
        """Whether a C++ name is not demangled: refused by all demanglers, or not passed to them."""
        return self.text is None and classify(self.mangled) in (NameKind.CXX, NameKind.MSVC)


class Demangler:
    """Demangles names and caches the results; one instance for a run.

    The C++ runtime is opened for the first C++ name, pycxxfilt for the first name that GNU's demangler refuses.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Demangled] = {}

    @property
    def gnu_available(self) -> bool:
        """Whether GNU's demangler is available; otherwise only LLVM's is used."""
        return self._gnu is not None

    def demangle(self, mangled: str) -> Demangled:
        """Demangle one name."""
        kept = self._kept.get(mangled)
        if kept is None:
            kept = self._kept[mangled] = self._run(mangled)
        return kept

    def _run(self, mangled: str) -> Demangled:
        none = Demangled(mangled, None, DemangledBy.NONE)
        kind = classify(mangled)
        if kind is NameKind.MSVC:
            return self._ask_microsoft(mangled)
        if kind not in (NameKind.CXX, NameKind.MACHO):
            return none
        # A symbol version or a clone suffix: GNU's demangler refuses versions.
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

    def _ask_microsoft(self, mangled: str) -> Demangled:
        """The text of a name of Microsoft's mangling, which LLVM's demangler reads; of one that our parser accepts."""
        from abiscan.mangling.parser.microsoft_codes import may_be_large_microsoft

        none = Demangled(mangled, None, DemangledBy.NONE)
        name = mangled.removeprefix("__imp_")
        if "\0" in name or (may_be_large_microsoft(name) and not _is_bounded(name)):
            return none
        text = microsoft_text(name)
        return none if text is None else Demangled(mangled, text, DemangledBy.LLVM)

    @functools.cached_property
    def _gnu(self) -> _Demangle | None:
        """The demangler of the C++ runtime on this machine."""
        cxa = _cxa_demangle()
        if cxa is None:
            return None

        def demangle(name: str) -> str | None:
            text = cxa(name.encode("utf-8", "surrogateescape"))
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
                # Also UnicodeEncodeError, for bytes that are not UTF-8.
                return None
            return text

        return demangle


def _is_bounded(name: str) -> bool:
    """Whether the parser of this package accepts the name within its limits, text included."""
    parsed = parse(name)
    try:
        return parsed is not None and bool(parsed.display)
    except NameSyntaxError:
        return False


def _cxa_demangle() -> Callable[[bytes], bytes | None] | None:
    """`__cxa_demangle` of the C++ runtime on this machine (Itanium C++ ABI, 3.4): a function from a mangled name to its
    text (None if it refuses the name); None without a C++ runtime.

    The library is opened by its name. If it has another name (libc++, other systems), cxxfilt is used, which starts
    `ldconfig` and compilers to find one.
    """
    import ctypes

    try:
        runtime = ctypes.CDLL(_LIBSTDCXX)
        cxa = runtime.__getattr__("__cxa_demangle")
        free = ctypes.CDLL(None).free
    except (OSError, AttributeError, TypeError):
        return _cxxfilt_demangle()
    cxa.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    cxa.restype = ctypes.c_void_p
    free.argtypes, free.restype = (ctypes.c_void_p,), None
    string_at = ctypes.string_at

    def demangle(name: bytes) -> bytes | None:
        address = cxa(name, None, None, None)
        if address is None:
            return None
        try:
            return string_at(address)
        finally:
            free(address)

    return demangle


def _cxxfilt_demangle() -> Callable[[bytes], bytes | None] | None:
    try:
        import cxxfilt
    except (ImportError, OSError, AttributeError):
        # OSError: the runtime cannot be loaded. AttributeError: it has no __cxa_demangle.
        return None
    default = cxxfilt.default_demangler
    if not isinstance(default, cxxfilt.Demangler):
        return None  # no C++ runtime library on this machine

    def demangle(name: bytes) -> bytes | None:
        try:
            text: bytes = default.demangleb(name)
        except cxxfilt.Error:
            return None
        return text

    return demangle
