"""Messages of compilers of device code: Clang and hipcc, GCC, nvcc."""

from __future__ import annotations

import re
from collections.abc import Iterator

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.diagnosis.messages.name_tokens import first_quoted
from abiscan.model.finding import Location

# `FILE:188:20:` of Clang and GCC, `FILE(188):` of nvcc.
_LINE = re.compile(r"(?::(\d{1,7})(?::\d{1,7})?|\((\d{1,7})\)) ?:")


def no_overload(hit: Hit) -> Iterator[Mention]:
    """Clang: `FILE:188:20: error: no matching function for call to '__ldg'`; GCC quotes the whole call; nvcc:
    `FILE(13): error: no instance of overloaded function "__ldg" matches the argument list`."""
    quoted = first_quoted(hit.rest)
    if not quoted:
        return
    called = quoted.split("(", 1)[0].split("<", 1)[0].strip()
    # The types stand in the call itself, behind it, or in the notes below.
    context = hit.rest + hit.following()
    yield Mention(Complaint.NO_OVERLOAD, called, hit.at, location=_location(hit.before), context=context)


def _location(before: str) -> Location | None:
    found = _LINE.search(before)
    if found is None:
        return None
    file = before[: found.start()].rpartition(" ")[2].lstrip("`'\"[(")
    line = found[1] or found[2]
    return Location(file=file, line=int(line)) if file else None
