"""Reads a text once: its subjects and facts about its environment.

Errors that a person reports as former or solved, beside the present one, are left out. The words that say so are rows
of `catalogue/text_facts.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from abiscan.diagnosis.readings.bare_names import is_typed
from abiscan.diagnosis.readings.find_messages import find_messages
from abiscan.diagnosis.readings.found_subjects import FoundSubject
from abiscan.diagnosis.readings.match_messages import FoundMessage
from abiscan.diagnosis.text.find_log_facts import log_facts
from abiscan.diagnosis.text.log_facts import LogFacts
from abiscan.diagnosis.text.message_paths import paths_in
from abiscan.diagnosis.text.message_text import clean
from abiscan.diagnosis.text.text_facts import is_shown, matches_and_values


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


# A full stop within a version or a name ends no sentence.
_SENTENCE = re.compile(r"(?:[^\n;!?\uff01\uff1b\uff1f\u3002.]|\.(?!\s|$))+[^\s.]?")
_CLAUSE = re.compile(r"[^,\uff0c]+")


def without_former(text: str, *, solved: bool) -> str:
    """A text with blanks in place of the clauses about former errors, with the same offsets.

    Args:
        solved: also of those about solved errors, which name what solved them: that is installed.
    """
    for start, end in tuple(_former(text, solved)):
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def names_error(text: str) -> bool:
    """Whether a text without its former errors still reports one."""
    return bool(find_messages(text)) or is_shown("unnamed_symbol", text)


# Logs are repetitive.
@lru_cache(maxsize=1_024)
def _former_in(clause: str) -> tuple[str, int] | None:
    """How a clause reports a former error, and the offset of the words that say so."""
    return next(((value, words.start()) for value, words in matches_and_values("former_error", clause)), None)


def _former(text: str, solved: bool) -> Iterator[tuple[int, int]]:
    clauses = [
        (sentence.start() + clause.start(), sentence.start() + clause.end(), at == 0)
        for sentence in _SENTENCE.finditer(text)
        if sentence[0][-1] not in "?\uff1f\u5417"
        for at, clause in enumerate(_CLAUSE.finditer(sentence[0]))
    ]
    present = [start for start, end, _ in clauses if is_shown("present_error", text[start:end])]
    begin = since = -1
    for start, end, is_first in clauses:
        if is_first or start in present:
            begin, since = start, -1
        marker = _former_in(text[start:end])
        # "I had this error" may be the present one, if no clause contrasts it with another.
        is_other = marker is not None and (start in present or present[-1:] > [start] or (not marker[0] and start > 0))
        if since < 0 and marker is not None and is_other:
            since = start + marker[1]
        elif since < 0 and solved and is_shown("solved_error", text[start:end]):
            yield begin, end
            begin = end
        if since >= 0:
            yield since, end
            since = end
