"""What is known of a cause whatever the file: its explanation, and what to do in each situation."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.cause import CauseId


class Situation(enum.StrEnum):
    """How a user got the extension, which decides what can be done about a cause."""

    WHEEL = "wheel"
    SOURCE = "source"
    CONDA = "conda"
    CONTAINER = "container"
    BINARY = "binary"


class Check(Struct, frozen=True):
    """A way to confirm a cause by hand: what the commands show, and the commands."""

    text: str
    commands: str


class Remedy(Struct, frozen=True):
    """What to do in one situation; `commands` is empty where there is none to run."""

    situation: Situation
    text: str
    commands: str = ""


class CausePage(Struct, frozen=True):
    """What is known of a cause whatever the file: a TOML file of `diagnosis/catalogue/causes`.

    Attributes:
        title: a sentence on what is wrong; `{torch}` stands for the target.
        explanation, prevention: prose, paragraphs divided by an empty line.
        detection: the facts from which abiscan concludes it.
        references: https addresses.
    """

    id: CauseId
    title: str
    explanation: str
    detection: str
    confirm: tuple[Check, ...]
    fix: tuple[Remedy, ...]
    prevention: str
    references: tuple[str, ...]

    def title_for(self, torch: str | None = None) -> str:
        """The title with the target in it (`torch 2.6.0 (cu124)`)."""
        text = self.title.replace("{torch}", torch or "the installed torch")
        return text[0].upper() + text[1:] if self.title.startswith("{") else text
