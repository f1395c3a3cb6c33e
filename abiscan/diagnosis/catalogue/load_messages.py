"""The message catalogue of this version, from `abiscan/data/messages.json.gz`, which `tools/generate.py` generates:
parsing TOML takes longer than most answers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from abiscan.data import read_compressed
from abiscan.diagnosis.catalogue.message_row import Answer, Catalogue, Finder, Message


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
