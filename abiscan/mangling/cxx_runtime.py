"""GNU's demangler: `__cxa_demangle` of the C++ runtime on this machine (Itanium C++ ABI, "3.4 Demangler API")."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

# What GCC's runtime has been called on Linux since GCC 3.4.
_LIBSTDCXX = "libstdc++.so.6"


def cxa_demangle() -> Callable[[bytes], bytes | None] | None:
    """A function from a mangled name to its text, None where it refuses the name; None where no C++ runtime is here.

    The library is opened by its name. cxxfilt, which starts `ldconfig` and compilers to find one, serves where it has
    another name (libc++, other systems).
    """
    try:
        runtime = ctypes.CDLL(_LIBSTDCXX)
        ask = runtime.__getattr__("__cxa_demangle")
        free = ctypes.CDLL(None).free
    except (OSError, AttributeError, TypeError):
        return _of_cxxfilt()
    ask.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    ask.restype = ctypes.c_void_p
    free.argtypes, free.restype = (ctypes.c_void_p,), None
    string_at = ctypes.string_at

    def demangle(name: bytes) -> bytes | None:
        address = ask(name, None, None, None)
        if address is None:
            return None
        try:
            return string_at(address)
        finally:
            free(address)

    return demangle


def _of_cxxfilt() -> Callable[[bytes], bytes | None] | None:
    try:
        import cxxfilt
    except (ImportError, OSError, AttributeError):
        # OSError: the runtime is there and cannot be loaded. AttributeError: it has no __cxa_demangle.
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
