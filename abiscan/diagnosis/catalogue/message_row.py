"""The rows of the message catalogue as values: the fields here are the keys of `catalogue/messages/*.toml`."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.cause import CauseId
from abiscan.model.imports import Owner
from abiscan.model.subject import SubjectKind


class Where(enum.StrEnum):
    """The part of a text that a pattern is applied to. Each is bounded in length."""

    BEFORE = "before"
    """The part of the line in front of the anchor."""
    AFTER = "after"
    """The part of the line behind the anchor, and the next line."""
    LINE = "line"
    """The whole line."""
    AROUND = "around"
    """The line first, then also the lines around it."""
    BELOW = "below"
    """The part of the line behind the anchor, and the lines behind it."""


class _Row(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Line(_Row, frozen=True, kw_only=True):
    """A line of evidence or of a fix.

    A line with a place (`{gpu}`) whose value is absent is left out, unless the place has a text for that (`{gpu|X}`).

    Attributes:
        text: a template.
        when: conditions, all of which must hold: `NAME` (the value is given), `NAME = TEXT`,
            `NAME < VERSION`, `NAME >= VERSION`; `not` in front negates.
    """

    text: str
    when: tuple[str, ...] = ()


class Finder(_Row, frozen=True, kw_only=True):
    """An optional pattern: its named groups become values where it is found.

    Attributes:
        name: by which messages and answers ask for it.
        where: the text that is searched.
        pattern: a regular expression with bounded repetitions and named groups.
    """

    name: str
    where: Where
    pattern: str


class AnswerCause(_Row, frozen=True, kw_only=True):
    """A cause that an answer gives where its conditions hold.

    Attributes:
        score: 0 to 1, ranks the causes of an answer; from 0.8 on the confidence is high, from 0.5 on medium.
        when: as of a line.
        evidence: one fact a line.
        fix: commands and instructions, one a line. A captured value needs a text for values that a shell would act
            upon: `{gpu|gfxNNN}`.
    """

    cause: CauseId
    score: float
    when: tuple[str, ...] = ()
    evidence: tuple[Line, ...]
    fix: tuple[Line, ...]


class Answer(_Row, frozen=True, kw_only=True):
    """An answer that several messages share.

    Attributes:
        kind: of the subject.
        text: template of the subject's text; the matched part of the message where absent, and where its values are,
            the kind then being `runtime-error`.
        owner: project that the subject belongs to.
        find: names of finders.
        only_alone: it is left out where the text has anything else.
        cause: causes; those whose conditions hold are given.
        repeats_symbol: it is left out where the text has a missing symbol, which is then the reason.
        computed: names of functions of `computed_causes.py` whose causes are given too.
    """

    id: str
    kind: SubjectKind
    text: str = ""
    owner: Owner | None = None
    find: tuple[str, ...] = ()
    repeats_symbol: bool = False
    only_alone: bool = False
    cause: tuple[AnswerCause, ...] = ()
    computed: tuple[str, ...] = ()


class Example(_Row, frozen=True, kw_only=True):
    """A text that a message is found in; it runs as a test.

    Attributes:
        text: lines as a program prints them.
        captures: values that are captured, among others.
        causes: best first, where the example shows which conditions hold.
    """

    text: str
    captures: dict[str, str] = {}
    causes: tuple[CauseId, ...] = ()


class Message(_Row, frozen=True, kw_only=True):
    """One message, or several spellings of one, that a program prints.

    Attributes:
        anchors: literal words, each of which begins the search; no pattern is applied where none stands.
        before: pattern that must end where the anchor begins.
        after: pattern that must begin where the anchor ends.
        line: pattern that must be found in the line.
        not_prose: the anchor is words that prose has too: it counts alone, in quotation marks, behind a colon or behind
            the name of an error.
        reader: name of a function of `value_readers.py` that reads further values; the row counts where it finds them.
        has: names of values of which the reader must find each.
        requires: words of which each must stand in the line or around it.
        unless: words of which none may stand there.
        around: how many lines on either side belong to `around`, `requires` and `unless`.
        find: names of finders.
        must_find: names of finders that must all match.
        set: values that the message implies, as if they were captured.
        answer: id of the answer.
        subject: in place of an answer, what code answers: a symbol, a library, a version (`found_subjects.py` has the
            values that it takes).
        source: program, file or page that has the message; required.
        examples: at least one.
    """

    id: str
    anchors: tuple[str, ...]
    before: str = ""
    after: str = ""
    line: str = ""
    not_prose: bool = False
    reader: str = ""
    has: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    around: int = 3
    find: tuple[str, ...] = ()
    must_find: tuple[str, ...] = ()
    set: dict[str, str] = {}
    answer: str | None = None
    subject: str | None = None
    source: str = ""
    examples: tuple[Example, ...] = ()


class Catalogue(_Row, frozen=True, kw_only=True):
    """Every row, as `abiscan/data/messages.json` has them.

    Attributes:
        message: in order: of the messages with one anchor, the first that matches at a place is taken.
    """

    finder: tuple[Finder, ...] = ()
    answer: tuple[Answer, ...] = ()
    message: tuple[Message, ...] = ()
