"""Rewrites of error macros to their expansion (c10/util/Exception.h of torch 1.13 to 2.15)."""

from __future__ import annotations

from abiscan.source.flagged_place import FlaggedPlace
from abiscan.source.rewrites.edited_source import Edit, EditableSource, NotRewritten

_NAMES = {
    "AT_CHECK": "TORCH_CHECK",
    "AT_WARN": "TORCH_WARN",
    "AT_ASSERT": "TORCH_INTERNAL_ASSERT",
    "AT_ASSERTM": "TORCH_INTERNAL_ASSERT",
}


def error_macro(place: FlaggedPlace, written: EditableSource) -> list[Edit] | NotRewritten:
    """`AT_ERROR(...)` to `TORCH_CHECK(false, ...)`, assertions to TORCH_INTERNAL_ASSERT, AT_CHECK to TORCH_CHECK."""
    index = written.index(place.at)
    close = written.partner[index + 1]
    if close < 0:
        return NotRewritten("its parentheses do not match")
    name = written.word(index)
    if name == "AT_ERROR":
        behind = written.end(index + 1)
        comma = "," if written.text[behind : behind + 1].isspace() else ", "
        first = "TORCH_CHECK(false" + (comma if close > index + 2 else "")
        edits = [Edit(written.tokens[index].at, written.end(index + 1), first)]
    else:
        edits = [written.replaced(index, _NAMES[name])]
    # The old macros are complete statements, `do { } while (false)`; TORCH_CHECK is an `if` without `else`.
    if written.word(close + 1) == ";" and written.word(close + 2) == "else" and name != "AT_CHECK":
        edits.append(Edit(written.tokens[index].at, written.tokens[index].at, "{ "))
        edits.append(Edit(written.end(close + 1), written.end(close + 1), " }"))
    elif name != "AT_CHECK" and written.else_follows(index):
        edits.append(Edit(written.tokens[index].at, written.tokens[index].at, "do { "))
        edits.append(Edit(written.end(close), written.end(close), "; } while (false)"))
    return edits
