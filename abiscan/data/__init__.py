"""Generated tables and schemas of the package. The generator in `tools/` documents the source of each file."""

from __future__ import annotations

import os

_HERE = os.path.dirname(__file__)


def data_file(name: str) -> str:
    """The path of a shipped file."""
    return os.path.join(_HERE, name)
