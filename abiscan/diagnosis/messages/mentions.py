"""A text -> the things that went wrong in it: error messages of loaders, linkers, compilers, Python, torch.compile.

Logs may be hundreds of megabytes, so a text is searched for the few literal words that each message has
(`message_readers.READERS`); only what stands around a hit is looked at closely, cut to a bounded length. Time is linear
in the text; the number of mentions is bounded.
"""

from __future__ import annotations

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


def mentions(text: str) -> tuple[Mention, ...]:
    """Every distinct thing that a (cleaned) text complains of, in its order, at most `MAX_MENTIONS`."""
    hits: list[tuple[int, int, str, Reader]] = []
    ascii_only = text.isascii()
    for rank, (word, reader) in enumerate(READERS):
        if ascii_only and not word.isascii():
            continue
        hits += [(at, rank, word, reader) for at in _places(text, word)]
    hits.sort(key=lambda hit: hit[:2])
    found: dict[tuple[SubjectKind, str, str | None], Mention] = {}
    for at, _rank, word, reader in hits[:_MAX_HITS_OF_ALL]:
        for mention in reader(Hit.of(text, at, word)):
            if not mention.text.strip():
                continue
            key = (mention.kind, mention.text, mention.version)
            known = found.get(key)
            if known is None or (known.needed_by is None and mention.needed_by is not None):
                found[key] = mention
        if len(found) >= MAX_MENTIONS:
            break
    return tuple(sorted(found.values(), key=lambda mention: mention.position))


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
