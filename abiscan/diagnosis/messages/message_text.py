"""Converts pasted text to plain lines, and extracts the bounded surroundings of a word.

Everything that is parsed is bounded here: a line to `_LINE` characters, its surroundings to a few lines and `_AROUND`
characters. So the work per word is bounded, and that for a text is linear in its length."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

# Characters of a line on either side of a word. Compilers emit no mangled names beyond 4,096.
_LINE: Final = 6_144
# Lines around a hit that are its context (compiler notes, Dynamo's explanation, last frame of a traceback), and
# characters.
_CONTEXT: Final = 12
_AROUND: Final = 8_192

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\r(?=\n)")
# Line prefixes of quoted mail and Markdown.
_MARGIN = r"[ \t]{0,16}(?:[>|#*][>|#* \t]{0,16})?"
# A terminal breaks lines within words, mail between them.
_BROKEN = re.compile(
    rf"([uU])ndefi(?:\n?n\n?e\n?d|ned)(?:\n?[ \t]{{0,4}}|[ \t]{{0,4}}\n{_MARGIN})symbol(?=[ \t]{{0,4}}[:\uff1a'`\"(\n])"
)
# Quick check for the pattern: most logs need no second search.
_BREAKS: Final = tuple(f"ndefi{part}{blank}\n" for part in ("", "n", "ne", "ned") for blank in ("", " ", "  ", "\t"))
# A mangled name with underscores that Markdown took for emphasis: `*ZNK3c1017SymbolicShapeMeta18init*is_contiguousEv`.
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,2}ZN[A-Za-z0-9_*]{8,8000}")
# Bold words and lines: `version **libcudnn_ops_infer.so.8** not defined`.
_BOLD = re.compile(r"(?<![\w*/])\*\*(?=[^\s*])([^*\n]{1,512}?)(?<=[^\s*])\*\*(?![\w*])")
# Spaces in web pages and East Asian text, where a message has an ASCII one.
_WIDE_BLANKS: Final = ("\xa0", "\u202f", "\u3000")
# A JSON string with an escape (RFC 8259, 7): a value, or an element of a list on a line of its own.
_JSON_STRING = re.compile(
    r'(?P<before>(?:[{,]|^)[ \t]{0,64}"[\w.@-]{1,64}"[ \t]{0,4}:[ \t]{0,4}\[?[ \t]{0,4}|'
    r'^[ \t]{0,64}(?:\[[ \t]{0,4})?(?!"[A-Za-z]:\\))'
    r'"(?P<string>[^"\\\n]*+\\.(?:[^"\\\n]|\\.)*+)"(?=[ \t]{0,4}(?:[,}\]]|$))',
    re.ASCII | re.MULTILINE,
)
_JSON_DEPTH: Final = 3  # of JSON as a string in JSON
# A character reference beyond Unicode, which has at most 7 digits. Python converts at most 4,300.
_LONG_REFERENCE = re.compile(r"&#[0-9]{9,}+;?")
_WHITE = re.compile(r"\S+")
_ESCAPE = re.compile(r"%(?:20|3A|0A|2F|60|27|5F|28|3C)", re.IGNORECASE)

# Traditional characters of the words in message patterns, and the simplified ones of the patterns (Unihan,
# kSimplifiedVariant). Japanese uses some of them in other words.
_TRADITIONAL: Final = (
    "\u4e26\u4f75\u4f86\u4fc2\u500b\u5099\u50c5\u5167\u5169\u518a\u5225\u52d5\u532f\u53c3\u554f\u555f"
    "\u5716\u57f7\u5831\u584a\u5be6\u5beb\u5c0d\u5c0e\u5eab\u5f8c\u5f9e\u614b\u61c9\u64f4\u6557\u6578"
    "\u65b7\u65bc\u6642\u6703\u6a19\u6a23\u6a94\u6c7a\u6c92\u6e96\u70ba\u7121\u73fe\u74b0\u7522\u78ba"
    "\u78bc\u7d14\u7d1a\u7d55\u7d71\u7d81\u7de8\u7df4\u7e6b\u7fa9\u8207\u865f\u88cf\u88dd\u88e1\u88fd"
    "\u8a13\u8a2a\u8a3b\u8a72\u8a9e\u8aa4\u8abf\u8b58\u8b6f\u8b8a\u8cc7\u8e64\u8f09\u8f38\u8fa6\u8ff4"
    "\u9019\u904b\u904e\u9078\u91dd\u9304\u932f\u9375\u93c8\u958b\u95dc\u96bb\u9801\u9805\u9810\u984c"
    "\u985e\u986f\u9ebc\u9ede\u69cb\u898b\u7570\u8f2f\u5132\u8f49\u63db\u9032"
)
_SIMPLIFIED: Final = (
    "\u5e76\u5e76\u6765\u7cfb\u4e2a\u5907\u4ec5\u5185\u4e24\u518c\u522b\u52a8\u6c47\u53c2\u95ee\u542f"
    "\u56fe\u6267\u62a5\u5757\u5b9e\u5199\u5bf9\u5bfc\u5e93\u540e\u4ece\u6001\u5e94\u6269\u8d25\u6570"
    "\u65ad\u4e8e\u65f6\u4f1a\u6807\u6837\u6863\u51b3\u6ca1\u51c6\u4e3a\u65e0\u73b0\u73af\u4ea7\u786e"
    "\u7801\u7eaf\u7ea7\u7edd\u7edf\u7ed1\u7f16\u7ec3\u7cfb\u4e49\u4e0e\u53f7\u91cc\u88c5\u91cc\u5236"
    "\u8bad\u8bbf\u6ce8\u8be5\u8bed\u8bef\u8c03\u8bc6\u8bd1\u53d8\u8d44\u8e2a\u8f7d\u8f93\u529e\u56de"
    "\u8fd9\u8fd0\u8fc7\u9009\u9488\u5f55\u9519\u952e\u94fe\u5f00\u5173\u53ea\u9875\u9879\u9884\u9898"
    "\u7c7b\u663e\u4e48\u70b9\u6784\u89c1\u5f02\u8f91\u50a8\u8f6c\u6362\u8fdb"
)
_TO_SIMPLIFIED: Final = str.maketrans(_TRADITIONAL, _SIMPLIFIED)
_OF_TRADITIONAL = re.compile(f"[{_TRADITIONAL}]")
_KANA = re.compile("[\u3040-\u30ff]")
# Words, not parts of a path, which must stay as it is.
_HAN = re.compile(r"(?<![/\\\u4e00-\u9fff])[\u4e00-\u9fff]++(?![/\\])")


def clean(text: str) -> str:
    """The text without terminal colours and links, with URL and HTML escapes decoded, a broken `undefined symbol`
    joined, and Chinese in simplified characters."""
    if "\\" in text and '"' in text:
        text = _without_json(text)
    for blank in _WIDE_BLANKS:
        text = text.replace(blank, " ")
    if "\x1b" in text or "\r" in text:
        text = _ANSI.sub("", text)
    if _ESCAPE.search(text) is not None:
        text = _WHITE.sub(_url_decoded, text)
    if "&" in text and ("&lt;" in text or "&#" in text or "&quot;" in text):
        import html

        text = html.unescape(_LONG_REFERENCE.sub("", text))
    if "quoted-printable" in text or "Quoted-Printable" in text:
        text = text.replace("=\n", "").replace("=3D", "=").replace("=20", " ")
    if "=5F" in text:
        text = text.replace("=5F", "_")
    if "=\n" in text:
        text = _rejoined(text)
    if "*ZN" in text:
        text = _EMPHASIS.sub(lambda name: name[0].replace("*", "_"), text)
    if "**" in text:
        text = _BOLD.sub(r"\1", text)
    if any(broken in text for broken in _BREAKS):
        text = _BROKEN.sub(r"\1ndefined symbol", text)
    if not text.isascii() and _OF_TRADITIONAL.search(text) is not None and _KANA.search(text) is None:
        text = _HAN.sub(lambda word: word[0].translate(_TO_SIMPLIFIED), text)
    return text


def _without_json(text: str) -> str:
    """The text with JSON strings decoded, each on lines of its own."""
    for _ in range(_JSON_DEPTH):
        decoded = _JSON_STRING.sub(_json_decoded, text)
        if decoded == text:
            break
        text = decoded
    return text


def _json_decoded(found: re.Match[str]) -> str:
    import json

    try:
        decoded: str = json.loads(f'"{found["string"]}"', strict=False)
    except ValueError:
        return found[0]
    # Half of a surrogate pair is no character and in no name.
    decoded = _HALF_OF_A_PAIR.sub("\ufffd", decoded)
    return f"{found['before']}\n{decoded}\n"


_HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")
# The end of a mangled name; mail is often pasted without its headers.
_NAME_END = re.compile(r"_Z[A-Za-z0-9_]{4,}$")
_LINE_OF_MAIL: Final = 80  # characters, in quoted-printable (RFC 2045, 6.7)


def _rejoined(text: str) -> str:
    """The text with names joined that quoted-printable broke: `=` is a soft line break."""
    first, *others = text.split("=\n")
    parts = [first]
    for part in others:
        broken = part[:1].isalnum() and _NAME_END.search(parts[-1][-_LINE_OF_MAIL:]) is not None
        parts.append(part if broken else f"=\n{part}")
    return "".join(parts)


def _url_decoded(run: re.Match[str]) -> str:
    word = run[0]
    if "%" not in word or _ESCAPE.search(word) is None:
        return word
    from urllib.parse import unquote, unquote_plus

    # `+` is a space only if nothing else is: C++ file names contain it.
    return unquote(word) if "%20" in word else unquote_plus(word)


# `\n` in `C:\CUDA\bin\nvcc.exe`: these beginnings are no words without the n.
_IN_WINDOWS_PATH = re.compile(
    r"(?:vcc|inja|umpy|vidia|vrtc|vlink|vtx|vTools|vJitLink|ccl|ative|erfstudio|unchaku|atten)\b"
)


class Hit(Struct, frozen=True):
    """A found word: the whole text, and the bounds of its line; `plain` if it is in plain form (`plain_forms.py`)."""

    text: str
    at: int
    start: int
    end: int
    word: str
    plain: bool = False

    @classmethod
    def of(cls, text: str, at: int, word: str, *, plain: bool = False) -> Hit:
        r"""The word at an offset, with its line. An escaped `\n` of JSON or Python's repr ends a line too."""
        low, high = max(0, at - _LINE), min(len(text), at + len(word) + _LINE)
        start = max(text.rfind("\n", low, at) + 1, low)
        written = text.rfind("\\n", start, at)
        while written >= 0 and _IN_WINDOWS_PATH.match(text, written + 2) is not None:
            written = text.rfind("\\n", start, written)
        if written >= 0:
            start = written + 2
        written = text.find("\\n", at, high)
        while written >= 0 and _IN_WINDOWS_PATH.match(text, written + 2) is not None:
            written = text.find("\\n", written + 2, high)
        ends = [end for end in (text.find("\n", at, high), written) if end >= 0]
        return cls(text, at, start, min(ends, default=high), word, plain)

    @property
    def line(self) -> str:
        """The line of the word."""
        return self.text[self.start : self.end]

    @property
    def before(self) -> str:
        """The part of the line before the word."""
        return self.text[self.start : self.at]

    @property
    def rest(self) -> str:
        """The part of the line after the word."""
        return self.text[self.at + len(self.word) : self.end]

    def following(self, lines: int = _CONTEXT, characters: int = _AROUND) -> str:
        """The lines after this one."""
        bound = min(len(self.text), self.end + characters)
        end = self.end
        for _ in range(lines):
            found = self.text.find("\n", end + 1, bound)
            if found < 0:
                return self.text[self.end : bound]
            end = found
        return self.text[self.end : end]

    def preceding(self, lines: int = _CONTEXT) -> str:
        """The lines before this one."""
        bound = max(0, self.start - _AROUND)
        start = self.start
        for _ in range(lines):
            found = self.text.rfind("\n", bound, start - 1) if start > bound else -1
            if found < 0:
                return self.text[bound : self.start]
            start = found + 1
        return self.text[start : self.start]
