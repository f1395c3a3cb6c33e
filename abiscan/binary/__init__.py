"""The interface of binaries of every format, and the list of formats.

`Binary` is what the later stages use; `elf` implements it. A new format is a room beside `elf` and a row of `FORMATS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from abiscan.binary.formats import (
    FORMATS,
    PEEK_SIZE,
    BinaryFormat,
    looks_like_binary,
    open_binary,
    payload_finder,
    peek,
    read_binary,
)
from abiscan.binary.protocol import Binary
from abiscan.elf.sniff import describe_other
from abiscan.file_buffer import Sparse

if TYPE_CHECKING:
    from abiscan.elf.payloads import Payloads

__all__ = [
    "FORMATS",
    "PEEK_SIZE",
    "Binary",
    "BinaryFormat",
    "Payloads",
    "Sparse",
    "describe_other",
    "looks_like_binary",
    "open_binary",
    "payload_finder",
    "peek",
    "read_binary",
]
