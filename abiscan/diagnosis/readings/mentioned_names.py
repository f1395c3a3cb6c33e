"""Reads what people write about a failure in words of their own: "FLT_MAX is not defined", "THC/THC.h can't find",
"CUDA version mismatch". The catalogue explains the sentence of a program about it, if a row applies. The names are rows
of `catalogue/mentions.toml`, failures without a name of `catalogue/symptoms.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from msgspec.structs import replace

from abiscan.data import read_table
from abiscan.diagnosis.catalogue.load_packages import package_in_words
from abiscan.diagnosis.catalogue.text_fact_row import Mention
from abiscan.diagnosis.readings.find_messages import find_messages
from abiscan.diagnosis.readings.found_subjects import FoundSubject
from abiscan.diagnosis.readings.match_messages import FoundMessage, compiled
from abiscan.diagnosis.text.plain_forms import plain_text
from abiscan.diagnosis.text.source_builds import named_packages
from abiscan.diagnosis.text.text_facts import is_shown

# A name and the words about it are in one part of a line; a failure may be stated in several of a sentence.
_PART = re.compile(r"[^\n;!?,\u3002\uff01\uff1f\uff1b\uff0c]{4,512}")
_SENTENCE = re.compile(r"[^\n;\u3002\uff1b]{4,512}")
# `THC\THC.h`, as people on Windows write it.
_BACKSLASH_OF_HEADER = re.compile(r"(?<=\w)\\(?=[\w\\]{1,100}\.(?:h|hpp|cuh)\b)", re.ASCII)
_FLAGS: Final = re.IGNORECASE | re.ASCII
_MOST_SENTENCES: Final = 32
# Characters of a text without a log: a title, or a few sentences.
_SHORT: Final = 600
# Characters around a name that rows read facts from.
_AROUND: Final = 1_024


@cache
def mentions() -> tuple[Mention, ...]:
    """Every row, without examples."""
    return read_table("mentions.json.gz", tuple[Mention, ...])


def sentences_about(name: str) -> Iterator[str]:
    """The sentences of programs about a name that is the whole text and no symbol."""
    for row in mentions():
        if not row.words and any(compiled(pattern).fullmatch(name) is not None for pattern in row.names):
            yield from (sentence.format(a=name) for sentence in row.sentences)


def mentioned_names(text: str) -> tuple[FoundSubject | FoundMessage, ...]:
    """The results for missing names that a text has in no message of a program; none for names that no row explains."""
    return _explained(text, _PART, [row for row in mentions() if row.words and not row.in_title])


def stated_symptoms(text: str) -> tuple[FoundSubject | FoundMessage, ...]:
    """The results for a failure that a short text, or the first line of a longer one, states without a message."""
    first = text.lstrip()[:_SHORT].partition("\n")[0]
    title = text if len(text) <= _SHORT else first
    # Further lines may list what is installed.
    if is_shown("solved_error", title) or is_shown("other_topic", first):
        return ()
    return _explained(title, _SENTENCE, [row for row in mentions() if row.in_title])


def _explained(text: str, parts: re.Pattern[str], rows: list[Mention]) -> tuple[FoundSubject | FoundMessage, ...]:
    text = _BACKSLASH_OF_HEADER.sub("/", plain_text(text))
    read: set[str] = set()
    folded = text.casefold()
    words = {word for row in rows for group in row.needs for word in group if word in folded}
    rows = [row for row in rows if not any(map(words.isdisjoint, row.needs))]
    for part in parts.finditer(text) if rows else ():
        folded = part[0].casefold()
        there = {word for word in words if word in folded}
        possible = [row for row in rows if not any(map(there.isdisjoint, row.needs))]
        for sentence in _sentences_in(part[0], possible):
            if sentence in read:
                continue
            if len(read) == _MOST_SENTENCES:
                return ()
            read.add(sentence)
            before = text[max(0, part.start() - _AROUND) : part.start()]
            behind = text[part.start() : part.end() + _AROUND]
            found = find_messages(f"{before}\n{sentence}\n{behind}")
            if any(0 < each.position - len(before) <= len(sentence) + 1 for each in found):
                return tuple(_as_written(each, sentence, part[0]) for each in found)
    return ()


def _as_written(found: FoundSubject | FoundMessage, sentence: str, part: str) -> FoundSubject | FoundMessage:
    """The result with the words of the person, who did not write the sentence of the program."""
    of_sentence = isinstance(found, FoundMessage) and found.quote in sentence and found.quote not in part
    return replace(found, quote=part.strip()) if isinstance(found, FoundMessage) and of_sentence else found


def _sentences_in(part: str, rows: list[Mention]) -> Iterator[str]:
    """The sentences of programs about the failures in a part of a line, of the rows that its words may fit."""
    for row in rows:
        if _is_about(row, part):
            if not row.names:
                yield from _filled(row, {}, part)
            for pattern in row.names:
                for name in compiled(pattern).finditer(part):
                    yield from _filled(row, {group: text for group, text in name.groupdict().items() if text}, part)


def _filled(row: Mention, groups: dict[str, str], part: str) -> Iterator[str]:
    """The sentences with the names; one about a package only if there is one."""
    for sentence in row.sentences:
        if "{package}" not in sentence:
            yield sentence.format(**groups)
        elif package := _package_in(part):
            yield sentence.format(package=package, **groups)


def _package_in(part: str) -> str:
    """The first package that it names; empty for none."""
    in_words = package_in_words(part)
    return next(iter(named_packages(part)), "" if in_words is None else in_words.name)


def _is_about(row: Mention, part: str) -> bool:
    if any(re.search(words, part, _FLAGS) is None for words in row.words):
        return False
    return not row.unless or re.search(row.unless, part, _FLAGS) is None
