"""Messages of Python about names, and of torch.compile about calls."""

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
_FRAMES_OF_USER = 60


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


# Where Dynamo names the function, the surest first; each reads a bounded run of a name's characters.
_NAMES = (
    re.compile(r"module:\s{0,4}([\w.]{1,256}),\s{0,4}qualname:\s{0,4}([\w.<>]{1,256})"),
    re.compile(r"builtin [`'\"]?([\w.<>]{1,256})"),
    re.compile(r"the function [`'\"]([\w.<>]{1,256})"),
    re.compile(r"[`'\"]([\w.]{0,256}PyCapsule[\w.]{1,256})"),
    re.compile(r"(?<![\w.])([\w.]{1,256}\.PyCapsule\.\w{1,256})"),
)


def marked_as_skipped(hit: Hit) -> Iterator[Mention]:
    """`Attempted to call function marked as skipped`, then `Developer debug context: module: m, qualname: PyCapsule.f,
    ...`; in default mode the warning `Dynamo does not know how to trace the builtin `m.PyCapsule.f.``"""
    around = hit.word + hit.rest + hit.following(30)
    name = next((found for pattern in _NAMES if (found := pattern.search(around)) is not None), None)
    text = ".".join(part for part in name.groups() if part).rstrip(".") if name is not None else "a function"
    yield Mention(Complaint.SKIPPED_CALL, text, hit.at, location=_user_frame(hit), context=around)


_SKIPPED = re.compile(r"([\w.<>]{1,256}) in file ")
_CALLED = re.compile(r"UserDefinedObjectVariable\((builtin_function_or_method|instancemethod|PyCapsule)\)")


def skip_function(hit: Hit) -> Iterator[Mention]:
    """Torch 2.1 - 2.5: `Unsupported: 'skip function f in file /x.py'`; `Unsupported: call_function
    UserDefinedObjectVariable(builtin_function_or_method)`"""
    found = _SKIPPED.match(hit.rest) if hit.word.startswith("'skip") else _CALLED.match(hit.rest)
    if found is not None:
        context = hit.line + hit.following()
        yield Mention(Complaint.SKIPPED_CALL, found[1], hit.at, location=_user_frame(hit), context=context)


def unsupported_builtin(hit: Hit) -> Iterator[Mention]:
    """Torch 2.3 - 2.6: `Graph break due to unsupported builtin m.PyCapsule.f. This function is either a Python builtin
    ...`"""
    words = hit.rest.split(None, 1)
    name = words[0].strip("`'\".,") if words else ""
    if name:
        yield Mention(
            Complaint.SKIPPED_CALL, name, hit.at, location=_user_frame(hit), context=hit.rest + hit.following()
        )


def _user_frame(hit: Hit) -> Location | None:
    """`from user code:` and its last frame."""
    around = hit.following(_FRAMES_OF_USER)
    at = around.find("from user code")
    frames = list(_FRAME.finditer(around, at)) if at >= 0 else []
    if not frames:
        return None
    return Location(function=frames[-1][3], file=frames[-1][1], line=int(frames[-1][2]))
