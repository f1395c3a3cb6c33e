"""Rules for C++, CUDA and HIP sources and for generated kernels."""

from __future__ import annotations

from abiscan.source.match import SourceHit, SourceRules, match_source
from abiscan.source.source_set import LANGUAGES, FileSet, Neighbours, SourceSet
from abiscan.source.source_tree import (
    SourceFile,
    attach_sources,
    check_source,
    is_source,
    scan_tree,
    sources_below,
)

__all__ = [
    "LANGUAGES",
    "FileSet",
    "Neighbours",
    "SourceFile",
    "SourceHit",
    "SourceRules",
    "SourceSet",
    "attach_sources",
    "check_source",
    "is_source",
    "match_source",
    "scan_tree",
    "sources_below",
]
