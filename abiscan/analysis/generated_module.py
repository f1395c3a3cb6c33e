"""What a generated module shows about the kernel of an error, if the file that the text names is here."""

from __future__ import annotations

import os

from msgspec.structs import replace

from abiscan.diagnosis.readings.match_messages import FoundMessage, with_values_at
from abiscan.diagnosis.readings.read_text import ReadText
from abiscan.diagnosis.text.generated_modules import is_of_inductor
from abiscan.errors import UsageError
from abiscan.inputs.named_file import read_named

# Bytes. Modules of large models have some hundred thousand.
_MOST = 4 << 20


def with_generated_module(read: ReadText) -> ReadText:
    """The text, with the values that the generated modules of its errors add: the kernel, its constants."""
    return replace(read, found=tuple(_read(each) if isinstance(each, FoundMessage) else each for each in read.found))


def _read(found: FoundMessage) -> FoundMessage:
    path, line = found.values.get("source_file", ""), found.values.get("source_line", "")
    if not path.endswith(".py") or not os.path.isabs(path) or not line.isdigit() or not is_of_inductor(path):
        return found
    text = own_text(path, "the generated module")
    if not text:
        return found
    lines = text.split("\n")
    return with_values_at(found, text, sum(len(each) + 1 for each in lines[: int(line) - 1]))


def own_text(path: str, what: str) -> str:
    """The text of a file of this user or root; empty if it cannot be read or is larger than `_MOST`.

    Args:
        what: what the file is, for the message of an error: `the source`.
    """
    try:
        return read_named(path, what, own=True, limit=_MOST).decode("utf-8", "replace")
    except (FileNotFoundError, UsageError, ValueError):
        return ""
