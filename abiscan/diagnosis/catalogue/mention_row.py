"""The rows of `catalogue/mentions.toml` as values. The fields are its keys."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from msgspec import Struct


class Mention(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Names of one kind that people write, and the sentences of programs about them.

    Attributes:
        names: bounded patterns; their groups are the places of the sentences.
        words: pattern about a failure in the same part of a line; empty if the name is the whole text.
        sentences: those of programs, of which the message catalogue explains some.
        examples: texts with such a name, each used as a test.
    """

    names: tuple[str, ...]
    words: str = ""
    sentences: tuple[str, ...]
    examples: tuple[str, ...] = ()
