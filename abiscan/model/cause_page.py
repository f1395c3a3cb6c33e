"""Long-form pages of causes: explanation, confirmation, and a fix for each situation."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
import enum

from msgspec import Struct

from abiscan.model.cause import CauseId


class Situation(enum.StrEnum):
    """How the extension was installed. It decides which fix applies."""

    WHEEL = "wheel"
    SOURCE = "source"
    CONDA = "conda"
    CONTAINER = "container"
    BINARY = "binary"


class Check(Struct, frozen=True):
    """A manual check that confirms a cause: the commands and what they show."""

    text: str
    commands: str


class Remedy(Struct, frozen=True):
    """The fix in one situation; `commands` is empty if there is nothing to run."""

    situation: Situation
    text: str
    commands: str = ""


class CausePage(Struct, frozen=True):
    """The page of a cause, from a TOML file in `diagnosis/catalogue/causes`.

    Attributes:
        title: one sentence that states the problem; `{torch}` is replaced by the target.
        title_elsewhere: the same for a symbol of another library; empty if it is the title.
        explanation, prevention: prose; an empty line separates paragraphs.
        detection: the facts from which the cause is concluded.
        references: HTTPS URLs.
    """

    id: CauseId
    title: str
    explanation: str
    detection: str
    confirm: tuple[Check, ...]
    fix: tuple[Remedy, ...]
    prevention: str
    references: tuple[str, ...]
    title_elsewhere: str = ""

    def title_for(self, torch: str | None = None, *, elsewhere: bool = False) -> str:
        """The title with `torch` (such as `torch 2.6.0 (cu124)`) as the target, or for a symbol of another library."""
        title = self.title_elsewhere if elsewhere and self.title_elsewhere else self.title
        text = title.replace("{torch}", torch or "the installed torch")
        # `torch` is written in lower case, also at the beginning of a sentence.
        return text if text.startswith(("torch ", "torch.")) else text[0].upper() + text[1:]
