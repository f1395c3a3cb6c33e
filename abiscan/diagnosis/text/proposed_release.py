"""Whether a sentence proposes a release, asks about it, or reports it as the solution: it is then not the one that
failed. The words are rows of `catalogue/packages_in_text.toml`."""

from __future__ import annotations

import re

from abiscan.diagnosis.text.text_facts import is_shown, pattern_of

_BEFORE, _AFTER = 96, 192  # characters of a sentence
# A full stop within a version or a name ends no sentence.
_END = re.compile(r"[!?;\n\uff01\uff1f\uff1b\u3002]|\.(?=\s|$)")


def is_proposed(text: str, start: int, end: int) -> bool:
    """Whether the sentence around a release proposes it, asks about it or reports it as the solution.

    Args:
        start: offset of the name of the package; `end`: behind the release.
    """
    window = text[max(0, start - _BEFORE) : start]
    ends = [match.end() for match in _END.finditer(window)]
    before = window[ends[-1] if ends else 0 :]
    if is_shown("release_there", before.rstrip(" ")):
        return False
    stop = _END.search(text, end, end + _AFTER)
    after = text[end : stop.end() if stop is not None else end + _AFTER]
    if (
        is_shown("release_asked_before", before.rstrip(" "))
        or pattern_of("release_asked_behind").match(after) is not None
    ):
        return True
    if is_shown("installs", before.rstrip(" ")) and pattern_of("not_installed").match(after) is not None:
        return True
    is_moved = is_shown("moved", before) or is_shown("moved_within", text[start:end])
    return is_moved and is_shown("solved", after)
