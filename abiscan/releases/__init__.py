"""The released builds of torch and the history of every name they export: `open_index` is the way in.

Nothing here needs torch or the network. `collect` and `writer` make index files, and are imported by who needs them.
"""

from __future__ import annotations

from abiscan.releases.build import (
    Build,
    ExportKind,
    ReleaseExport,
    SymbolHistory,
    ranges_of,
)
from abiscan.releases.index import ReleaseIndex, open_index
from abiscan.releases.omission import Omission, omission

__all__ = [
    "Build",
    "ExportKind",
    "Omission",
    "ReleaseExport",
    "ReleaseIndex",
    "SymbolHistory",
    "omission",
    "open_index",
    "ranges_of",
]
