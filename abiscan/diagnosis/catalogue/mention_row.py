"""The rows of `catalogue/mentions.toml` as values. The fields are its keys."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from msgspec import Struct


class Mention(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What people write about a failure in words of their own, and the sentences of programs about it.

    Attributes:
        names: bounded patterns of a name, one of which is there; their groups are the places of the sentences. None if
            the words are sufficient.
        words: patterns that are all in one part of a line, in any order; empty if the name is the whole text.
        unless: pattern that is not there.
        in_title: whether it is read only in a short text, or the first line of a longer one.
        needs: groups of case-folded words; a part of a line with a name and all words contains one of each (generated
            by tools/pattern_needs.py).
        sentences: those of programs, of which the message catalogue explains some.
        examples: texts with such a failure, each used as a test.
        others: similar texts without it.
    """

    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    unless: str = ""
    in_title: bool = False
    needs: tuple[tuple[str, ...], ...] = ()
    sentences: tuple[str, ...]
    examples: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
