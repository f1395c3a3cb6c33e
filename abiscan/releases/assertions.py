"""Where torch's headers assert: a file keeps the text of each assertion that was compiled into it, with the header and
the line.

`TORCH_INTERNAL_ASSERT(cond)` (c10/util/Exception.h) makes one string of the condition as it is written, the file and
the line. A later release has other lines above it, so that the string tells which headers an inline function came from,
in a stripped file too.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from itertools import islice

from msgspec import Struct

MARK = b' INTERNAL ASSERT FAILED at "'

_LINE = rb":(\d{1,6}),"
# Headers of the C++ front end lie in a folder of headers of their own.
_INCLUDE, _API_INCLUDE = b"include/", b"include/torch/csrc/api/include/"
# No condition or path is longer, in bytes, and no file has as many: torchvision's _C.so has 175.
_MAX_PART = 4096
_MAX_ASSERTIONS = 10_000
FOLDERS = ("ATen", "c10", "caffe2", "torch")


class Assertion(Struct, frozen=True):
    """An assertion that a header has, or a file.

    Attributes:
        header: below the folder of headers (`c10/core/TensorImpl.h`).
        first, last: lines from the macro's name to its closing parenthesis; compilers differ in which they take. Both
            are the one in the text, of a file.
        condition: CRC-32 of the condition without its blanks.
    """

    header: str
    first: int
    last: int
    condition: int

    def is_at(self, seen: Assertion) -> bool:
        """Whether this is what a file has."""
        return self.condition == seen.condition and self.first <= seen.first <= self.last


def assertions_in(strings: Iterable[bytes]) -> tuple[Assertion, ...]:
    """What strings of a file that have `MARK` tell of torch's headers, in their order."""
    found = []
    for string in islice(strings, _MAX_ASSERTIONS):
        condition, _mark, rest = string.rpartition(MARK)
        path, _quote, behind = rest.partition(b'"')
        line = re.match(_LINE, behind)
        header = _header(path) if len(path) <= _MAX_PART else ""
        if line is not None and header and len(condition) <= _MAX_PART:
            number = int(line[1])
            found.append(Assertion(header, number, number, zlib.crc32(b"".join(condition.split()))))
    return tuple(found)


def _header(path: bytes) -> str:
    """The part below the folder of headers; empty where it is not below one, or not torch's."""
    at = path.rfind(_API_INCLUDE)
    if at < 0:
        at = path.rfind(_INCLUDE)
    if at < 0 or path[max(at - 1, 0) : at] not in (b"", b"/"):
        return ""
    header = path[at + len(_INCLUDE) :].decode("utf-8", "surrogateescape")
    return header if header.partition("/")[0] in FOLDERS else ""
