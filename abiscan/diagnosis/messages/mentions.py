"""A text -> the things that went wrong in it: error messages of loaders, linkers, compilers, Python, torch.compile.

Logs may be hundreds of megabytes, so a text is searched for the few literal words that each message has
(`message_readers.READERS`); only what stands around a hit is looked at closely, cut to a bounded length. Time is linear
in the text; the number of mentions is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.diagnosis.catalogue.load_messages import messages_by_anchor
from abiscan.diagnosis.catalogue.match_messages import FoundMessage, found_message, match_messages
from abiscan.diagnosis.catalogue.subject_readers import read_subject
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.messages.message_readers import READERS, Reader
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.model.subject import SubjectKind

# Distinct things one answer tells; a broken link step can name thousands, which one cause explains.
MAX_MENTIONS = 200
# Hits of one word, and of all, that are read closely, most of them repetitions of the same few.
_MAX_HITS, _MAX_HITS_OF_ALL = 2_000, 5_000
# Characters behind a message's first words that tell one complaint from another, and before them for words that come
# last.
_SAID, _SAID_BEFORE = 512, 48


def mentions(text: str) -> tuple[Mention | FoundMessage, ...]:
    """Every distinct thing that a (cleaned) text complains of, in its order, at most `MAX_MENTIONS`."""
    hits: list[tuple[int, int, str, Reader | None]] = []
    ascii_only = text.isascii()
    for rank, (word, reader) in enumerate((*READERS, *((anchor, None) for anchor in messages_by_anchor()))):
        if ascii_only and not word.isascii():
            continue
        hits += [(at, rank, word, reader) for at in _places(text, word)]
    hits.sort(key=lambda hit: hit[:2])
    found: dict[tuple[SubjectKind, str, str | None], Mention] = {}
    messages: list[FoundMessage] = []
    for at, _rank, word, reader in hits[:_MAX_HITS_OF_ALL]:
        hit = Hit.of(text, at, word)
        for mention in reader(hit) if reader is not None else _read_catalogue(hit):
            if isinstance(mention, FoundMessage):
                _add(mention, messages)
                continue
            if not mention.text.strip():
                continue
            key = (mention.kind, mention.text, mention.version)
            known = found.get(key)
            if known is None or (known.needed_by is None and mention.needed_by is not None):
                found[key] = mention
        if len(found) + len(messages) >= MAX_MENTIONS:
            break
    return tuple(sorted((*found.values(), *messages), key=lambda mention: mention.position))


def _read_catalogue(hit: Hit) -> Iterator[Mention | FoundMessage]:
    for message, quote, values in match_messages(hit, messages_by_anchor()[hit.word]):
        if message.subject is not None:
            yield read_subject(message.subject, hit.at, values)
        else:
            yield found_message(hit, message, quote, values)


def _add(new: FoundMessage, messages: list[FoundMessage]) -> None:
    """Keep a message, unless it repeats one that was found before, in whatever source; of two the one with more values
    is kept."""
    values = new.values_without_location
    for place, known in enumerate(messages):
        if known.answer.id == new.answer.id:
            if values <= known.values_without_location:
                return
            if known.values_without_location <= values:
                messages[place] = new
                return
    messages.append(new)


def _places(text: str, word: str) -> list[int]:
    """Where a word stands, each time that something else is said around it."""
    places: list[int] = []
    seen: set[str] = set()
    at = text.find(word)
    while at >= 0 and len(places) < _MAX_HITS:
        # The same words again are the same complaint, whatever rank, time or thread stands further before them.
        end = text.find("\n", at, at + _SAID)
        said = text[max(0, at - _SAID_BEFORE) : end if end >= 0 else at + _SAID]
        if said not in seen:
            seen.add(said)
            places.append(at)
        at = text.find(word, at + len(word))
    return places
