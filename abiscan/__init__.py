"""abiscan: symbol and ABI forensics for PyTorch extension binaries.

The library in three names: `scan` looks at files and gives a `Report`, `explain` answers an error message; both take
`ScanOptions`. Everything else in the package may change from one version to the next.

>>> import abiscan
>>> report = abiscan.scan(["build/lib.so"])  # doctest: +SKIP
>>> [artifact.verdict for artifact in report.artifacts]  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.model.report import Report
    from abiscan.model.subject import Subject

__version__ = "0.1.0"
__all__ = ["Report", "ScanOptions", "explain", "scan"]


def scan(targets: Sequence[str], options: ScanOptions | None = None) -> Report:
    """Look at everything that `targets` name; nothing of it is run, and torch is not imported.

    Args:
        targets: shared objects, wheels, archives, directories, sources, or names of installed packages.
        options: None for this process's own interpreter, environment variables and working directory.

    Raises:
        UsageError: a target does not exist.
        UnknownBuild: `options.torch` names no torch.
    """
    from abiscan.analysis.run import scan as run

    return run(targets, options or _options_of_this_process())


def explain(text: str, options: ScanOptions | None = None, *, needed_by: str | None = None) -> tuple[Subject, ...]:
    """Answer everything that a symbol, an error message or a whole log asks.

    Args:
        options: None for this process's own interpreter, environment variables and working directory.
        needed_by: file name of the shared object whose error it was, where the text does not say.

    Raises:
        UnknownBuild: `options.torch` names no torch.
    """
    from abiscan.analysis.explanation import explain as run

    return run(text, options or _options_of_this_process(), needed_by=needed_by)


def _options_of_this_process() -> ScanOptions:
    import os
    import sys

    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.environment.python import read_environment
    from abiscan.loader import LoaderSettings

    environment = read_environment(sys.executable) if sys.executable else None
    return ScanOptions(None, environment, LoaderSettings.of(os.environ, os.getcwd()))


def __getattr__(name: str) -> object:
    """The two value types, imported when they are first asked for: a command needs them late or not at all."""
    if name == "ScanOptions":
        from abiscan.analysis.scan_options import ScanOptions

        return ScanOptions
    if name == "Report":
        from abiscan.model.report import Report

        return Report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
