"""The message catalogue of this version, from `abiscan/data/messages.json.gz`, which `tools/generate.py` generates:
parsing TOML takes longer than most answers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from abiscan.data import read_compressed
from abiscan.diagnosis.catalogue.message_row import Answer, Catalogue, Finder, Message
from abiscan.diagnosis.messages.plain_forms import plain_word

# Characters of a plain anchor: shorter words are in many texts.
_SHORTEST = 4


@cache
def load_catalogue() -> Catalogue:
    """Every row."""
    return msgspec.json.decode(read_compressed("messages.json.gz"), type=Catalogue)


@cache
def messages_by_anchor() -> Mapping[str, tuple[Message, ...]]:
    """The messages of each anchor, in order."""
    found: dict[str, tuple[Message, ...]] = {}
    for message in load_catalogue().message:
        for anchor in message.anchors:
            found[anchor] = (*found.get(anchor, ()), message)
    return found


@cache
def messages_by_plain_anchor() -> Mapping[str, tuple[Message, ...]]:
    """The messages of the plain form of each anchor, in order."""
    found: dict[str, dict[str, Message]] = {}
    for anchor, messages in messages_by_anchor().items():
        word = plain_word(anchor)
        if len(word) >= _SHORTEST:
            found.setdefault(word, {}).update((message.id, message) for message in messages)
    return {word: tuple(messages.values()) for word, messages in found.items()}


@cache
def refutable_messages() -> tuple[Message, ...]:
    """The messages that a later line of the text may refute."""
    return tuple(message for message in load_catalogue().message if message.refuted_by)


@cache
def answers_by_id() -> Mapping[str, Answer]:
    """The answers by their ids."""
    return {answer.id: answer for answer in load_catalogue().answer}


@cache
def finders_by_name() -> Mapping[str, Finder]:
    """The finders by their names."""
    return {finder.name: finder for finder in load_catalogue().finder}
