"""Reads what people write about a missing name in words of their own: "FLT_MAX is not defined", "THC/THC.h can't find".
The catalogue explains the sentence of a program about this name, if a row applies to it. The kinds of names are rows of
`catalogue/mentions.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from abiscan.data import read_table
from abiscan.diagnosis.catalogue.mention_row import Mention
from abiscan.diagnosis.readings.find_messages import find_messages
from abiscan.diagnosis.readings.found_subjects import FoundSubject
from abiscan.diagnosis.readings.match_messages import FoundMessage, compiled
from abiscan.diagnosis.text.plain_forms import plain_text

# A name and the words about it are in one part of a line.
_PART = re.compile(r"[^\n;!?,\u3002\uff01\uff1f\uff1b\uff0c]{4,512}")
# `THC\THC.h`, as people on Windows write it.
_BACKSLASH_OF_HEADER = re.compile(r"(?<=\w)\\(?=[\w\\]{1,100}\.(?:h|hpp|cuh)\b)", re.ASCII)
_MOST_SENTENCES: Final = 32
# Characters around a name that rows read facts from.
_AROUND: Final = 1_024


@cache
def mentions() -> tuple[Mention, ...]:
    """Every row, without examples."""
    return read_table("mentions.json", tuple[Mention, ...])


def sentences_about(name: str) -> Iterator[str]:
    """The sentences of programs about a name that is the whole text and no symbol."""
    for row in mentions():
        if not row.words and any(compiled(pattern).fullmatch(name) is not None for pattern in row.names):
            yield from (sentence.format(a=name) for sentence in row.sentences)


def mentioned_names(text: str) -> tuple[FoundSubject | FoundMessage, ...]:
    """The results for missing names that a text has in no message of a program; none for names that no row explains."""
    text = _BACKSLASH_OF_HEADER.sub("/", plain_text(text))
    read: set[str] = set()
    for part in _PART.finditer(text):
        for sentence in _sentences_in(part[0]):
            if sentence in read or len(read) >= _MOST_SENTENCES:
                continue
            read.add(sentence)
            before = text[max(0, part.start() - _AROUND) : part.start()]
            behind = text[part.start() : part.end() + _AROUND]
            if found := find_messages(f"{before}\n{sentence}\n{behind}"):
                return found
    return ()


def _sentences_in(part: str) -> Iterator[str]:
    """The sentences of programs about the names in a part of a line that has words about a failure."""
    for row in mentions():
        if row.words and re.search(row.words, part, re.IGNORECASE) is not None:
            for pattern in row.names:
                for name in compiled(pattern).finditer(part):
                    groups = {group: text for group, text in name.groupdict().items() if text}
                    yield from (sentence.format(**groups) for sentence in row.sentences)
