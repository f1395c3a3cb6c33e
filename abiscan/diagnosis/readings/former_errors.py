"""Errors that a person reports as former or solved, beside the present one. The words are rows of
`catalogue/text_facts.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from abiscan.diagnosis.readings.find_messages import find_messages
from abiscan.diagnosis.text.text_facts import is_shown, matches_and_values

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
