"""Reads what people write about a missing name in words of their own: "FLT_MAX is not defined", "THC/THC.h can't find".
The catalogue explains the sentence of a program about this name, if a row applies to it."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from abiscan.diagnosis.catalogue.match_messages import FoundMessage
from abiscan.diagnosis.messages.find_messages import find_messages
from abiscan.diagnosis.messages.found_subjects import FoundSubject
from abiscan.diagnosis.messages.plain_forms import plain_text

_MISSING: Final = (
    r"not (?:be )?found|notfound|cannot (?:be )?(?:find|found|open|include|locate|load)|missing|no such|not exist|"
    r"\u627e\u4e0d\u5230|\u7f3a\u5c11|\u7f3a\u5931|\u6ca1\u6709\u627e\u5230|\u4e0d\u5b58\u5728"
)
_UNDEFINED: Final = (
    r"undefined|undeclared|not (?:been )?(?:defined|declared)|unresolved|"
    r"\u672a\u5b9a\u4e49|\u672a\u58f0\u660e|\u6ca1\u6709\u5b9a\u4e49"
)
_UNIMPORTED: Final = (
    r"ModuleNotFound|ImportError|no module|cannot import|not (?:be )?import|"
    r"(?<!wheel )import(?:ing)? (?:error|fail)(?!\w*:? undefined symbol)|"
    r"\u6ca1\u6709\u6a21\u5757|\u627e\u4e0d\u5230\u6a21\u5757|\u5bfc\u5165(?:\u5931\u8d25|\u9519\u8bef|\u62a5\u9519)"
)


# The messages of CPython 3 and 2.7; rows for the second name other causes.
_NO_MODULE: Final = ("ModuleNotFoundError: No module named '{a}'", "ImportError: No module named {a}")
_NO_MEMBER: Final = (
    'error: namespace "{b}" has no member "{a}"',
    'error: class "{b}" has no member "{a}"',
    "error: no member named '{a}' in namespace '{b}'",
)
_NO_ATTRIBUTE: Final = (
    "AttributeError: module '{b}' has no attribute '{a}'",
    "AttributeError: '{b}' object has no attribute '{a}'",
)


class _Form(Struct, frozen=True):
    """Names of one kind beside words about a failure, and the sentences of programs about them."""

    names: re.Pattern[str]
    words: re.Pattern[str]
    sentences: tuple[str, ...]


_FORMS: Final = (
    _Form(
        re.compile(r"(?<![\w./-])(?P<a>[\w./+-]{1,120}\.(?:h|hpp|cuh|hh))(?!\w)", re.ASCII),
        re.compile(_MISSING, re.IGNORECASE),
        ("fatal error: {a}: No such file or directory",),
    ),
    _Form(
        re.compile(r"(?<![\w./-])(?P<a>[\w./+-]{0,256}?[\w+-]{1,100}\.so(?:\.\d{1,4}){0,4})(?![\w.]\w)", re.ASCII),
        re.compile(_MISSING, re.IGNORECASE),
        ("ImportError: {a}: cannot open shared object file: No such file or directory",),
    ),
    _Form(
        re.compile(r"(?<![\w.-])(?P<a>[\w.+-]{1,100}\.dll)(?!\w)", re.ASCII),
        re.compile(_MISSING, re.IGNORECASE),
        ("The code execution cannot proceed because {a} was not found.",),
    ),
    _Form(
        re.compile(r"import (?:name )?(?P<a>\w{1,64}) from (?P<b>[\w.]{1,64}\w)", re.ASCII),
        re.compile(r"cannot import", re.IGNORECASE),
        ("ImportError: cannot import name '{a}' from '{b}' (unknown location)",),
    ),
    _Form(
        re.compile(r"import (?:name )?(?P<b>(?:\w{1,64}\.){0,6}\w{1,64})\.(?P<a>\w{1,64})", re.ASCII),
        re.compile(r"cannot import", re.IGNORECASE),
        ("ImportError: cannot import name '{a}' from '{b}' (unknown location)",),
    ),
    _Form(
        re.compile(r"import (?:name )?(?P<a>(?:\w{1,64}\.){1,6}[a-z_]\w{0,64})", re.ASCII),
        re.compile(r"cannot import", re.IGNORECASE),
        _NO_MODULE,
    ),
    _Form(
        re.compile(r"[Mm]odule (?:named )?(?P<a>[A-Za-z_]\w{0,64}(?:\.\w{1,64}){0,6})(?![\w:])", re.ASCII),
        re.compile(rf"{_UNIMPORTED}|{_MISSING}", re.IGNORECASE),
        _NO_MODULE,
    ),
    _Form(
        re.compile(
            r"(?<![\w.:/-])(?P<a>[A-Za-z_]\w{0,64}(?:\.\w{1,64}){0,6})(?= (?:[Mm]odule|ModuleNotFound))", re.ASCII
        ),
        re.compile(rf"{_UNIMPORTED}|{_MISSING}", re.IGNORECASE),
        _NO_MODULE,
    ),
    _Form(
        re.compile(r"(?<![\w.:/-])(?P<a>[A-Za-z]\w{0,64}(?:_\w{1,64}|\.\w{1,64}){1,6})(?![\w:/-])", re.ASCII),
        re.compile(_UNIMPORTED, re.IGNORECASE),
        _NO_MODULE,
    ),
    _Form(
        re.compile(
            r"\b(?:name )?(?P<a>[A-Za-z_]\w{0,128}) (?:undefined|undeclared|not (?:been )?(?:defined|declared|found))",
            re.ASCII,
        ),
        re.compile(r"NameError|python", re.IGNORECASE),
        ("NameError: name '{a}' is not defined",),
    ),
    _Form(
        re.compile(
            r"no member (?:named )?(?P<a>\w{1,64}) (?:in|of) (?:class |struct |namespace )?"
            r"(?P<b>\w{1,64}(?:::\w{1,64}){0,6})",
            re.ASCII,
        ),
        re.compile(r"no member", re.IGNORECASE),
        _NO_MEMBER,
    ),
    _Form(
        re.compile(r"(?<![\w:])(?P<b>(?:\w{1,64}::){1,6}[A-Z]\w{0,64})::(?P<a>\w{1,64})", re.ASCII),
        re.compile(rf"{_MISSING}|{_UNDEFINED}", re.IGNORECASE),
        _NO_MEMBER[1:],
    ),
    _Form(
        re.compile(r"(?<![\w:])(?P<b>[A-Za-z_]\w{0,64}(?:::\w{1,64}){0,6})::(?P<a>\w{1,64})", re.ASCII),
        re.compile(rf"{_MISSING}|{_UNDEFINED}", re.IGNORECASE),
        _NO_MEMBER,
    ),
    _Form(
        re.compile(
            r"(?<![\w.])(?P<b>[A-Za-z_]\w{0,64}(?:\.\w{1,64}){0,6}) (?:has )?no attribute (?:named )?(?P<a>\w{1,64})",
            re.ASCII,
        ),
        re.compile(r"no attribute", re.IGNORECASE),
        _NO_ATTRIBUTE,
    ),
    _Form(
        re.compile(r"(?<![\w.])(?P<b>[A-Za-z_]\w{0,64}(?:\.\w{1,64}){0,6})\.(?P<a>\w{1,64})(?![\w./:(-])", re.ASCII),
        re.compile(rf"attribute|{_MISSING}", re.IGNORECASE),
        _NO_ATTRIBUTE,
    ),
    _Form(
        re.compile(r"(?<![\w.:/-])(?=\w{0,64}[A-Z_0-9])(?P<a>[A-Za-z_]\w{3,128})(?![\w./:-]\w)", re.ASCII),
        re.compile(rf"{_MISSING}|{_UNDEFINED}", re.IGNORECASE),
        (
            'error: identifier "{a}" is undefined',
            "error: '{a}' was not declared in this scope",
        ),
    ),
)
# A name and the words about it are in one part of a line.
_PART = re.compile(r"[^\n;!?,\u3002\uff01\uff1f\uff1b\uff0c]{4,512}")
_MOST_SENTENCES: Final = 32
# Characters around a name that rows read facts from.
_AROUND: Final = 1_024


def mentioned_names(text: str) -> tuple[FoundSubject | FoundMessage, ...]:
    """The results for missing names that a text has in no message of a program; none for names that no row explains."""
    text = plain_text(text)
    found: list[FoundSubject | FoundMessage] = []
    read: set[str] = set()
    for part in _PART.finditer(text):
        for form in _FORMS:
            if form.words.search(part[0]) is None:
                continue
            for name in form.names.finditer(part[0]):
                groups = {group[0]: text for group, text in name.groupdict().items() if text}
                for sentence in form.sentences:
                    said = sentence.format(**groups)
                    if said in read or len(read) >= _MOST_SENTENCES:
                        continue
                    read.add(said)
                    before = text[max(0, part.start() - _AROUND) : part.start()]
                    behind = text[part.start() : part.end() + _AROUND]
                    found += find_messages(f"{before}\n{said}\n{behind}")
                    if found:
                        return tuple(found)
    return ()
