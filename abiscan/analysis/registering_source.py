"""Whether a function of a Python file that a traceback names registers the operator of an error with
torch.library.Library: the operator then disappeared with that object."""

from __future__ import annotations

import os
import re

from msgspec.structs import replace

from abiscan.analysis.generated_module import own_text
from abiscan.diagnosis.readings.found_subjects import FoundSubject
from abiscan.diagnosis.readings.match_messages import FoundMessage
from abiscan.diagnosis.readings.read_text import ReadText

_FINDER = "library-object"
_MOST_FILES = 8


def with_registering_source(read: ReadText) -> ReadText:
    """The text, with the value `library_object` for errors about operators that one of its files registers."""
    return replace(read, found=tuple(_read(each, read.paths) for each in read.found))


def _read(found: FoundSubject | FoundMessage, paths: tuple[str, ...]) -> FoundSubject | FoundMessage:
    if not isinstance(found, FoundMessage) or _FINDER not in (*found.message.find, *found.answer.find):
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
    if not namespace or not any(registers.search(own_text(path, "the source")) for path in own[-_MOST_FILES:]):
        return found
    return replace(found, values={**found.values, "library_object": "Library("})
