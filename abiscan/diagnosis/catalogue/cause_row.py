"""Rows of causes, of the message catalogue, of `catalogue/code_causes.toml` and of `inlined_calls.toml`, as values. The
fields are the keys."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from msgspec import Struct

from abiscan.model.cause import CauseId


class _Row(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Line(_Row, frozen=True, kw_only=True):
    """A line of evidence or of a fix. A line with a place (`{gpu}`) without a value is left out, unless the place
    has a replacement text (`{gpu|X}`).

    Attributes:
        text: a template.
        when: conditions that must all hold: `NAME` (the value is given), `NAME = TEXT`, `NAME < VERSION`, `NAME >=
            VERSION`; a prefix `not` negates.
    """

    text: str
    when: tuple[str, ...] = ()


class AnswerCause(_Row, frozen=True, kw_only=True):
    """A cause of an answer, if its conditions hold.

    Attributes:
        score: 0 to 1, ranks the causes of an answer. Confidence is high from 0.8, medium from 0.5.
        when: see `Line`.
        evidence: one fact per line.
        fix: one command or instruction per line. A captured value needs a replacement text for unsafe values:
            `{gpu|gfxNNN}`.
        form: see `Candidate`.
        shared_fix: in place of `fix`, the name of stored lines that several causes have; `tools/generate.py` fills it
            in.
    """

    cause: CauseId
    score: float = 0.6
    form: str = ""
    when: tuple[str, ...] = ()
    evidence: tuple[Line, ...]
    fix: tuple[Line, ...]
    shared_fix: str = ""


class CodeCauses(_Row, frozen=True, kw_only=True):
    """Causes that code finds, as in `catalogue/code_causes.toml`.

    Attributes:
        values: values that the code gives.
        commands: those of them that are safe in a command.
        cause: causes; those with conditions that hold are used.
    """

    id: str
    values: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    cause: tuple[AnswerCause, ...]


class InlinedCall(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """An out-of-line function and the calls that reach it by inline code.

    Attributes:
        entity: its qualified name.
        called_by: the code in the source.
        header: of the inline code.
        instead: replacement; may be empty.
    """

    entity: str
    called_by: str
    header: str
    instead: str = ""
