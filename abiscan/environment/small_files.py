"""Files of an environment that are read whole: configuration and Python sources."""

from __future__ import annotations

import os


def read_file(path: str, limit: int) -> bytes | None:
    """The first `limit` bytes of a file; None where there is none that can be read, a FIFO included, which may never
    answer."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            return file.read(limit)
    except OSError:
        return None
