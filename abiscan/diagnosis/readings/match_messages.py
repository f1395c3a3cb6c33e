"""Matches messages of the catalogue at the place of an anchor, and captures their values.

Every pattern is applied to a window of bounded length and has bounded repetitions, so the work per place is bounded.
Patterns are compiled when their anchor is first found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from abiscan.diagnosis.catalogue.load_messages import answer_of_id, finder_of_name
from abiscan.diagnosis.catalogue.message_row import Answer, Finder, Message, Where
from abiscan.diagnosis.readers.value_readers import VALUE_READERS
from abiscan.diagnosis.text.message_text import MOST_AROUND, Hit, bounds_around
from abiscan.diagnosis.text.plain_forms import lower, plain_pattern, plain_word
from abiscan.diagnosis.text.text_facts import may_match
from abiscan.model.gpu_toolkits import capability_of_name, target_of_amd_gpu

# Values for a location in a source.
LOCATION: Final = ("source_file", "source_line", "source_function")
# Maximum characters before and after an anchor in patterns.
_BEFORE, _AFTER = 1_024, 2_048
_BLANKS = re.compile(r"\s{1,8192}")
# Characters up to which a text is a person's own: the question about an error may be on another line. In a longer one
# it is in the first or the last half of them.
MOST_WITH_QUESTION: Final = 2_000
# A line with a question, in a text that people typed: no indented source, no error of a program, which may ask
# `Did you mean`.
QUESTION: Final = (
    r"(?<![^\n])(?![ \t])(?![^\n]{0,400}(?:Error|Warning|Exception|error|warning)(?: ?:|\n|\Z))[^\n]{0,400}?"
    r"(?:[?\uff1f](?![\w?@=&/])|[\u5417\u4e48\u55ce]|\u5982\u4f55)[^\n]{0,400}"
)


def _driver_release(number: str) -> str:
    """`11.4` for 11040 (cuDriverGetVersion: 1000 * major + 10 * minor)."""
    return f"{int(number) // 1000}.{int(number) % 1000 // 10}"


def _gpu_of_name(name: str) -> str:
    """`sm_120` for `RTX 5090`, `gfx1201` for `RX 9070 XT`; the name itself if it is unknown."""
    found = capability_of_name(name)
    return target_of_amd_gpu(name) or name if found is None else f"sm_{found.replace('.', '')}"


CONVERSIONS: Final[Mapping[str, Callable[[str], str]]] = {
    "capability": lambda text: f"sm_{text.replace('.', '')}",
    "driver": _driver_release,
    "named": _gpu_of_name,
    "operator": lambda text: re.sub(r"\W.*\W|\W", "::", text),
    "so": lambda name: f"lib{name}.so",
    "dylib": lambda name: f"lib{name}.dylib",
    "python": lambda digits: f"{digits[0]}.{digits[1:]}",
    "cuda": lambda text: f"cu{text.replace('.', '')}",
    "release": lambda text: text if text.count(".") > 1 else f"{text}.0",
    "digits": lambda digits: f"{digits[0]}.{digits[1:-1]}.{digits[-1]}",
    "distribution": lambda text: re.sub(r"^(?:(?:py)?torch[-_ ]?)?", "torch-", re.sub(r"[_ ]", "-", text.lower())),
    "scatter": lambda _: "torch-scatter",
    "aiter": lambda _: "aiter",
    "list": lambda text: ", ".join(text.replace(",", " ").split()),
}
r"""Suffixes of group names: `(?P<gpu__capability>8\.6)` captures `gpu` as `sm_86`. A number converts nothing: `NAME__1`
and `NAME__2` are two groups of one value."""


class FoundMessage(Struct, frozen=True):
    """A message of the catalogue in a text.

    Attributes:
        message: its row.
        answer: the row of its answer.
        position: offset in the text.
        quote: the matched part of the text, on one line.
        values: captured values, and those that the row sets.
        is_sure: whether the words are those of a program; few words in a longer sentence may be of a person.
    """

    message: Message
    answer: Answer
    position: int
    quote: str
    values: dict[str, str]
    is_sure: bool = True

    @property
    def values_without_location(self) -> frozenset[tuple[str, str]]:
        """Identifies the message: a missing header counts once, however many sources include it."""
        return frozenset(item for item in self.values.items() if item[0] not in LOCATION)


def match_messages(hit: Hit, messages: tuple[Message, ...]) -> Iterator[tuple[Message, str, dict[str, str]]]:
    """The first matching message at a place, if any: its row, the matched text and its values."""
    for message in messages:
        found = _match(hit, message)
        if found is not None:
            yield message, *found
            return


def found_message(hit: Hit, message: Message, quote: str, values: dict[str, str]) -> FoundMessage:
    """A match whose message has an answer in the catalogue."""
    assert message.answer is not None
    answer = answer_of_id(message.answer)
    return FoundMessage(message, answer, hit.at, quote, _find(hit, message, answer.find, values))


def with_values_at(found: FoundMessage, text: str, at: int) -> FoundMessage:
    """The message with what its finders find at an offset of another text; its own values take precedence."""
    hit, names = Hit.of(text, min(at, len(text)), ""), (*found.message.find, *found.answer.find)
    return replace(found, values=_find(hit, found.message, names, dict(found.values)))


def _match(hit: Hit, message: Message) -> tuple[str, dict[str, str]] | None:
    if message.not_prose and _is_prose(hit):
        return None
    if not hit.plain and not _may_match(hit, message):
        return None
    values = dict(message.set)
    quote = hit.text[hit.at : hit.at + len(hit.word)]
    if message.before:
        before = compiled(f"(?:{message.before})\\Z", hit.plain).search(hit.before[-_BEFORE:])
        if before is None:
            return None
        quote = before[0] + quote
        _take(before, values)
    if message.after:
        after = compiled(message.after, hit.plain).match((hit.rest + hit.following(1))[:_AFTER])
        if after is None:
            return None
        quote += after[0]
        _take(after, values)
    if message.line:
        line = _searched(message.line, hit.plain, _line(hit))
        if line is None:
            return None
        quote = line[0] or quote
        _take(line, values)
    if (message.requires or message.unless) and not _shows_words(
        _around(hit, message.around), message.requires, message.unless, hit.plain
    ):
        return None
    required = [_search(hit, message, name) for name in message.must_find]
    if None in required:
        return None
    if message.reader:
        read = VALUE_READERS[message.reader](hit, values)
        if read is None or not all(name in read for name in message.has):
            return None
        values |= read
    for found in filter(None, required):
        _take(found, values)
    return _BLANKS.sub(" ", quote.strip(" \n:")), _find(hit, message, message.find, values)


def _is_prose(hit: Hit) -> bool:
    before = hit.before[-_BEFORE:].rstrip()
    return before[-1:].isalnum() and "rror" not in before[-48:]


def _find(hit: Hit, message: Message, names: tuple[str, ...], values: dict[str, str]) -> dict[str, str]:
    for name in names:
        match = _search(hit, message, name) or _search_questions(hit, finder_of_name(name))
        if match is not None:
            _take(match, values)
    return values


def _search_questions(hit: Hit, finder: Finder) -> re.Match[str] | None:
    """What a person asks about a message on another line: the pattern of the message's line in other questions."""
    if not finder.is_question:
        return None
    return next(filter(None, map(compiled(finder.pattern, hit.plain).search, _questions_of(hit.text))), None)


