"""What the user named -> the shared objects and sources in it.

`expand` is the way in. Archives are read member by member, nothing is unpacked to disk, and what is in them is hostile
until it has been looked at: every size, count, name and depth is bounded (`Limits`).
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
