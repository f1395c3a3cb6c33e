"""The text of a name of Microsoft's mangling, by LLVM's demangler, which is linked into pycxxfilt."""

from __future__ import annotations


def microsoft_text(mangled: str) -> str | None:
    """The demangled name; None if the demangler refuses it or is not installed.

    Call it for names that `parse` accepts or that cannot be large: the demangler is not bounded.
    """
    try:
        import pycxxfilt

        text: str | None = pycxxfilt.msvc_demangle(mangled)
    except (ImportError, ValueError):
        return None
    return None if text == mangled else text
