"""`abiscan explain`."""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.exit_status import INCOMPLETE
from abiscan.cli.options import scan_options
from abiscan.cli.output import note, outputs_of, write_outputs
from abiscan.cli.parameters import select_options
from abiscan.errors import UsageError, nearest
from abiscan.model.limits import MAX_TEXT_FILE

if TYPE_CHECKING:
    from abiscan.model.cause_page import CausePage
    from abiscan.report.style import Style

# The form of cause and rule ids; other words may have it too.
_ID = re.compile(r"[a-z][a-z0-9-]{2,63}")
_WORD = re.compile(r"[A-Za-z_]\w{2,127}")
# A single word that is a path: with a directory, or with the suffix of a log file.
_FILE = re.compile(r"(?:[^\s:]*/)?[^\s:/]+\.(?:log|txt|out|err)|\.{0,2}/[^\s:]+|[^\s:]+/[^\s:]+")
# Messages contain missing libraries and torch headers with their folders.
_LIBRARY = re.compile(r"\.(?:so(?:\.[\d.]{1,16})?|dylib|dll|pyd|h|cuh)$")
# The shortest beginning of an id that identifies it, in letters.
_BEGINNING = 4


@click.command(
    params=[
        click.Argument(["text"], nargs=-1, metavar="[TEXT|-|FILE]"),
        *select_options("python", torch="Torch of the error: installed, a release, or a path."),
        click.Option(["--needed-by"], metavar="FILENAME", help="Shared object of the error."),
        *select_options("color", format="text, json; repeatable.", verbose="Print all causes and all evidence."),
    ]
)
def explain(text: tuple[str, ...], needed_by: str | None, **given: Any) -> None:
    """Explain a symbol, an error message or a whole log.

    The text is an argument, a file or standard input; the id of a cause or a rule prints its page. Exit status 3: the
    text contains no known symbol or error.
    """
    from abiscan.analysis.explanation import explain_text
    from abiscan.report import json_report, subjects_text
    from abiscan.report.escape import safe_json, safe_text

    line = CommandLine(**given)
    outputs = outputs_of(line.format, ("text", "json"), text)

    def print_answer(as_json: Callable[[], str], as_text: Callable[[Style], str]) -> None:
        write_outputs(outputs, line, lambda form, style: as_json() if form == "json" else as_text(style))

    def print_rules(ids: Sequence[str]) -> bool:
        """Print the rules with these ids. Return whether there is any."""
        from abiscan.cli.every_rule import every_rule, severities
        from abiscan.report import rules_text

        infos = tuple(info for info in every_rule() if info.id in ids)
        if infos:
            print_answer(
                lambda: json_report.render_explanation(rules=infos),
                lambda style: rules_text.render(infos, severities(), in_full=True, as_json=False, width=style.width),
            )
        return bool(infos)

    asked = _argument(text)
    if _ID.fullmatch(asked):
        page = _cause_page(asked)
        if page is not None:
            from abiscan.report import cause_text

            print_answer(
                lambda: json_report.render_explanation(cause=page), lambda style: cause_text.render_text(page, style)
            )
            return
        if print_rules((asked,)):
            return
    explanation = explain_text(asked, scan_options(line), needed_by=needed_by)
    subjects = explanation.subjects
    # A word that no torch exports but a rule flags in sources is explained by the rule.
    unknown = needed_by is None and not any(subject.exported_in for subject in subjects)
    if unknown and _WORD.fullmatch(asked) and print_rules(_rules_of_word(asked)):
        return
    near = () if subjects else _near_ids(asked)
    print_answer(
        lambda: safe_json(json_report.render_explanation(subjects, near=near)),
        lambda style: safe_text(subjects_text.render(subjects, style)),
    )
    if not subjects:
        note(_nothing_known(asked, near))
        if explanation.install:
            click.echo(safe_text("  " + explanation.install.replace("\n", "\n    ")), err=True)
    if not any(subject.causes or subject.near for subject in subjects):
        sys.exit(INCOMPLETE)


def _cause_page(text: str) -> CausePage | None:
    """The page of the cause with this id."""
    from abiscan.model.cause import CauseId

    if text not in set(CauseId):
        return None
    from abiscan.diagnosis.catalogue.cause_catalogue import load_causes

    return load_causes()[CauseId(text)]


def _rules_of_word(word: str) -> tuple[str, ...]:
    """Ids of the rules that flag a word in sources: a macro, a function or a member."""
    from abiscan.rules import load_rules

    return tuple(
        rule.id
        for rule in load_rules()
        if any(
            word in (*pattern.member, *pattern.identifier)
            or (pattern.identifier_starts and word.startswith(pattern.identifier_starts))
            for pattern in rule.sources
        )
    )


def _near_ids(text: str) -> tuple[str, ...]:
    """Ids of causes and rules that are similar to a word, or begin with it, ignoring case."""
    word = text.lower()
    if not _ID.fullmatch(word):
        return ()
    from abiscan.cli.every_rule import every_rule
    from abiscan.model.cause import CauseId

    known = [cause.value for cause in CauseId] + [info.id for info in every_rule()]
    near = nearest(word, known, 0.7)
    return (near,) if near else tuple(each for each in known if len(word) >= _BEGINNING and each.startswith(word))


def _nothing_known(text: str, near: Sequence[str]) -> str:
    """The message for a text without known symbols or errors, with similar ids."""
    if near:
        return f"{text}: not known; did you mean {near[0]}?"
    if _ID.fullmatch(text):
        return f"{text}: not known as a symbol, a cause or a rule; for a symbol, pass --needed-by FILE"
    return (
        "no symbol or known error message in the text: pass the mangled name, the ImportError line, "
        "the compiler's line with `error:`, or the whole log"
    )


def _argument(words: Sequence[str]) -> str:
    """The text of the words of the command line, of the file that they name, or of standard input."""
    if list(words) == ["-"] or not words:
        # None: closed (`<&-`).
        if sys.stdin is None or (not words and sys.stdin.isatty()):
            raise UsageError("name a symbol, an error message or a file, or pipe a log into abiscan explain")
        return _text_of(sys.stdin.buffer, "standard input")
    if len(words) == 1 and len(words[0]) < 4096 and "\n" not in words[0] and os.path.isfile(words[0]):
        with open(words[0], "rb") as file:
            return _text_of(file, words[0])
    if len(words) == 1 and _FILE.fullmatch(words[0]) and not (os.path.exists(words[0]) or _LIBRARY.search(words[0])):
        raise UsageError(f"{words[0]}: no such file")
    return " ".join(words)


# Bytes to search: a binary has a zero byte near its start, a text has none.
_HEAD = 4_096


def _text_of(file: BinaryIO, name: str) -> str:
    """The whole text of a file. PowerShell writes UTF-16 with a byte order mark.

    Raises:
        UsageError: it is larger than `MAX_TEXT_FILE`, or binary.
    """
    data = file.read(MAX_TEXT_FILE + 1)
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if data.startswith(b"\x7fELF"):
        raise UsageError(
            f"{name}: a shared object, not a log; use abiscan {'FILE' if name == 'standard input' else name}"
        )
    if not wide and b"\0" in data[:_HEAD]:
        raise UsageError(f"{name}: a binary file, not a text; use abiscan FILE for shared objects, wheels and archives")
    if len(data) > MAX_TEXT_FILE:
        raise UsageError(f"{name}: larger than {MAX_TEXT_FILE >> 20} MiB: pass the part of the log with the error")
    return data.decode("utf-16" if wide else "utf-8", "replace")
