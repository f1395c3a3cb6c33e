"""The decompressor of zstd: Python's own from 3.14 on, or its backport where that is installed."""

from __future__ import annotations

import importlib
import sys
from typing import Any

# conda packs with --ultra -22, which asks for 2^27 bytes.
_WINDOW_LOG = 27


def decompressor() -> Any:
    """With the protocol of bz2's.

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
    """What a decompressor raises for damaged data, and these."""
    modules = (sys.modules.get(name) for name in ("compression.zstd", "backports.zstd"))
    # A module that failed to be imported half-way has no such name yet.
    own = (getattr(module, "ZstdError", None) for module in modules)
    return (*others, *(error for error in own if error is not None))
