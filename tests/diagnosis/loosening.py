"""Texts in the looser forms in which people type and paste them, and the share of answers that stay the same.

    python -m tests.diagnosis.loosening [MOST] [OPERATOR...]    prints the shares, and the texts with other answers

Each operator changes the form of a text and no fact: quotation marks, prefixes of logs, the order of words, synonyms.
Oracle: the answer to the text itself, which the tests of the catalogue and of the labelled threads compare with the
program and the thread that it is from.
"""

from __future__ import annotations

import itertools
import re
import sys
import textwrap
import tomllib
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from msgspec import Struct

from abiscan.model.subject import Subject
from abiscan.releases import ReleaseIndex, open_index
from tests.diagnosis.reported import DATA, FILES, cases, explain_text
from tools.message_data import FOLDER

Operator = Callable[[str], str]

_QUOTED: Final = re.compile(
    r"(?<![\w'\"`])[`'\"\u2018\u201c]([^\s'\"`\u2018\u2019][^'\"`\n\u2018\u2019]{0,200}?)['\"`\u2019\u201d](?!\w)"
)
_EXCEPTION: Final = re.compile(r"(?:\b[\w.]{0,80})?\b[A-Z]\w{0,40}(?:Error|Exception|Warning|Failed|Unsupported): ?")
_ERROR: Final = re.compile(r"(?i:\bfatal error|\berror)\b(?: C\d{4}| LNK\d{4})?: ")
_PATH: Final = re.compile(r"(?<![\w:/])(?:[A-Za-z]:)?(?:[/\\][\w.+ -]{1,64})+[/\\](?=[\w.+-])")
_WORD: Final = re.compile(r"(?<![\w'\"`./:<\u2018-])[A-Z][a-z]{1,20}(?=[ ,.]|$)", re.MULTILINE)


def _requoted(opening: str, closing: str) -> Operator:
    return lambda text: _QUOTED.sub(rf"{opening}\1{closing}", text)


def _prefixed(prefix: str, suffix: str = "") -> Operator:
    return lambda text: "\n".join(f"{prefix}{line}{suffix}" for line in text.split("\n"))


def _replaced(pattern: str, template: str, flags: int = 0) -> Operator:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.sub(template, text)


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.fill(line, 80, break_long_words=False) or line for line in text.split("\n"))


