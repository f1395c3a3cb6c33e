"""Finds error messages of loaders, linkers, compilers, Python and torch.compile in a text.

Logs may have hundreds of megabytes. The text is searched for the literal words of the messages; only a bounded part
around each hit is parsed. Time is linear in the text; the number of results is bounded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec.structs import replace

from abiscan.diagnosis.catalogue.load_messages import messages_by_anchor, refutable_messages
from abiscan.diagnosis.catalogue.message_row import Message
from abiscan.diagnosis.readings.answer_messages import is_of_text, subject_of
from abiscan.diagnosis.readings.found_subjects import FoundSubject, SymbolSubject, read_subject
from abiscan.diagnosis.readings.match_messages import FoundMessage, compiled, found_message, match_messages
from abiscan.diagnosis.text.message_text import Hit
from abiscan.diagnosis.text.name_tokens import mangled_names
from abiscan.diagnosis.text.plain_forms import lower, plain_text, plain_word, unwrapped
from abiscan.diagnosis.text.possible_words import WordParts, bounds_of_pieces, possible_words, word_parts
from abiscan.model.imports import Owner
from abiscan.model.platforms import file_key
from abiscan.ownership.names import owner_of

# Maximum number of results; a failed link may name thousands, with one cause.
MAX_FOUND = 200
# Maximum hits of one word and of all words that are parsed; most of them repeat others.
_MAX_HITS, _MAX_HITS_OF_ALL = 2_000, 5_000
# Characters after the first words of a message that distinguish it, and before them for words at its end.
_TEXT_AFTER, _TEXT_BEFORE, _NAME = 512, 48, 4_096
# Characters of a plain anchor: shorter words are in many texts.
_SHORTEST = 4
# The last line of a traceback; lines that report a failure and go on; packages that programs do without.
_RAISED = re.compile(r"\A(?:\S{1,40} )?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failure): ")
_WARNS = re.compile(r"(?i)\bwarn(?:ing)?\b|library load error|\bINFO\b|\bDEBUG\b")
_OPTIONAL = re.compile(r"(?i)\b(?:bitsandbytes|xformers|triton|flash[-_]attn|apex|deepspeed|onnxruntime|torchao)\b")
# What a line of a check of CMake, or of a warning, begins with; the lines of errors of any program.
_BEGINS_CHECK = re.compile(r"\A\s{0,16}-- ")
_BEGINS_WARNING = re.compile(
    r"(?i:\bwarn(?:ing)?\b)|\w{1,40}Warning\b|\bINFO\b|\bDEBUG\b"
    r"|(?:\A|\s)W\d{0,4} \S{1,200}\.(?:cc|cpp|py):\d"
)
_ERROR = re.compile(
    r"(?m)^(?:\S{1,40} )?(?:[A-Za-z_]\w{0,64}\.){0,8}[A-Z]\w{0,64}(?:Error|Exception): |\bCMake Error\b"
    r"|(?<!\w)(?:fatal )?error(?: [A-Z]{1,4}\d{4})?: "
)
# So many words in the order of a message are those of a program.
_WORDS_OF_MESSAGE = 4
# Characters around a symbol in which a person also writes its mangled name.
_NEAR = 1_024


def find_messages(text: str) -> tuple[FoundSubject | FoundMessage, ...]:
    """All different results in a (cleaned) text, in order, at most `MAX_FOUND`."""
    return _find(text, text)


def find_plain_messages(text: str) -> tuple[FoundSubject | FoundMessage, ...]:
    """The results if quotation marks, the case of letters, the choice among words for one failure and, if there are
    none, line ends do not count. Rows about the whole text in people's own words, which allow for all this, are left
    out."""
    plain = plain_text(text)
    found = tuple(_rated(each, plain) for each in _find(plain, lower(plain), plain=True) if not _is_of_people(each))
    whole = unwrapped(plain)
    if found or whole == plain:
        return found
    return tuple(each for each in _find(whole, lower(whole), plain=True) if not is_of_text(each))


def _rated(found: FoundSubject | FoundMessage, plain: str) -> FoundSubject | FoundMessage:
    """A message of a few words, in a longer sentence, as one that is not sure: `cannot find cuda version of torch`."""
    if not isinstance(found, FoundMessage):
        return found
    quoted, words = len(found.quote.split()), len(_line_at(plain, found.position).split())
    return replace(found, is_sure=quoted >= _WORDS_OF_MESSAGE or 2 * quoted >= words)


def _is_of_people(found: FoundSubject | FoundMessage) -> bool:
    return isinstance(found, FoundMessage) and found.answer.only_alone and bool(found.message.must_find)


def _find(text: str, searched: str, *, plain: bool = False) -> tuple[FoundSubject | FoundMessage, ...]:
    """The results in a text; the words of messages are searched in `searched`, which has the same offsets."""
    by_word = _messages_by_word(plain)
    possible, ranks = possible_words(searched, _word_parts(plain)), _ranks(plain)
    places = {word: _places(searched, word, pieces) for word, pieces in possible.items()}
    most = _largest_share([len(found) for found in places.values()], _MAX_HITS_OF_ALL)
    hits = sorted((at, ranks[word], word) for word, found in places.items() for at in found[:most])
    subjects: dict[tuple[str, ...], FoundSubject] = {}
    messages: list[FoundMessage] = []
    for at, _rank, word in hits:
        hit = Hit.of(text, at, word, plain=plain)
        for message, quote, values in match_messages(hit, by_word[word]):
            if message.subject is None:
                _add(found_message(hit, message, quote, values), messages)
                continue
            subject = read_subject(message, at, values)
            if subject is None or not subject.text.strip():
                continue
            known = subjects.get(subject.key)
            if known is None or (known.needed_by is None and subject.needed_by is not None):
                subjects[subject.key] = subject
        if len(subjects) + len(messages) >= MAX_FOUND:
            break
    whole = {each.key: each for each in (_in_full(text, subject) for subject in subjects.values())}
    standing = _unrefuted(text, (*whole.values(), *messages))
    return _in_order(text, sorted(standing, key=lambda found: found.position))


def _in_order(text: str, found: Sequence[FoundSubject | FoundMessage]) -> tuple[FoundSubject | FoundMessage, ...]:
    """The results by position; behind the error that a traceback ends with, warnings of packages that it does not go
    through."""
    raised = max((each.position for each in found if _RAISED.search(_line_at(text, each.position))), default=-1)
    aside = [each for each in found if each.position < raised and _is_warning_aside(text, each.position, raised)]
    return (*(each for each in found if each not in aside), *aside)


def _line_at(text: str, position: int) -> str:
    """The line of a position up to its end, at most `_NEAR` characters on each side."""
    begin = max(text.rfind("\n", 0, position) + 1, position - _NEAR)
    end = text.find("\n", position, position + _NEAR)
    return text[begin : end if end >= 0 else position + _NEAR]


def is_warning(text: str, position: int, *, checks: bool) -> bool:
    """Whether the line of a message calls it a warning before its words; or only, whether it is a check of CMake."""
    begin = max(text.rfind("\n", 0, position) + 1, position - _NEAR)
    return (_BEGINS_CHECK if checks else _BEGINS_WARNING).search(text[begin:position]) is not None


def last_error(text: str, position: int) -> int:
    """The offset of the last error of any program in the lines behind a position; -1 if there is none."""
    end = text.find("\n", position)
    return max((found.start() for found in _ERROR.finditer(text, end)), default=-1) if end >= 0 else -1


def _is_warning_aside(text: str, position: int, raised: int) -> bool:
    line = _line_at(text, position)
    package = _OPTIONAL.search(line)
    if package is None or not _WARNS.search(line):
        return False
    end = position + len(line)
    return package[0].lower() not in text[min(end, raised) : raised + _NEAR].lower()


@cache
def _messages_by_word(plain: bool) -> Mapping[str, tuple[Message, ...]]:
    """The messages of each anchor, or of its plain form, in order."""
    if not plain:
        return messages_by_anchor()
    found: dict[str, dict[str, Message]] = {}
    for anchor, messages in messages_by_anchor().items():
        word = plain_word(anchor)
        if len(word) >= _SHORTEST:
            found.setdefault(word, {}).update((message.id, message) for message in messages)
    return {word: tuple(messages.values()) for word, messages in found.items()}


@cache
def _word_parts(plain: bool) -> WordParts:
    return word_parts(_ranks(plain))


@cache
def _ranks(plain: bool) -> Mapping[str, int]:
    return {word: rank for rank, word in enumerate(_messages_by_word(plain))}


def _in_full(text: str, subject: FoundSubject) -> FoundSubject:
    """A symbol by its mangled name, if a person wrote only its identifier and a name of torch is near:
    `undefined symbol data_ptr, _ZNK2at10TensorBase8data_ptrIlEEPT_v`. The mangled name of another project's C function
    shows that `extern "C"` is missing."""
    base = subject.text.rpartition("::")[2]
    if not isinstance(subject, SymbolSubject) or not base.isidentifier() or base.startswith("_Z"):
        return subject
    part, around = f"{len(base)}{base}", text[max(0, subject.position - _NEAR) : subject.position + _NEAR]
    names = [name for _, name in mangled_names(around, MAX_FOUND) if part in name] if part in around else []
    return replace(subject, text=names[0]) if names and owner_of(names[0]) is Owner.TORCH else subject


def _unrefuted(text: str, found: tuple[FoundSubject | FoundMessage, ...]) -> tuple[FoundSubject | FoundMessage, ...]:
    """The results without those that a later line of the text refutes."""
    for message in refutable_messages():
        if any(_row_of(each) == message.id for each in found):
            last = {file_key(match["text"]): match.start() for match in compiled(message.refuted_by).finditer(text)}
            found = tuple(
                each
                for each in found
                if _row_of(each) != message.id or last.get(file_key(_text_of(each)), 0) <= each.position
            )
    return found


def _row_of(found: FoundSubject | FoundMessage) -> str | None:
    return found.message.id if isinstance(found, FoundMessage) else found.message


def _text_of(found: FoundSubject | FoundMessage) -> str:
    return subject_of(found)[0] if isinstance(found, FoundMessage) else found.text


def _add(new: FoundMessage, messages: list[FoundMessage]) -> None:
    """Add a message, unless it repeats an earlier one from another source or with the same subject; the one with more
    values is kept."""
    values, subject = new.values_without_location, subject_of(new)
    for place, known in enumerate(messages):
        if known.answer.id == new.answer.id:
            if known.values_without_location < values:
                messages[place] = new
                return
            if values <= known.values_without_location or subject == subject_of(known):
                return
    messages.append(new)


def _largest_share(counts: list[int], most: int) -> int:
    """The largest number of hits of each word with which all are at most `most`: the many hits of common words then
    leave those of rare ones, wherever they are."""
    left = most
    for words, count in zip(range(len(counts), 0, -1), sorted(counts), strict=True):
        if count * words > left:
            return left // words
        left -= count
    return most


def _places(text: str, word: str, pieces: int) -> list[int]:
    """Places of a word in pieces of a text, without those with the same text around it."""
    places: list[int] = []
    seen: set[str] = set()
    after = 0
    for start, last in bounds_of_pieces(pieces):
        at = text.find(word, max(start, after), last)
        while at >= 0 and len(places) < _MAX_HITS:
            after = at + len(word)
            # The same words are the same message, whatever rank, time or thread precedes them.
            end = text.find("\n", at, at + _TEXT_AFTER)
            # The name precedes a closing quotation mark, however long it is.
            begin = max(at - _NAME, text.rfind("\n", max(0, at - _NAME), at)) if word[0] in "'\"" else at - _TEXT_BEFORE
            said = text[max(0, begin) : end if end >= 0 else at + _TEXT_AFTER]
            if said not in seen:
                seen.add(said)
                places.append(at)
            at = text.find(word, after, last)
    return places
