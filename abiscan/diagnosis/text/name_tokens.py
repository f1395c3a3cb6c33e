"""Finds the start and end of names, files and quotations in a line of prose, a log, Markdown or JSON. Each function
reads a bounded line once, from left to right, without backtracking."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Struct

from abiscan.diagnosis.text.demangled_text import DEMANGLED_LEADS

# Closing quotation mark -> opening ones: in the languages of compilers and loaders, Markdown and JSON.
QUOTES: Final = {
    "'": "`'\u2018",
    "`": "`",
    '"': '"',
    "\u2019": "\u2018'`",
    "\u2018": "\u201a",
    "\u201d": "\u201c\u201d",
    "\u201c": "\u201e",
    "\u00bb": "\u00ab",
    "\u00ab": "\u00bb",
    "\u203a": "\u2039",
    "\u300d": "\u300c",
    "\u300f": "\u300e",
}
_OPENING: Final = frozenset("".join(QUOTES.values()))
_CLOSING: Final = {opening: frozenset(c for c, o in QUOTES.items() if opening in o) for opening in _OPENING}
# Characters between the words of a message and the name: spaces, colons of any script, emphasis and tables of Markdown.
_LEAD: Final = " \t:\uff1a=*|\\\u3000"
_EXAMPLE = re.compile(
    r"\(?(?:e\.\s?g\.|eg|for example|such as|like|i\.e\.|\u4f8b\u5982|\u6bd4\u5982)[,:\uff0c\uff1a ]+"
)
# Words between a message and a name in prose: "undefined symbol for at::f".
_PREPOSITION = re.compile(
    r"(?:for|of|in|to|is|named|called|like)[: ]{1,2}(?=[`'\"]?(?:_Z|[A-Za-z_]\w{0,255}(?:::|<)))", re.ASCII
)
# Words in parentheses in place of a name: `undefined symbol (PyTorch ABI mismatch)`.
_WORDS_IN_PARENTHESES = re.compile(
    r"\((?!(?:vtable|typeinfo|[^()\n]{0,200}(?:::|_Z)))[A-Za-z][a-z]{0,2}[A-Za-z]?[a-z]{1,24} [A-Za-z][\w'-]{0,24}[ )]",
    re.ASCII,
)
# An ELF name; `.` occurs in names of clones (`f.cold`) and in versions, `$` in a few.
_ELF_NAME = re.compile(r"[A-Za-z_$.][A-Za-z0-9_$.]*")
_MSVC_NAME = re.compile(r"(?:__imp_)?\?[A-Za-z0-9_?@$]+")
# Suffixes of GCC and Clang after a dot, for functions that were split or copied.
_CLONES: Final = ("cold", "part", "isra", "constprop", "llvm", "lto_priv", "localalias", "resolver", "clone")
# `undefined symbol PyTorch version 2.1` is prose: the version of a symbol has letters.
_VERSION = re.compile(
    r"@{1,2}([A-Za-z0-9_.+-]+)|,?\s{1,4}version[:\s]\s{0,4}((?=[0-9.]{0,32}[A-Za-z_])[A-Za-z0-9_.+-]+)"
)
_MANGLED = re.compile(r"_{1,2}Z[A-Za-z0-9_$.]+|\?[A-Za-z_?][A-Za-z0-9_?@$]+")
# The rest of a broken name on the next line, after the prefix of mail; maximum number of lines of a name.
_CONTINUED = re.compile(r"[> \t|]{0,16}([A-Za-z0-9_]{1,4096})")
_BROKEN_INTO: Final = 3
# All names of CPython have an underscore: PyTorch, PyPI are words.
_WORD = re.compile(r"[A-Za-z]?[a-z]+|Py[A-Z][A-Za-z]+")
# Words next to a name in a demangled text; any other word ends it.
_BESIDE: Final = frozenset(
    (
        *("const", "volatile", "unsigned", "signed", "long", "int", "short", "char", "bool", "void", "float", "double"),
        *("auto", "&", "&&", "*", "const&", "const*"),
    )
)
# Suffixes after the parameters; an HTML tag is no argument.
_QUALIFIER = re.compile(r"(?:const|volatile)(?![A-Za-z0-9_])|&&?(?= |$)|\[clone|\[abi:")
_TAG = re.compile(r"</|<(?:br|p|b|i|a|pre|code|span|div|td|tr|li|em|strong)[ />]", re.IGNORECASE)
_BRACKETS: Final = {"<": ">", "(": ")", "[": "]", "{": "}"}
_BRACES: Final = ("{lambda", "{unnamed", "{default")
_OPERATOR = re.compile(r"operator\s{0,2}(?:\(\)|\[\]|[-+*/%^&|~!=<>,]{1,3}|new(?:\[\])?|delete(?:\[\])?)")


# The end of a mangled name after dots, `..._RKSs`: a class of std (Itanium C++ ABI, 5.1.10), which no name begins with.
_ELIDED = re.compile(r"[.\u2026]_?[RPKN]{0,3}S[abdiost](?![a-z]{3})\w{0,4096}", re.ASCII)
_DOTS: Final = ("...", "\u2026")
# The beginning of thousands of names, cut off within or behind a namespace: `_ZN3...`, `_ZNK3c10...`. It names nothing.
_BEGINNING = re.compile(
    r"_{1,2}Z[NKVR]{0,3}(?:\d(?:c10|at|torch)(?=[\d.\u2026])){0,2}\d{0,3}(?:\.{2}|\u2026)", re.ASCII
)


class NameToken(Struct, frozen=True):
    """A name in a line.

    Attributes:
        name: without quotation marks, version and punctuation.
        version: of a versioned reference (`libnvJitLink.so.12`, `GLIBC_2.34`).
        end: offset after it.
        quoted: whether it is in quotation marks.
    """

    name: str
    version: str | None
    end: int
    quoted: bool

    def is_cut_off(self, text: str) -> bool:
        """Whether dots follow the name in the line."""
        return text.startswith(_DOTS, self.end)

    @property
    def library(self) -> str | None:
        """The version if it is a library."""
        return self.version if self.version is not None and ".so" in self.version else None


def read_name(text: str) -> NameToken | None:
    """The name at the start of a line, after colons, quotation marks, Markdown and `(e.g.,`."""
    at = _skip(text, 0)
    if _ELIDED.match(text, max(0, at - 1)) is not None or _BEGINNING.match(text, at) is not None:
        return None
    example = _EXAMPLE.match(text, at)
    if example is not None:
        at = _skip(text, example.end())
    preposition = _PREPOSITION.match(text, at)
    if preposition is not None:
        at = _skip(text, preposition.end())
    if at >= len(text):
        return None
    if text[at] in _OPENING or text[at] in _CLOSING:
        return _quoted(text, at)
    if _WORDS_IN_PARENTHESES.match(text, at) is not None:
        return None
    if text[at] in "(<[":
        at += 1
    return _bare(text, at)


_CONVENTION = re.compile(
    r"__(?:cdecl|thiscall|vectorcall|stdcall|fastcall) ((?:[A-Za-z_~]\w{0,255}::){0,15}~?[A-Za-z_]\w{0,255}(?:::)?)"
    r"(?=[(<]|[ \t]{0,8}(?:[\"'\n]|\Z))(<(?:float|double|bool|(?:unsigned )?(?:int|__int64)),? ?\d?>(?=\())?"
)


def msvc_name(text: str) -> str | None:
    """The qualified name, without parameters, in the output of MSVC's undecorator: `c10::Error::Error` for
    `__declspec(dllimport) public: __cdecl c10::Error::Error(struct c10::SourceLocation)`. It keeps a template argument
    that is the same type on Linux."""
    found = _CONVENTION.search(text, 0, 4_096)
    if found is None or "::" not in found[1] or found[1].endswith("::"):
        return None
    arguments = (found[2] or "").replace("unsigned __int64", "uint64_t").replace("__int64", "int64_t")
    return f"{found[1]}{arguments}"


def mended(token: NameToken, behind: str) -> NameToken:
    """The token, or the whole mangled name that a terminal broke at the end of the line.

    Args:
        behind: the following lines.
    """
    if not token.name.startswith("_Z"):
        return token
    from abiscan.mangling import parse

    name = token.name
    for line in behind.strip("\n").split("\n")[:_BROKEN_INTO]:
        if parse(name) is not None:
            return msgspec.structs.replace(token, name=name)
        more = _CONTINUED.match(line)
        if more is None:
            break
        name += more[1]
    return msgspec.structs.replace(token, name=name) if parse(name) is not None else token


def _skip(text: str, at: int) -> int:
    while at < len(text) and (
        text[at] in _LEAD or text.startswith(("..", "\u2026"), at) or text[at - 1 : at + 1] == ".."
    ):
        at += 1
    return at


def _quoted(text: str, at: int) -> NameToken | None:
    closing = _CLOSING.get(text[at], frozenset(text[at]))
    inside = at + 1
    while text[inside : inside + 1] in ("`", "*", " ") and inside < len(text):
        inside += 1
    end = next((i for i in range(inside, len(text)) if text[i] in closing and not _in_name(text, i)), len(text))
    name = text[inside:end].rstrip("\\ *`")
    token = _bare(name, 0)
    if token is None:
        return None
    behind = text[end + 1 : end + 200]
    version = token.version
    if version is None and (found := _VERSION.match(behind)) is not None:
        version = found[1] or found[2]
    closed = end < len(text)
    is_demangled = _begins_demangled(name, 0) or name.startswith(DEMANGLED_LEADS)
    if not closed or not is_demangled:
        return NameToken(token.name, version, end + 1, closed)
    # GNU ld demangles the name before the version.
    whole, _, of_linker = name.partition("@")
    return NameToken(whole, version or of_linker.lstrip("@") or None, end + 1, closed)


def _in_name(text: str, at: int) -> bool:
    """Whether an apostrophe belongs to Clang's `'lambda'` or GCC's `'unnamed'` in a demangled name."""
    return text[at] == "'" and (text.startswith("'lambda", at) or text[max(0, at - 8) : at].endswith(("lambda", "'")))


def _bare(text: str, at: int) -> NameToken | None:
    if text.startswith(DEMANGLED_LEADS, at) or _begins_demangled(text, at):
        end = demangled_end(text, at)
        name = text[at:end].strip().rstrip(".,;:*")
        return NameToken(name, None, end, False) if name else None
    found = _MSVC_NAME.match(text, at) or _ELF_NAME.match(text, at)
    if found is None:
        return None
    name = _without_sentence(found[0].rstrip("."))
    end = at + len(name)
    version = _VERSION.match(text, end) if len(name) == len(found[0]) else None
    if version is not None:
        return NameToken(name, (version[1] or version[2]).rstrip("."), version.end(), False)
    return NameToken(name, None, end, False) if name else None


def _without_sentence(name: str) -> str:
    """A mangled name without the sentence after its full stop: `_Z1fv.I tried`."""
    if not name.startswith(("_Z", "__Z")) or "." not in name:
        return name
    whole, _, behind = name.partition(".")
    return name if behind.startswith(_CLONES) else whole


def _begins_demangled(text: str, at: int) -> bool:
    """Whether the name is demangled: a scope, template arguments or parameters follow its first word."""
    if text.startswith(("_Z", "__Z", "?"), at):
        return False
    if text.startswith(("(anonymous namespace)", "std::", "::", "operator ", "operator("), at):
        return True
    end = at
    while end < len(text) and ((text[end].isalnum() and text[end].isascii()) or text[end] in "_~"):
        end += 1
    if end == at:
        return False
    if text.startswith("::", end) and text[end + 2 : end + 3] not in ("", " "):
        return True
    if text.startswith("(", end):
        return text[end + 1 : end + 2] != "" and not text.startswith("(fatal", end)
    if text.startswith("<", end):
        return _TAG.match(text, end) is None
    word = text[at:end]
    if word in _BESIDE or text[end : end + 1] in ("*", "&"):
        # A return type: a scope must follow.
        following = text[end : end + 256].lstrip(" *&")
        return any(part in following.split("(")[0] for part in ("::", "<")) or (word in _BESIDE and "(" in following)
    return text[end : end + 1] == " " and "::" in text[end + 1 : end + 129].split(" ", maxsplit=1)[0]


def demangled_end(text: str, at: int) -> int:
    """The end of the demangled name at an offset, with balanced brackets and without following prose."""
    depth = 0
    parameters_closed = False
    here = at + len(next((lead for lead in DEMANGLED_LEADS if text.startswith(lead, at)), ""))
    while here < len(text):
        char = text[here]
        if char == "o" and not _is_word(text[here - 1 : here]) and (operator := _OPERATOR.match(text, here)):
            here = operator.end()
            continue
        if char in _BRACKETS:
            if char == "<" and _TAG.match(text, here) is not None:
                break
            if depth == 0 and char == "{" and not text.startswith(_BRACES, here):
                break
            depth += 1
        elif char in _BRACKETS.values():
            if depth == 0:
                break
            depth -= 1
            if depth == 0 and char == ")" and not text.endswith("(anonymous namespace)", at, here + 1):
                parameters_closed = True
        elif depth and (not char.isascii() or char in ";\t"):
            break
        elif depth == 0:
            colons = char == ":" and (text.startswith("::", here) or text[here - 1 : here] == ":")
            blank = char == " " and _goes_on(text, here + 1, parameters_closed)
            if not (colons or blank or _is_word(char) or char in "~*&$"):
                break
        here += 1
    return here


def _is_word(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def _goes_on(text: str, at: int, closed: bool) -> bool:
    """Whether a demangled name continues after a space outside of its brackets."""
    if _QUALIFIER.match(text, at) is not None:
        return True
    if closed:
        return False
    word = text[at : at + 256].split(" ", 1)[0]
    return word in _BESIDE or "::" in word or word.startswith(("operator", "*", "&"))


def is_plain_word(name: str) -> bool:
    """Whether this may be a word of prose as well as a C name: only letters, or PyTorch."""
    return _WORD.fullmatch(name) is not None


def ends_clause(text: str, at: int) -> bool:
    """Whether an offset is at the end of a clause: the line ends, or punctuation follows."""
    rest = text[at : at + 64].lstrip(" .\"'`*_)\u3002\uff01\uff09")
    return not rest or rest[0] in "\t(,;|\\<[\uff0c\uff1b" or not rest[0].isascii() or rest.startswith("version")


def mangled_names(text: str, limit: int) -> list[tuple[int, str]]:
    """(offset, name) of the first mangled C++ names anywhere in a text."""
    found: list[tuple[int, str]] = []
    for match in _MANGLED.finditer(text):
        before = text[match.start() - 1 : match.start()]
        name = _without_sentence(match[0].rstrip("."))
        if (
            len(name) > 5
            and _BEGINNING.match(text, match.start()) is None
            and ("@@" in name or name[0] == "_")
            and not (before.isascii() and (before.isalnum() or before in ("_", "$")))
        ):
            found.append((match.start(), name))
            if len(found) == limit:
                break
    return found


def last_quoted(before: str) -> str | None:
    """The quotation at the end of a line."""
    line = before.rstrip(" \t:\uff1a")
    if not line or line[-1] not in QUOTES:
        return None
    start = max(line.rfind(opening, 0, len(line) - 1) for opening in QUOTES[line[-1]])
    return line[start + 1 : -1].strip() if start >= 0 else None


def first_quoted(text: str) -> str | None:
    """The first quotation of a line; up to its end if it is not closed."""
    at = next((i for i, char in enumerate(text) if char in _OPENING), -1)
    if at < 0:
        return None
    closing = _CLOSING[text[at]]
    end = next((i for i in range(at + 1, len(text)) if text[i] in closing and not _in_name(text, i)), len(text))
    return text[at + 1 : end].strip()
