"""Released torch builds and the history of every symbol that they export; start with `open_index`.

Nothing here needs torch or the network. `collect` and `writer` make index files and are imported only for that.
"""

from __future__ import annotations

from abiscan.releases.build import Build, ExportKind, ReleaseExport, SymbolHistory, ranges_of
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
