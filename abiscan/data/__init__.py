"""Generated tables and schemas of the package. The generator in `tools/` documents the source of each file."""

from __future__ import annotations

import os

_HERE = os.path.dirname(__file__)


def data_file(name: str) -> str:
    """The path of a shipped file."""
    return os.path.join(_HERE, name)


def read_compressed(name: str) -> str:
    """The text of a shipped gzip file."""
    import zlib

    with open(data_file(name), "rb") as file:
        return zlib.decompress(file.read(), 16 + zlib.MAX_WBITS).decode()  # 16: with a gzip header
