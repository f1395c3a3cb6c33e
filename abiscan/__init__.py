"""abiscan: symbol and ABI forensics for PyTorch extension binaries.

The library: `scan` checks files and returns a `Report`, `explain` explains an error message by `Subject`s; both take
`ScanOptions` and raise `AbiscanError`. `docs/how-to/library.md` describes them. Everything else in the
package may change in any version.

>>> from abiscan import scan
>>> scan("build/lib.so").verdict  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abiscan.errors import AbiscanError
    from abiscan.library import Report, ScanOptions, explain, scan
    from abiscan.model.subject import Subject

__version__ = "0.1.0"
__all__ = ["AbiscanError", "Report", "ScanOptions", "Subject", "explain", "scan"]


def __getattr__(name: str) -> object:
    """Import a name of the library on first use, because the command does not need them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "AbiscanError":
        from abiscan.errors import AbiscanError

        return AbiscanError
    from abiscan import library

    return getattr(library, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