@lru_cache(maxsize=1)
def _questions_of(text: str) -> tuple[str, ...]:
    return tuple(found[0] for part in _typed_parts(text) for found in compiled(QUESTION).finditer(part))


def _typed_parts(text: str) -> tuple[str, ...]:
    """The parts of a text that a person may have typed: all of a short one, what is around a log."""
    half = MOST_WITH_QUESTION // 2
    return (text,) if len(text) <= MOST_WITH_QUESTION else (text[:half], text[-half:].partition("\n")[2])


def _search(hit: Hit, message: Message, name: str) -> re.Match[str] | None:
    finder = finder_of_name(name)
    if not hit.plain and not _has_words_of(hit, finder):
        return None
    search = partial(_searched, finder.pattern, hit.plain)
    *line, widest = _windows(hit, message, finder)
    found = search(widest)
    # Most patterns match nowhere, and the line is part of the lines around it.
    if found is None:
        return None
    found = next(filter(None, map(search, line)), found)
    return found if not finder.only or _is_only(found, compiled(finder.pattern, hit.plain)) else None


def _is_only(found: re.Match[str], pattern: re.Pattern[str]) -> bool:
    """Whether each match in its text has the same values."""
    values = _values(found)
    return all(_values(each) == values for each in pattern.finditer(found.string))


