"""A text, read once: what it complains of, and what it says of the place that it comes from."""

from __future__ import annotations

from msgspec import Struct

from abiscan.diagnosis.catalogue.match_messages import FoundMessage
from abiscan.diagnosis.messages.log_facts import LogFacts, log_facts, paths_in
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.messages.mentions import mentions
from abiscan.diagnosis.messages.message_text import clean


class ReadText(Struct, frozen=True):
    """What was read out of a text.

    Attributes:
        text: without terminal colours, decoded.
        mentions: what it complains of, in its order.
        facts: what it says of its torch and Python.
        paths: absolute paths of files that it names.
    """

    text: str
    mentions: tuple[Mention | FoundMessage, ...]
    facts: LogFacts
    paths: tuple[str, ...]

    @property
    def is_bare(self) -> bool:
        """Whether it is names alone, typed in where they are asked about, and no message of some process."""
        return not self.mentions and " " not in self.text.strip()


def read_text(text: str) -> ReadText:
    """Read a text; linear in its length."""
    text = clean(text)
    return ReadText(text, mentions(text), log_facts(text), paths_in(text))
