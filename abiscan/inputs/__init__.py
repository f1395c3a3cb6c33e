"""Finds the shared objects and sources in the inputs; start with `expand`.

Archives are read member by member and never unpacked to disk as a whole. Their content is hostile: every size, count,
name and depth is bounded (`Limits`).
"""

from __future__ import annotations

from abiscan.inputs.artifact import Artifact, Group, Limits, Note, Options
from abiscan.inputs.expand import Archives, archives_of, display_path, expand, read_target_list

__all__ = [
    "Archives",
    "Artifact",
    "Group",
    "Limits",
    "Note",
    "Options",
    "archives_of",
    "display_path",
    "expand",
    "read_target_list",
]