# The words near each other in a long line, and the messages of one word, have the same parts of a text.
@lru_cache(maxsize=512)
def _searched(pattern: str, plain: bool, text: str) -> re.Match[str] | None:
    return compiled(pattern, plain).search(text)


@lru_cache(maxsize=512)
def _shows_words(text: str, requires: tuple[str, ...], unless: tuple[str, ...], plain: bool) -> bool:
    if plain:
        text, requires, unless = _lower(text), tuple(map(plain_word, requires)), tuple(map(plain_word, unless))
    return all(word in text for word in requires) and not any(word in text for word in unless)


_lower = lru_cache(maxsize=4)(lower)


def _may_match(hit: Hit, message: Message) -> bool:
    """Whether words of the pattern of the line, and of each required finder, are in the lines that these search."""
    return may_match(f"line of {message.id}", message.needs, hit.text, hit.start, hit.end) and all(
        _has_words_of(hit, finder_of_name(name)) for name in message.must_find
    )


def _has_words_of(hit: Hit, finder: Finder) -> bool:
    around = 0 if finder.where is Where.LINE else MOST_AROUND
    return may_match(f"finder {finder.name}", finder.needs, hit.text, hit.start - around, hit.end + around)


def _windows(hit: Hit, message: Message, finder: Finder) -> tuple[str, ...]:
    if finder.where is Where.BEFORE:
        return (hit.before[-_BEFORE:],)
    if finder.where is Where.AFTER:
        return ((hit.rest + hit.following(1))[:_AFTER],)
    if finder.where is Where.LINE:
        return (_line(hit),)
    if finder.where is Where.BELOW:
        return (hit.rest + hit.following(finder.lines or message.around),)
    return (_line(hit), _around(hit, finder.lines or message.around))


def _line(hit: Hit) -> str:
    start, end = bounds_around(hit.at, hit.at + len(hit.word), _BEFORE, _AFTER)
    return hit.text[max(start, hit.start) : min(end, hit.end)]


# The finders of one hit have few numbers of lines.
@lru_cache(maxsize=4)
def _around(hit: Hit, lines: int) -> str:
    return hit.preceding(lines) + hit.line + hit.following(lines)


def _values(match: re.Match[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    _take(match, values)
    return values


def _take(match: re.Match[str], values: dict[str, str]) -> None:
    for group, text in match.groupdict().items():
        if text:
            name, _, conversion = group.partition("__")
            values.setdefault(name, CONVERSIONS[conversion](text) if conversion.isalpha() else text)


@cache
def compiled(pattern: str, plain: bool = False) -> re.Pattern[str]:
    """Compile and cache a pattern. Names and versions end before non-ASCII text, as in `在PyTorch 2.8.0上`.

    Args:
        plain: it is for texts in plain form, in either case of letters.
    """
    return re.compile(plain_pattern(pattern), re.ASCII | re.IGNORECASE) if plain else re.compile(pattern, re.ASCII)
