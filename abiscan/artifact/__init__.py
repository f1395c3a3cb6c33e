"""What the user named -> the shared objects and sources in it.

`expand` is the way in. Archives are read member by member, nothing is unpacked to disk, and what is in them is hostile
until it has been looked at: every size, count, name and depth is bounded (`Limits`).
"""

from __future__ import annotations

from abiscan.artifact.expand import display_path, expand, read_target_list
from abiscan.artifact.values import Artifact, ContainerFacts, ContainerKind, Group, Limits, Note, Options

__all__ = [
    "Artifact",
    "ContainerFacts",
    "ContainerKind",
    "Group",
    "Limits",
    "Note",
    "Options",
    "display_path",
    "expand",
    "read_target_list",
]
