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
        titles: the same for other forms of the cause: `other-library` for a symbol of none of torch's libraries.
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
    titles: dict[str, str] = {}

    def title_for(self, torch: str | None = None, form: str = "") -> str:
        """The title of a form, with `torch` (such as `torch 2.6.0 (cu124)`) as the target."""
        title = self.titles.get(form, self.title)
        text = title.replace("{torch}", torch or "the installed torch")
        # `torch` is written in lower case, also at the beginning of a sentence.
        return text if text.startswith(("torch ", "torch.")) else text[0].upper() + text[1:]
