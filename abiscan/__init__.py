"""abiscan: symbol and ABI forensics for PyTorch extension binaries.

The library: `scan` checks files and returns a `Report`, `explain` explains an error message by `Subject`s; both take
`ScanOptions` and raise `AbiscanError`. `enable` and `explain_import_error` explain a failed import in its process.
`docs/how-to/library.md` describes them. Everything else in the package may change in any version.

>>> from abiscan import scan
>>> scan("build/lib.so").verdict  # doctest: +SKIP
"""

from __future__ import annotations

# `typing` takes 5 ms to import; type checkers take a variable of this name for that of `typing`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from abiscan.errors import AbiscanError
    from abiscan.library.api import Report, ScanOptions, explain, scan
    from abiscan.library.import_errors import enable, explain_import_error
    from abiscan.model.subject import Subject

__version__ = "0.1.0"
__all__ = ["AbiscanError", "Report", "ScanOptions", "Subject", "enable", "explain", "explain_import_error", "scan"]

# Public name -> its module, if that is not `abiscan.library.api`.
_MODULES = {
    "AbiscanError": "abiscan.errors",
    "enable": "abiscan.library.import_errors",
    "explain_import_error": "abiscan.library.import_errors",
}


def __getattr__(name: str) -> object:
    """Import a name of the library on first use, because the command does not need them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES.get(name, "abiscan.library.api")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
