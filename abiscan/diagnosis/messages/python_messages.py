"""Messages of Python about names that are not defined."""

from __future__ import annotations

import re
from collections.abc import Iterator

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.diagnosis.messages.name_tokens import last_quoted
from abiscan.model.finding import Location

_FRAME = re.compile(r'File "([^"\n]{1,4096})", line (\d{1,7})(?:, in (\S{1,256}))?')
_IDENTIFIER_BEFORE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}$")
_FRAMES_BEFORE = 40


def name_error(hit: Hit) -> Iterator[Mention]:
    """`NameError: name 's2' is not defined`; Triton's own `NameError('s2 is not defined')`; the same inside of other
    exceptions' texts and in Chinese, `变量s2未定义`."""
    before = hit.before.rstrip(" \t\\")
    quoted = last_quoted(before)
    name = (quoted or "").strip("\\ ")
    if not name.isidentifier():
        found = _IDENTIFIER_BEFORE.search(before[-256:])
        if found is None:
            return
        name = found[0]
    context = hit.preceding(_FRAMES_BEFORE)
    frames = list(_FRAME.finditer(context))
    location = None
    if frames:
        last = frames[-1]
        location = Location(function=last[3], file=last[1], line=int(last[2]))
    yield Mention(Complaint.PYTHON_NAME, name, hit.at, location=location, context=context + hit.line + hit.following())
