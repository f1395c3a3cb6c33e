"""Messages of the catalogue that are about a subject which is answered by code: a symbol, a library, an operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.model.finding import Location

SUBJECTS: Final[Mapping[str, Complaint]] = {each.name.lower().replace("_", "-"): each for each in Complaint}
"""What a row names as `subject` -> by what it is answered."""
TEXTS: Final = ("library", "version", "needed_by", "context")
FLAGS: Final = ("by_linker", "macos", "msvc", "cut_off", "by_ldd", "by_torch", "before_torch")
VALUES: Final = ("text", "source_file", "source_line", *TEXTS, *FLAGS)
"""The values that such a row captures or sets; `text` is the name of the subject, a flag is any text."""


def read_subject(subject: str, position: int, values: Mapping[str, str]) -> Mention:
    """The subject that a message is about.

    Args:
        position: offset in the text.
    """
    mention = Mention(SUBJECTS[subject], values["text"], position, location=location_of(values))
    texts = {name: values[name] for name in TEXTS if name in values}
    return msgspec.structs.replace(mention, **texts, **{name: True for name in FLAGS if name in values})


def location_of(values: Mapping[str, str]) -> Location | None:
    """The place in a source that the values `source_file`, `source_line` and `source_function` name."""
    file, line = values.get("source_file"), values.get("source_line")
    if file is None:
        return None
    return Location(function=values.get("source_function"), file=file, line=None if line is None else int(line))
