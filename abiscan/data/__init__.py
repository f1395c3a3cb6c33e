"""Generated tables and schemas of the package. The generator in `tools/` documents the source of each file."""

from __future__ import annotations

import errno
import os
from typing import TypeVar

_Rows = TypeVar("_Rows")
_HERE = os.path.dirname(__file__)


def data_file(name: str) -> str:
    """The path of a shipped file."""
    return os.path.join(_HERE, name)


def read_table(name: str, kind: type[_Rows]) -> _Rows:
    """The values of a shipped JSON file, or one of gzip, or of a TOML file."""
    import msgspec

    if name.endswith(".gz"):
        return msgspec.json.decode(_unpacked(name), type=kind)
    with open(data_file(name), "rb") as file:
        if name.endswith(".json"):
            return msgspec.json.decode(file.read(), type=kind)
        import tomllib

        return msgspec.convert(tomllib.load(file), kind)


def read_compressed(name: str) -> str:
    """The text of a shipped gzip file, or of one with the slower LZMA (`.xz`), for tables that few texts need."""
    return _unpacked(name).decode()


def _unpacked(name: str) -> bytes:
    import zlib

    with open(data_file(name), "rb") as file:
        if name.endswith(".xz"):
            try:
                import lzma
            except ImportError:
                reason = "this Python was built without the module lzma, which unpacks it: use another"
                raise OSError(errno.ENOSYS, reason, file.name) from None
            return lzma.decompress(file.read())
        return zlib.decompress(file.read(), 16 + zlib.MAX_WBITS)  # 16: with a gzip header
