"""Messages of the catalogue that are about a subject which is answered by code: a symbol, a library, an operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from abiscan.diagnosis.messages.mention import Complaint, Mention

SUBJECTS: Final[Mapping[str, Complaint]] = {each.name.lower().replace("_", "-"): each for each in Complaint}
"""What a row names as `subject` -> by what it is answered."""
VALUES: Final = ("text", "library", "version", "needed_by")
"""The values that such a row captures or sets; `text` is the name of the subject."""


def read_subject(subject: str, position: int, values: Mapping[str, str]) -> Mention:
    """The subject that a message is about.

    Args:
        position: offset in the text.
    """
    return Mention(
        SUBJECTS[subject],
        values["text"],
        position,
        library=values.get("library"),
        version=values.get("version"),
        needed_by=values.get("needed_by"),
    )
