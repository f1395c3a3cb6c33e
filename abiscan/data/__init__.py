"""Generated tables and schemas that ship with the package; each file's maker in `tools/` says where it came from."""

from __future__ import annotations

import os

_HERE = os.path.dirname(__file__)


def data_file(name: str) -> str:
    """The path of a shipped file."""
    return os.path.join(_HERE, name)
