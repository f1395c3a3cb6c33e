"""The message catalogue of this version, from `abiscan/data/messages.json.gz`, which `tools/generate.py` generates:
parsing TOML takes longer than most answers."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from collections.abc import Iterator, Mapping
from functools import cache

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from abiscan.data import read_table
from abiscan.diagnosis.catalogue.cause_row import Line
from abiscan.diagnosis.catalogue.message_row import Answer, Finder, Message
from abiscan.diagnosis.catalogue.text_fact_row import Need


class StoredCatalogue(Struct, frozen=True):
    """Every row. Answers by their ids and finders by their names are decoded on use: they are nine tenths of the file,
    of which a text needs few.

    Attributes:
        shared_fix: fixes that several causes have, by name.
        message: in order: of the messages with one anchor, the first match at a place is used.
    """

    finder: dict[str, Raw]
    answer: dict[str, Raw]
    shared_fix: dict[str, Raw]
    message: tuple[Message, ...]


@cache
def load_catalogue() -> StoredCatalogue:
    """Every row."""
    return read_table("messages.json.gz", StoredCatalogue)


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
def messages_about_files() -> frozenset[str]:
    """The ids of messages that name a file at most."""
    return frozenset(message.id for message in load_catalogue().message if message.about_file)


@cache
def answer_of_id(name: str) -> Answer:
    answer = json.decode(load_catalogue().answer[name], type=Answer)
    causes = (
        replace(each, fix=_shared_fix(each.shared_fix), shared_fix="") if each.shared_fix else each
        for each in answer.cause
    )
    return replace(answer, cause=tuple(causes))


@cache
def _shared_fix(name: str) -> tuple[Line, ...]:
    return json.decode(load_catalogue().shared_fix[name], type=tuple[Line, ...])


@cache
def finder_of_name(name: str) -> Finder:
    return json.decode(load_catalogue().finder[name], type=Finder)


def needs_of_messages() -> Iterator[Need]:
    """What matches of the lines of messages and of finders need."""
    for message in load_catalogue().message:
        yield from message.needs
    for finder in load_catalogue().finder.values():
        yield from json.decode(finder, type=_FinderNeeds).needs


class _FinderNeeds(Struct, frozen=True):
    """What matches of a finder need, without its pattern."""

    needs: tuple[Need, ...] = ()