def _exception_last(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    found = re.match(r"(\w+(?:Error|Exception)): (.+)", lines[-1])
    return text if found is None else "\n".join((*lines[:-1], f"{found[2]} ({found[1]})"))


def _lower(text: str) -> str:
    return _WORD.sub(lambda word: word[0].lower() if word[0] not in _NAMES else word[0], text)


# Names of programs and classes, not words.
_NAMES: Final = frozenset(
    ("Python", "Triton", "Half", "Tensor", "Dynamo", "Ninja", "Windows", "Linux", "Jetson", "Debian", "Ubuntu")
)
_NAME: Final = r"['\"`\u2018]?([\w.:/~?@$+-]*\w)['\"`\u2019]?"
_NO_MODULE: Final = rf"No module named {_NAME}"
_NO_IMPORT: Final = rf"cannot import name {_NAME} from {_NAME}"
_NO_HEADER: Final = r"['\u2018]?([\w./-]+\.(?:h|hpp|cuh))['\u2019]?(?:: No such file or directory| file not found)"
_NO_LIBRARY: Final = r"([\w./+-]+\.so[\w.]*): cannot open shared object file(?:: No such file or directory)?"
_NO_SYMBOL: Final = rf"undefined symbol:? {_NAME}"
_NO_IDENTIFIER: Final = (
    rf"(?:identifier )?{_NAME} (?:is undefined|was not declared in this scope)|use of undeclared identifier {_NAME}"
)
_NOT_DEFINED: Final = rf"name {_NAME} is not defined"
_NO_VERSION: Final = r"version [`'\u2018]([\w.]+)['\u2019] not found"

OPERATORS: Final[Mapping[str, Operator]] = {
    "quotes: none": _requoted("", ""),
    "quotes: single": _requoted("'", "'"),
    "quotes: double": _requoted('"', '"'),
    "quotes: backticks": _requoted("`", "`"),
    "quotes: typographic": _requoted("\u2018", "\u2019"),
    "quotes: double typographic": _requoted("\u201c", "\u201d"),
    "quotes: East Asian": _requoted("\u300c", "\u300d"),
    "quotes: bold": _requoted("**", "**"),
    "quotes: HTML": lambda text: (
        text.replace("&", "&amp;")
        .replace("'", "&#39;")
        .replace('"', "&quot;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
    ),
    "exception: none": lambda text: _EXCEPTION.sub("", text),
    "exception: at the end": _exception_last,
    "error: none": lambda text: _ERROR.sub("", text),
    "case: lower": _lower,
    "lines: wrapped": _wrapped,
    "lines: joined": lambda text: text.strip("\n").replace("\n", " "),
    "prefix: time": _prefixed("2026-01-02 10:11:12,345 ERROR "),
    "prefix: rank": _prefixed("[rank0]: "),
    "prefix: engine": _prefixed("(EngineCore pid=1234) "),
    "prefix: pytest": _prefixed("E   "),
    "prefix: quotation": _prefixed("> "),
    "prefix: box": _prefixed("\u2502 ", " \u2502"),
    "prefix: docker": _prefixed("#12 345.6 "),
    "prefix: CI": _prefixed("2026-01-02T10:11:12.3456789Z "),
    "prefix: list": _prefixed("- "),
    "prefix: indented": _prefixed("      "),
    "prefix: colour": _prefixed("\x1b[31m", "\x1b[0m"),
    "prefix: code": lambda text: f"```\n{text}\n```",
    "path: base name": lambda text: _PATH.sub("", text),
    "path: dots": lambda text: _PATH.sub(".../", text),
    "prose: I get": lambda text: f"I get {text}",
    "prose: getting error": lambda text: f"Getting this error: {text}",
    "prose: when I import": lambda text: f"{text.rstrip()} when I import torch",
    "prose: please help": lambda text: f"{text.rstrip()}, please help",
    "prose: how to fix": lambda text: f"How to fix {text.rstrip()}?",
    "prose: Chinese": lambda text: (
        f"\u8fd0\u884c\u65f6\u62a5\u9519\uff1a{text.rstrip()}\uff0c\u600e\u4e48\u89e3\u51b3\uff1f"
    ),
    "prose: Chinese without punctuation": lambda text: f"\u5bfc\u5165\u62a5\u9519 {text.rstrip()} \u600e\u4e48\u529e",
    "module: not found": _replaced(_NO_MODULE, r"module \1 not found"),
    "module: cannot find": _replaced(_NO_MODULE, r"can't find module \1"),
    "module: missing": _replaced(_NO_MODULE, r"missing module \1"),
    "module: exception": _replaced(rf"(?:ModuleNotFoundError: )?{_NO_MODULE}", r"\1 ModuleNotFoundError"),
    "import: can't": _replaced(_NO_IMPORT, r"can't import \1 from \2"),
    "import: short": _replaced(_NO_IMPORT, r"cannot import \2.\1"),
    "header: can't find": _replaced(_NO_HEADER, r"\1 can't find"),
    "header: cannot find": _replaced(_NO_HEADER, r"cannot find \1"),
    "header: missing": _replaced(_NO_HEADER, r"missing \1"),
    "library: not found": _replaced(_NO_LIBRARY, r"\1 not found"),
    "library: cannot find": _replaced(_NO_LIBRARY, r"cannot find \1"),
    "library: missing": _replaced(_NO_LIBRARY, r"missing \1"),
    "symbol: after": _replaced(_NO_SYMBOL, r"\1: undefined symbol"),
    "symbol: not found": _replaced(_NO_SYMBOL, r"symbol \1 not found"),
    "symbol: in": _replaced(rf"([\w./-]+): {_NO_SYMBOL}", r"undefined symbol \2 in \1"),
    "symbol: is undefined": _replaced(_NO_SYMBOL, r"\1 is undefined"),
    "reference: unresolved": _replaced("undefined reference to", "unresolved reference to"),
    "reference: plural": _replaced("undefined reference to", "undefined references to"),
    "identifier: undefined": _replaced(_NO_IDENTIFIER, r"\1\2 undefined"),
    "identifier: not defined": _replaced(_NO_IDENTIFIER, r"\1\2 is not defined"),
    "identifier: undeclared": _replaced(_NO_IDENTIFIER, r"\1\2 undeclared"),
    "identifier: not found": _replaced(_NO_IDENTIFIER, r"\1\2 not found"),
    "name: undefined": _replaced(_NOT_DEFINED, r"\1 undefined"),
    "name: not defined": _replaced(_NOT_DEFINED, r"\1 not defined"),
    "member: no member": _replaced(rf"(?:namespace |class )?{_NAME} has no member {_NAME}", r"no member \2 in \1"),
    "attribute: missing": _replaced(rf"(?:module )?{_NAME} (?:object )?has no attribute {_NAME}", r"\1.\2 missing"),
    "version: not found": _replaced(_NO_VERSION, r"\1 not found"),
    "version: missing": _replaced(_NO_VERSION, r"missing \1"),
    "negation: can't": _replaced(r"\b([Cc])annot\b|\b([Cc])ould not\b", r"\1\2an't"),
    "negation: unable to": _replaced(r"\b(?:[Cc]annot|[Cc]ould not|[Cc]an't)\b", "unable to"),
    "negation: not": _replaced(r"\b(?:is|was|are) not (?=defined|found|declared|supported|available)", "not "),
}
"""Operators by name: how a text is loosened."""


class Text(Struct, frozen=True):
    """A text with a known answer.

    Attributes:
        family: file of its row.
        id: of its row.
    """

    family: str
    id: str
    text: str


class Loosened(Struct, frozen=True):
    """A text in a looser form, and the first answers to both."""

    operator: str
    source: Text
    text: str
    wanted: tuple[str, str]
    given: tuple[str, str]

    @property
    def is_kept(self) -> bool:
        """Whether the first cause is the same."""
        return self.given[0] == self.wanted[0]


@cache
def texts() -> tuple[Text, ...]:
    """The examples of the message catalogue, and the labelled texts."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("message", {})
        found += [Text(path.stem, name, each["text"]) for name, row in rows.items() for each in row["examples"]]
    for path in FILES:
        found += [Text("threads", case.id, case.text) for case in cases(path) if case.text is not None]
    wordings = tomllib.loads((DATA / "wordings.toml").read_text(encoding="utf-8"))
    found += [Text("wordings", cause, text) for source in wordings["source"] for cause, text in source["messages"]]
    return tuple(found)


def first_answer(text: str, index: ReleaseIndex) -> tuple[str, str]:
    """The first cause and its fix; empty without an answer."""
    return _first(explain_text(text, index))


def _first(subjects: tuple[Subject, ...]) -> tuple[str, str]:
    causes = [subject.causes[0] for subject in subjects[:1] if subject.causes]
    return (str(causes[0].cause), causes[0].fix) if causes else ("", "")


def loosened(index: ReleaseIndex, operator: str, most: int = sys.maxsize) -> Iterator[Loosened]:
    """Texts with an answer, in the form of an operator, where it differs; at most `most`, from all families."""
    forms = ((each, form) for each in _shuffled() if (form := OPERATORS[operator](each.text)) != each.text)
    for source, form in itertools.islice(forms, most):
        wanted = _answer_to(source.text, index)
        if wanted[0]:
            yield Loosened(operator, source, form, wanted, first_answer(form, index))


@cache
def _shuffled() -> list[Text]:
    """By their hash, so that a new text replaces few of the others."""
    return sorted(texts(), key=lambda each: zlib.crc32(each.text.encode()))


@cache
def _answer_to(text: str, index: ReleaseIndex) -> tuple[str, str]:
    return first_answer(text, index)


def main(arguments: list[str]) -> None:
    """Print the share of each operator and family, worst first, and each text with another first cause."""
    most = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else sys.maxsize
    index = open_index(earlier=True)
    operators = [name for name in OPERATORS if not arguments or name.startswith(tuple(arguments))]
    every = [each for name in operators for each in loosened(index, name, most)]
    for of_what in ("operator", "family"):
        groups: dict[str, list[Loosened]] = defaultdict(list)
        for each in every:
            groups[each.operator if of_what == "operator" else each.source.family].append(each)
        print(f"{of_what:36} {'texts':>6} {'cause':>7} {'fix':>7} {'none':>6}")
        for name, group in sorted((*groups.items(), ("all", every)), key=lambda item: share(item[1])):
            fix = sum(each.given == each.wanted for each in group) / len(group)
            none = sum(not each.given[0] for each in group)
            print(f"{name:36} {len(group):6} {share(group):7.1%} {fix:7.1%} {none:6}")
        print()
    for each in every:
        if not each.is_kept:
            found = f"{each.wanted[0]} -> {each.given[0] or '-'}"
            print(f"{each.operator} | {each.source.family}/{each.source.id} | {found} | {each.text[-400:]!r}")


def share(group: list[Loosened]) -> float:
    """The share of a group that keeps its first cause."""
    return sum(each.is_kept for each in group) / len(group)


if __name__ == "__main__":
    main(sys.argv[1:])
