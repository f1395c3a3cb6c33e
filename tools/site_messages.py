"""Writes the message catalogue for a browser: docs/explain-error.md.

The rows are those of `abiscan explain`, with their patterns as JavaScript has them. A row is marked if its answer needs
code (a reader, a computed cause, a symbol, a fact of the target): the page then has possible causes and the command.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this work tree, even if another is installed

from abiscan.diagnosis.catalogue.cause_catalogue import title  # noqa: E402
from abiscan.diagnosis.catalogue.cause_row import Line  # noqa: E402
from abiscan.diagnosis.catalogue.message_row import Answer, Message  # noqa: E402
from abiscan.diagnosis.facts.computed_facts import FACTS  # noqa: E402
from abiscan.diagnosis.readings.match_messages import QUESTION  # noqa: E402
from abiscan.diagnosis.templates.templates import PLACE, parse_condition  # noqa: E402
from abiscan.model.cause import CauseId  # noqa: E402
from abiscan.model.gpu_toolkits import NAMES  # noqa: E402
from tools.message_data import catalogue  # noqa: E402

_BLANKS = r" \t\n\r\f\v"
_TOKENS = {r"\A": "^", r"\Z": "$", "$": r"(?=\n?$)", r"\s": f"[{_BLANKS}]", r"\S": f"[^{_BLANKS}]"}
_TOKEN = re.compile(
    r"\\.|\[(?P<not>\^?)(?P<class>\]?(?:\\.|[^\]\\])*)\]|\(\?P<(?P<name>\w+)>|\(\?(?P<flags>[a-z]+):|\(\?[:=!]|\(\?<[=!]|\(|\)|.",
    re.DOTALL,
)


class NotInJavaScriptError(ValueError):
    """A pattern with a construct that the translation does not have."""


def javascript(pattern: str) -> str:
    """A pattern of Python (`re.ASCII`) as JavaScript has it, without flags.

    Raises:
        NotInJavaScriptError: it has a construct that JavaScript reads differently and that has no translation here.
    """
    made = []
    whole = re.match(r"\(\?([a-z]+)\)", pattern)
    groups = [whole[1] if whole else ""]  # the flags in each open group
    if set(groups[0]) - set("is"):
        raise NotInJavaScriptError(pattern)
    for token in _TOKEN.finditer(pattern, whole.end() if whole else 0):
        text, flags, rest = token[0], groups[-1], pattern[token.end() :]
        # A group with no translation, `{,3}`, a possessive `++`.
        if (text, rest[:1]) in (("(", "?"), ("{", ","), ("+", "+"), ("*", "+"), ("?", "+")):
            raise NotInJavaScriptError(pattern)
        if token["class"] is not None:
            if r"\S" in text and text != r"[\s\S]":
                raise NotInJavaScriptError(pattern)
            both = re.sub(r"\\.|[^A-Za-z-]", "", token["class"]).swapcase() if "i" in flags else ""
            if text != r"[\s\S]":
                # In JavaScript `[]` is a class of nothing.
                inside = re.sub(r"^\]", r"\]", token["class"]).replace(r"\s", _BLANKS)
                text = f"[{token['not']}{inside}{both}]"
        elif token["name"]:
            groups.append(flags)
            text = f"(?<{token['name']}>"
        elif text.startswith("("):
            groups.append(flags + (token["flags"] or ""))
            text = "(?:" if token["flags"] else text
            if set(groups[-1]) - set("is"):
                raise NotInJavaScriptError(pattern)
        elif text == ")":
            groups.pop()
        elif text == ".":
            text = r"[\s\S]" if "s" in flags else r"[^\n]"
        elif "i" in flags and text.isascii() and text.isalpha():
            text = f"[{text.lower()}{text.upper()}]"
        else:
            # `$` is also before a last line feed.
            text = _TOKENS.get(text, text)
        made.append(text)
    return "".join(made)


def _lines(lines: tuple[Line, ...]) -> list[dict[str, Any]]:
    """Lines whose places are captured values, or have a default; those with a fact need the command."""
    found = []
    for line in lines:
        facts = {place[0]: place[2] for place in PLACE.finditer(line.text) if place[1] in FACTS}
        if None in facts.values() or any(parse_condition(each)[0] in FACTS for each in line.when):
            continue
        text = line.text
        for place, default in facts.items():
            text = text.replace(place, str(default))
        found.append({"text": text, "when": [parse_condition(each) for each in line.when]})
    return found


def _answer(answer: Answer) -> dict[str, Any]:
    causes = [
        {
            "cause": cause.cause,
            "score": cause.score,
            "when": [parse_condition(each) for each in cause.when if parse_condition(each)[0] not in FACTS],
            "depends": any(parse_condition(each)[0] in FACTS for each in cause.when),
            "evidence": _lines(cause.evidence),
            "fix": _lines(cause.fix),
        }
        for cause in answer.cause
    ]
    return {
        "kind": answer.kind,
        "text": answer.text,
        "causes": causes,
        "find": answer.find,
        "computed": bool(answer.computed),
        "onlyAlone": answer.only_alone,
        "repeatsSymbol": answer.repeats_symbol,
    }


def _row(message: Message) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": message.id,
        "anchors": message.anchors,
        "before": message.before and f"(?:{javascript(message.before)})$",
        "after": message.after and f"^(?:{javascript(message.after)})",
        "line": javascript(message.line),
        "notProse": message.not_prose,
        "requires": message.requires,
        "unless": message.unless,
        "refutedBy": javascript(message.refuted_by),
        "around": message.around,
        "find": message.find,
        "mustFind": message.must_find,
        "set": message.set,
        "reader": bool(message.reader),
        "answer": message.answer,
        "subject": message.subject,
    }
    return {key: value for key, value in row.items() if value}


def data() -> dict[str, Any]:
    """What docs/assets/explain-error.js reads.

    Raises:
        NotInJavaScriptError: a pattern of the catalogue has no translation.
    """
    rows = catalogue()
    return {
        "rows": [_row(message) for message in rows.message],
        "answers": {answer.id: _answer(answer) for answer in rows.answer},
        "finders": {
            finder.name: {
                "where": finder.where,
                "pattern": javascript(finder.pattern),
                "lines": finder.lines,
                "asks": finder.is_question,
            }
            for finder in rows.finder
        },
        "question": javascript(QUESTION),
        "gpus": [[f"^(?:{javascript(pattern.pattern)})$", capability] for pattern, capability in NAMES],
        # In the order in which equal scores count.
        "causes": {cause.value: title(cause) for cause in CauseId},
    }


def write(folder: Path) -> None:
    """Write `messages.bin`: JSON, compressed as zlib does."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data(), separators=(",", ":"))
    (folder / "messages.bin").write_bytes(zlib.compress(text.encode("ascii"), 9))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
