"""Explanations of failed imports in the process where they fail.

Nothing of the engine is imported until an import of a shared object has failed.
"""

from __future__ import annotations

import functools
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import ModuleType


def explain_import_error(error: BaseException) -> str:
    """The cause of an `ImportError` (or an `OSError` of `ctypes.CDLL`) and its fix, as `abiscan explain` prints them.

    Never raises. The text is empty if the message has no known error.
    """
    from abiscan.errors import AbiscanError

    try:
        from abiscan.library.api import explain
        from abiscan.report.escape import safe_text
        from abiscan.report.style import Style
        from abiscan.report.subjects_text import render

        text = f"{type(error).__name__}: {error}"
        answer = render(explain(text, needed_by=getattr(error, "path", None)), Style(width=None))
        return f"abiscan:\n{safe_text(answer)}".rstrip("\n") if answer else ""
    except AbiscanError as problem:
        return f"abiscan: {problem}"
    except Exception as problem:  # the import error must always be printed
        return f"abiscan: internal error: {type(problem).__name__}: {problem}"


def enable() -> None:
    """Add the explanation to each `ImportError` of an extension module, as a note (PEP 678).

    Replaces `ExtensionFileLoader.create_module`, which calls dlopen, by a function that calls it. Other exceptions, and
    the error's type, message and attributes, do not change. A second call does nothing.
    """
    create_module = ExtensionFileLoader.create_module
    if hasattr(create_module, "_abiscan"):
        return

    @functools.wraps(create_module)
    def explained(self: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
        try:
            return create_module(self, spec)
        except ImportError as error:
            if note := explain_import_error(error):
                error.add_note(note)
            raise

    explained._abiscan = True  # type: ignore[attr-defined]
    ExtensionFileLoader.create_module = explained  # type: ignore[method-assign]
