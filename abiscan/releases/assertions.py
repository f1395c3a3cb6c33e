"""Assertions of torch headers: a file contains the text of each assertion compiled into it, with header and line.

`TORCH_INTERNAL_ASSERT(cond)` (c10/util/Exception.h) makes one string of the condition's source, the file and the line.
Later releases have other lines before it, so the string shows which headers an inline function came from, even in a
stripped file.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from itertools import islice

from msgspec import Struct

MARK = b' INTERNAL ASSERT FAILED at "'

_LINE = rb":(\d{1,6}),"
# Headers of the C++ front end have an include directory of their own.
_INCLUDE, _API_INCLUDE = b"include/", b"include/torch/csrc/api/include/"
# Longer than any condition or path, in bytes, and more than any file has: torchvision's _C.so has 175.
_MAX_PART = 4096
_MAX_ASSERTIONS = 10_000
FOLDERS = ("ATen", "c10", "caffe2", "torch")


class Assertion(Struct, frozen=True):
    """An assertion in a header or in a file.

    Attributes:
        header: relative to the include directory (`c10/core/TensorImpl.h`).
        first, last: lines from the macro name to its closing parenthesis; compilers differ in which they use. For a
            file, both are the line in the text.
        condition: CRC-32 of the condition without blanks.
    """

    header: str
    first: int
    last: int
    condition: int

    def is_at(self, seen: Assertion) -> bool:
        """Whether it is the assertion found in a file."""
        return self.condition == seen.condition and self.first <= seen.first <= self.last


def assertions_in(strings: Iterable[bytes]) -> tuple[Assertion, ...]:
    """Assertions of torch headers in strings that contain `MARK`, in order."""
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
    """The path below the include directory; empty for other paths and other headers than torch's."""
    at = path.rfind(_API_INCLUDE)
    if at < 0:
        at = path.rfind(_INCLUDE)
    if at < 0 or path[max(at - 1, 0) : at] not in (b"", b"/"):
        return ""
    header = path[at + len(_INCLUDE) :].decode("utf-8", "surrogateescape")
    return header if header.partition("/")[0] in FOLDERS else ""
