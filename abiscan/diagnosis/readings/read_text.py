"""Reads a text once: its subjects and facts about its environment."""

from __future__ import annotations

from msgspec import Struct

from abiscan.diagnosis.readings.bare_names import is_typed
from abiscan.diagnosis.readings.find_messages import find_messages
from abiscan.diagnosis.readings.former_errors import names_error, without_former
from abiscan.diagnosis.readings.found_subjects import FoundSubject
from abiscan.diagnosis.readings.match_messages import FoundMessage
from abiscan.diagnosis.text.find_log_facts import log_facts
from abiscan.diagnosis.text.log_facts import LogFacts
from abiscan.diagnosis.text.message_paths import paths_in
from abiscan.diagnosis.text.message_text import clean


class ReadText(Struct, frozen=True):
    """The contents of a text.

    Attributes:
        text: without terminal colours, decoded.
        found: subjects, in order.
        facts: about its torch and Python.
        paths: absolute paths of files in it.
    """

    text: str
    found: tuple[FoundSubject | FoundMessage, ...]
    facts: LogFacts
    paths: tuple[str, ...]

    @property
    def is_bare(self) -> bool:
        """Whether it contains only names, typed by the user, and no message of a process."""
        return not self.found and " " not in self.text.strip()


def read_text(text: str) -> ReadText:
    """Read a text; linear in its length."""
    text = clean(text)
    return ReadText(text, find_messages(text), log_facts(text), paths_in(text))


def read_present(text: str) -> ReadText | None:
    """Read a typed text without the clauses about former errors; None if it has none, or no other error."""
    text = clean(text)
    present = without_former(text, solved=True) if is_typed(text) else text
    if present == text or not names_error(present):
        return None
    facts = log_facts(without_former(text, solved=False))
    return ReadText(present, find_messages(present), facts, paths_in(text))
