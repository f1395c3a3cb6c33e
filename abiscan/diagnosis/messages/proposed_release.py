"""Whether a sentence proposes a release, asks about it, or reports it as the solution: it is then not the one that
failed."""

from __future__ import annotations

import re
from typing import Final

_BEFORE, _AFTER = 96, 192  # characters of a sentence
# A full stop within a version or a name ends no sentence.
_END = re.compile(r"[!?;\n\uff01\uff1f\uff1b\u3002]|\.(?=\s|$)")
_CUDA: Final = r"(?:CUDA ?[\d.]{2,8} ?(?:and|with|or|/|\+|,|\u548c|\u4e0e|\u53ca|\u3001|\uff0c) ?)?"
# "upgrading to CUDA 12.4 and", also in Chinese.
_TO: Final = rf"(?: back)?(?: to)?(?: the)? ?{_CUDA}$"
_TO_CHINESE: Final = (
    r"(?:\u5347\u7ea7|\u66f4\u65b0|\u964d\u7ea7|\u56de\u9000|\u56de\u6eda|\u6362|\u5347|\u964d|\u6539\u7528)"
    rf"(?:\u5230|\u6210|\u4e3a|\u81f3|\u56de|\u7528)? ?{_CUDA}$"
)
_MOVED = re.compile(
    rf"\b(?:upgrad|updat|downgrad|mov|switch|chang|roll)(?:e|es|ed|ing|ling)?\b{_TO}|{_TO_CHINESE}", re.IGNORECASE
)
_MOVED_WITHIN = re.compile(r"\u5347|\u66f4\u65b0|\u6362|\u964d")
# A question or an advice in front of the release: "should I upgrade to", "does", "do I need".
_ASKED_BEFORE = re.compile(
    r"\b(?:should|would|will|does|do|can|can't|cannot|could|must|needs?|have|has|recommend|suggest|advise)"
    r"(?: \w{1,16}){0,3}"
    rf" (?:upgrad|updat|downgrad|mov|switch|chang)(?:e|ing){_TO}"
    r"|\b(?:should|would|can|could|must) (?:I|we|you|one) (?:use|install|try|take)$"
    r"|\b(?:would|will|does|did)(?: (?:the|(?:upgrad|updat|downgrad|mov|switch|chang)ing to|an? (?:up|down)grade to))?$"
    r"|\b(?:fixed|solved|resolved|supported|registered|included|merged) (?:in|by|with|since)$"
    r"|(?:\u662f\u5426|\u8981\u4e0d\u8981|\u9700\u8981|\u5e94\u8be5|\u53ef\u4ee5|\u80fd\u4e0d\u80fd|\u80fd\u5426"
    rf"|\u5efa\u8bae|\u5fc5\u987b|\u6253\u7b97|\u51c6\u5907)[^\n,\uff0c]{{0,8}}?{_TO_CHINESE}",
    re.IGNORECASE,
)
# The same behind it: "fixes this", "will it help", and words such as "solved" without "not" in front of them.
_ASKED_AFTER = re.compile(
    r" (?:fix|solve|resolve|help)(?:e?s|e?d)?\b"
    r"| ?(?:\u91cc|\u4e2d)[^\n,.;!?\uff0c\u3002\uff1b]{0,32}(?:\u4fee\u597d|\u4fee\u590d|\u89e3\u51b3)"
    r"(?:\u4e86)?(?:\u5417|\u6ca1)"
    r"|(?: with CUDA [\d.]{2,8})? (?:is|are) (?:needed|required|recommended)\b"
    r"|[^\n,.;!?\uff0c\u3002\uff1b\u4e0d\u65e0\u6ca1\u672a]{0,8}(?:\u6709\u7528|\u7ba1\u7528|\u6709\u5e2e\u52a9"
    r"|(?:\u53ef\u4ee5|\u80fd|\u4f1a)(?:\u5426)?(?:\u89e3\u51b3|\u4fee\u590d|\u597d)|\u884c\u5417|\u884c\u4e0d\u884c|\u5c31\u597d|\u5c31\u884c"
    r"|\u5c31\u6ca1|\u6ca1\u95ee\u9898|\u6ca1\u6709\u95ee\u9898|\u5df2\u4fee\u590d|\u4fee\u590d\u4e86|\u4fee\u4e86|\u89e3\u51b3\u4e86|\u597d\u4e86|\u6709\u8fd9\u4e2a)"
)
# What became of the error after a change of the release.
_SOLVED = re.compile(
    r"\b(?:went away|goes away|gone|disappear\w{0,5}|vanish\w{0,4}|(?:is|was|got|it) (?:fixed|solved|resolved)"
    r"|works (?:now|again|fine)|fix(?:es|ed) (?:it|this|that)|would help|will help|any help)\b"
    r"|(?:not defined|\u672a\u5b9a\u4e49|\u62a5\u9519|\u9519\u8bef|error)"
    r" ?(?:\u5c31|\u90fd|\u4e5f)? ?\u6ca1\u6709\u4e86"
    r"|\u6d88\u5931|\u4e0d\u518d\u62a5|\u4e0d\u518d\u51fa\u73b0|\u4e0d\u62a5\u9519\u4e86|\u597d\u4e86|\u89e3\u51b3\u4e86|\u6b63\u5e38\u4e86"
    r"|\u6709\u7528\u5417|\u6709\u6ca1\u6709\u7528|\u80fd\u89e3\u51b3|\u53ef\u4ee5\u89e3\u51b3"
)


def is_proposed(text: str, start: int, end: int) -> bool:
    """Whether the sentence around a release proposes it, asks about it or reports it as the solution.

    Args:
        start: offset of the name of the package; `end`: behind the release.
    """
    window = text[max(0, start - _BEFORE) : start]
    ends = [match.end() for match in _END.finditer(window)]
    before = window[ends[-1] if ends else 0 :]
    stop = _END.search(text, end, end + _AFTER)
    after = text[end : stop.end() if stop is not None else end + _AFTER]
    if _ASKED_AFTER.match(after) is not None or _ASKED_BEFORE.search(before.rstrip(" ")) is not None:
        return True
    is_moved = _MOVED.search(before) is not None or _MOVED_WITHIN.search(text[start:end]) is not None
    return is_moved and _SOLVED.search(after) is not None
