"""The rows of the message catalogue as values. The fields are the keys of `catalogue/messages/*.toml`."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
import enum

from msgspec import Struct

from abiscan.diagnosis.catalogue.cause_row import AnswerCause
from abiscan.diagnosis.catalogue.text_fact_row import Need
from abiscan.model.cause import CauseId
from abiscan.model.imports import Owner
from abiscan.model.subject import SubjectKind


class Where(enum.StrEnum):
    """The text that a pattern is applied to, of bounded length."""

    BEFORE = "before"
    """The part of the line before the anchor."""
    AFTER = "after"
    """The rest of the line after the anchor, and the next line."""
    LINE = "line"
    """The whole line."""
    AROUND = "around"
    """The line first, then also the lines around it."""
    BELOW = "below"
    """The rest of the line after the anchor, and the lines below."""


class _Row(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Finder(_Row, frozen=True, kw_only=True):
    """An optional pattern whose named groups become values.

    Attributes:
        name: for use in messages and answers.
        where: the text to search.
        pattern: regular expression with bounded repetitions and named groups.
        lines: number of lines below the anchor (`below`) or on each side (`around`); 0: `around` of the message.
        only: no value where the searched text has several that differ.
        needs: what a match has; `tools/generate.py` fills it in.
    """

    name: str
    where: Where = Where.AROUND
    pattern: str
    lines: int = 0
    only: bool = False
    needs: tuple[Need, ...] = ()

    @property
    def is_question(self) -> bool:
        """Whether it searches what a person asks about the message: on its line, or, in a short text, on another."""
        return self.where is Where.LINE and (self.name.startswith("question-") or "(?P<asks_" in self.pattern)


class Answer(_Row, frozen=True, kw_only=True):
    """An answer that several messages share.

    Attributes:
        kind: of the subject.
        text: template of the subject's text. If absent, or if its values are, the matched part of the message; then the
            kind is `runtime-error`.
        owner: owner of the subject.
        find: names of finders.
        only_alone: omitted if the text has any other subject; with low confidence, also beside others of this kind.
        cause: causes; those with conditions that hold are used.
        repeats_symbol: omitted if the text has a missing symbol, which is then the reason.
        computed: names of functions of `computed_causes.py` that add causes.
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
    """A text with the message, used as a test.

    Attributes:
        text: lines as printed by a program.
        captures: some of the captured values.
        causes: best first, if the example shows which conditions hold.
    """

    text: str
    captures: dict[str, str] = {}
    causes: tuple[CauseId, ...] = ()


class Message(_Row, frozen=True, kw_only=True):
    """A message of a program, in one or several spellings.

    Attributes:
        anchors: literal words; patterns are applied only where one is found.
        before: pattern that must end at the start of the anchor.
        after: pattern that must begin at the end of the anchor.
        line: pattern that must match in the line.
        not_prose: the anchor also occurs in prose: it counts only on its own, in quotation marks, after a colon or
            after the name of an error.
        reader: function of `value_readers.py` that reads further values; the row applies only if it finds them.
        has: names of values that the reader must find.
        requires: words that must all occur in the line or around it.
        unless: words that must not occur there.
        refuted_by: pattern that captures `text`: a later place of the whole text with the same file name shows that the
            library was found after all.
        around: number of lines on either side for `around`, `requires` and `unless`.
        find: names of finders.
        must_find: names of finders that must all match.
        set: values that the message implies.
        answer: id of the answer.
        about_file: the message names a file at most: if it is here, the file itself shows the cause.
        subject: instead of an answer, a subject that code explains: symbol, library, version (`found_subjects.py` lists
            the values).
        needs: what a match of `line` has; `tools/generate.py` fills it in.
        source: program, file or page with the message; required.
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
    refuted_by: str = ""
    around: int = 3
    find: tuple[str, ...] = ()
    must_find: tuple[str, ...] = ()
    set: dict[str, str] = {}
    answer: str | None = None
    subject: str | None = None
    about_file: bool = False
    needs: tuple[Need, ...] = ()
    source: str = ""
    examples: tuple[Example, ...] = ()


class Catalogue(_Row, frozen=True, kw_only=True):
    """Every row.

    Attributes:
        message: in order: of the messages with one anchor, the first match at a place is used.
    """

    finder: tuple[Finder, ...] = ()
    answer: tuple[Answer, ...] = ()
    message: tuple[Message, ...] = ()
