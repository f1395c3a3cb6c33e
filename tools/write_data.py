"""Writes compressed tables of `abiscan/data`."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

from abiscan.data import data_file


def write_compressed(name: str, text: str) -> int:
    """Write a shipped table as gzip, or `.xz` (with a small dictionary, which limits the memory of its readers), and
    return its size."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 4 << 20}]
    plain = text.encode()
    data = (
        lzma.compress(plain, check=lzma.CHECK_CRC32, filters=filters)
        if name.endswith(".xz")
        else gzip.compress(plain, mtime=0)  # without a time: equal data make equal files
    )
    Path(data_file(name)).write_bytes(data)
    return len(data)
