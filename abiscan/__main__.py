"""`python -m abiscan` and the console command."""

from __future__ import annotations

import contextlib
import gc
import os
import sys


def start(*, forget_directory: bool = False) -> None:
    """Run the command line. Ctrl-C during the imports ends it as it does later, without a traceback.

    Args:
        forget_directory: remove the working directory from the search path, where `python -m` put it.
    """
    # A run creates tens of thousands of values that live to its end, and almost no cycles. The default of one
    # collection every 700 allocations takes a tenth of the run time and finds nothing.
    gc.set_threshold(50_000)
    try:
        if forget_directory:
            _forget_working_directory()
        from abiscan.cli import run

        run()
    except KeyboardInterrupt:
        os.write(2, b"abiscan: interrupted\n")
        os._exit(130)


def _forget_working_directory() -> None:
    """Remove the working directory, which `python -m` puts first, from `sys.path`."""
    first = sys.path[0] if sys.path else None
    with contextlib.suppress(FileNotFoundError):  # the directory is removed, and contains nothing to import
        if not sys.flags.safe_path and first is not None and first in ("", os.getcwd()):
            del sys.path[0]


if __name__ == "__main__":
    start(forget_directory=True)
