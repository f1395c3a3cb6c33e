"""Decompressor for zstd: that of Python 3.14 and later, or its backport if installed."""

from __future__ import annotations

import importlib
import sys
from typing import Any

# conda packs with --ultra -22, which needs a window of 2^27 bytes.
_WINDOW_LOG = 27


def decompressor() -> Any:
    """A decompressor with the interface of bz2's.

    Raises:
        LookupError: there is none; the message says what helps.
    """
    try:
        zstd = importlib.import_module("compression.zstd")
    except ImportError:
        try:
            zstd = importlib.import_module("backports.zstd")
        except ImportError:
            raise LookupError(
                "zstd data, which this Python cannot unpack: use Python 3.14, or `pip install backports.zstd`"
            ) from None
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})


def errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the errors that a decompressor raises for damaged data, and the given ones."""
    modules = (sys.modules.get(name) for name in ("compression.zstd", "backports.zstd"))
    # A partly imported module lacks the name.
    own = (getattr(module, "ZstdError", None) for module in modules)
    return (*others, *(error for error in own if error is not None))
