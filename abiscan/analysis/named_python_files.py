"""What Python files that a text names add to its errors, if they are here: the kernel of a generated module, and
whether a function registers the operator with torch.library.Library, which then disappeared with that object."""

from __future__ import annotations

import os
import re

from msgspec.structs import replace

from abiscan.diagnosis.readings.match_messages import FoundMessage, with_values_at
from abiscan.diagnosis.readings.read_text import ReadText
from abiscan.diagnosis.text.generated_modules import is_of_inductor
from abiscan.errors import UsageError
from abiscan.inputs.named_file import read_named

# Bytes. Modules of large models have some hundred thousand.
_MOST = 4 << 20
_FINDER = "library-object"
_MOST_FILES = 8


def with_python_files(read: ReadText) -> ReadText:
    """The text, with the values that its Python files add to its errors."""
    return replace(
        read,
        found=tuple(
            _with_library(_with_kernel(each), read.paths) if isinstance(each, FoundMessage) else each
            for each in read.found
        ),
    )


def _with_kernel(found: FoundMessage) -> FoundMessage:
    """The error with the kernel of the generated module that it names, and the constants of the kernel."""
    path, line = found.values.get("source_file", ""), found.values.get("source_line", "")
    if not path.endswith(".py") or not os.path.isabs(path) or not line.isdigit() or not is_of_inductor(path):
        return found
    text = _own_text(path, "the generated module")
    if not text:
        return found
    lines = text.split("\n")
    return with_values_at(found, text, sum(len(each) + 1 for each in lines[: int(line) - 1]))


def _own_text(path: str, what: str) -> str:
    """The text of a file of this user or root; empty if it cannot be read or is larger than `_MOST`.

    Args:
        what: what the file is, for the message of an error: `the source`.
    """
    try:
        return read_named(path, what, own=True, limit=_MOST).decode("utf-8", "replace")
    except (FileNotFoundError, UsageError, ValueError):
        return ""


def _with_library(found: FoundMessage, paths: tuple[str, ...]) -> FoundMessage:
    """The error with the value `library_object`, if it is about an operator that one of the files registers."""
    if _FINDER not in (*found.message.find, *found.answer.find):
        return found
    namespace = found.values.get("project", "")
    # Files of the user: a package keeps the objects of its own.
    own = [
        path
        for path in paths
        if os.path.isabs(path) and path.endswith(".py") and "-packages/" not in path and "/lib/python" not in path
    ]
    # On an indented line: the object of a module lives on, as does an attribute.
    registers = re.compile(
        rf"^[ \t]+(?!self\.)[^#\s][^#\n]{{0,500}}?\bLibrary\(\s{{0,99}}['\"]{re.escape(namespace)}['\"]", re.MULTILINE
    )
    if not namespace or not any(registers.search(_own_text(path, "the source")) for path in own[-_MOST_FILES:]):
        return found
    return replace(found, values={**found.values, "library_object": "Library("})
