"""GNU's demangler: `__cxa_demangle` of the C++ runtime on this machine (Itanium C++ ABI, "3.4 Demangler API")."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

# Name of GCC's runtime on Linux since GCC 3.4.
_LIBSTDCXX = "libstdc++.so.6"


def cxa_demangle() -> Callable[[bytes], bytes | None] | None:
    """A function from a mangled name to its text (None if it refuses the name); None without a C++ runtime.

    The library is opened by its name. If it has another name (libc++, other systems), cxxfilt is used, which starts
    `ldconfig` and compilers to find one.
    """
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
