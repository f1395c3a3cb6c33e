"""Converts pasted text to plain lines, and extracts the bounded surroundings of a word.

Everything that is parsed is bounded here: a line to `_LINE` characters, its surroundings to a few lines and
`MOST_AROUND` characters. So the work per word is bounded, and that for a text is linear in its length. Words that are
near each other in a long line have the same bounds: what is searched for one of them is known for the next."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

# Characters of a line on either side of a word. Compilers emit no mangled names beyond 4,096.
_LINE: Final = 6_144
# The bounds in a long line are multiples of these powers of two: of the line, and of what is around it.
_STEP_OF_LINE: Final = 8_192
_MASK: Final = -_STEP_OF_LINE
_UP_TO: Final = _LINE + _STEP_OF_LINE - 1
_STEP: Final = 2_048
# Lines around a hit that are its context (compiler notes, Dynamo's explanation, last frame of a traceback), and
# characters.
_CONTEXT: Final = 12
MOST_AROUND: Final = 8_192

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
# What cl.exe prints in the language of the system, often in another encoding: the number and the file stay.
_HEADER_OF_CL = re.compile(
    r"(?<=fatal error C1083)\s?[:\uff1a][^\n:\uff1a\u3002]{2,80}[:\uff1a\u3002] ?[^\w\n./\\]{0,6}"
    r"((?:[A-Za-z]:)?[\w./\\+-]{1,256}\.(?:h|hpp|hxx|cuh|inl|inc))[^\w\n:\uff1a]{0,6}(?=[:\uff1a]|$)",
    re.ASCII | re.MULTILINE,
)
# Quotation marks in the repr of a string: a backslash before each.
_ESCAPED_QUOTES = re.compile(r"(?<![^\s(\[{=:,])\\(['\"])([^'\"\\\n]{1,256})\\\1")
# Bold words and lines: `version **libcudnn_ops_infer.so.8** not defined`.
_BOLD = re.compile(r"(?<![\w*/])\*\*(?=[^\s*])([^*\n]{1,512}?)(?<=[^\s*])\*\*(?![\w*])")
# What torch.utils.collect_env prints for a torch that is not for ROCm: its words are those of messages about ROCm.
_WITHOUT_ROCM = re.compile(r"(?<![^\n])(?:ROCM used to build PyTorch|(?:HIP|MIOpen) runtime version): {1,8}N/A(?!\S)")
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
    "並併來係個備僅內兩冊別動匯參問啟圖執報塊實寫對導庫後從態應擴敗數斷於時會標樣檔決沒準為無現環產確碼純級絕統綁"
    "編練繫義與號裏裝裡製訓訪註該語誤調識譯變資蹤載輸辦迴這運過選針錄錯鍵鏈開關隻頁項預題類顯麼點構見異輯儲轉換進"
)
_SIMPLIFIED: Final = (
    "并并来系个备仅内两册别动汇参问启图执报块实写对导库后从态应扩败数断于时会标样档决没准为无现环产确码纯级绝统绑"
    "编练系义与号里装里制训访注该语误调识译变资踪载输办回这运过选针录错键链开关只页项预题类显么点构见异辑储转换进"
)
_TO_SIMPLIFIED: Final = str.maketrans(_TRADITIONAL, _SIMPLIFIED)
_OF_TRADITIONAL = re.compile(f"[{_TRADITIONAL}]")
_KANA = re.compile("[\u3040-\u30ff]")
# Words, not parts of a path, which must stay as it is.
_HAN = re.compile(r"(?<![/\\\u4e00-\u9fff])[\u4e00-\u9fff]++(?![/\\])")


def clean(text: str) -> str:
    """The text without terminal colours and links, with URL and HTML escapes decoded, a broken `undefined symbol`
    joined, Chinese in simplified characters, and the words of cl.exe for a header that is not found in English."""
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
    if " N/A" in text:
        text = _WITHOUT_ROCM.sub("", text)
    if "\\'" in text or '\\"' in text:
        text = _ESCAPED_QUOTES.sub(r"\1\2\1", text)
    if any(broken in text for broken in _BREAKS):
        text = _BROKEN.sub(r"\1ndefined symbol", text)
    if "C1083" in text and not text.isascii():
        text = _HEADER_OF_CL.sub(r": Cannot open include file: '\1'", text)
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


def _after_written(text: str, start: int, end: int) -> int:
    r"""The offset behind the last escaped `\n` between two offsets; the first of them if there is none."""
    written = text.rfind("\\n", start, end)
    while written >= 0 and _IN_WINDOWS_PATH.match(text, written + 2) is not None:
        written = text.rfind("\\n", start, written)
    return start if written < 0 else written + 2


def _before_written(text: str, start: int, end: int) -> int:
    r"""The offset of the first escaped `\n` between two offsets; the second of them if there is none."""
    written = text.find("\\n", start, end)
    while written >= 0 and _IN_WINDOWS_PATH.match(text, written + 2) is not None:
        written = text.find("\\n", written + 2, end)
    return end if written < 0 else written


def bounds_around(start: int, end: int, before: int, after: int) -> tuple[int, int]:
    """The bounds of a part of a text with at least so many characters before and after another one."""
    return max(0, start - before & -_STEP), end + after + _STEP - 1 & -_STEP


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
        low, high = max(0, at - _LINE & _MASK), at + len(word) + _UP_TO & _MASK
        start = max(text.rfind("\n", low, at) + 1, low)
        if text.rfind("\\n", start, at) >= 0:
            start = _after_written(text, start, at)
        end = text.find("\n", at, high)
        end = min(high, len(text)) if end < 0 else end
        if text.find("\\n", at, end) >= 0:
            end = _before_written(text, at, end)
        return cls(text, at, start, end, word, plain)

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

    def following(self, lines: int = _CONTEXT) -> str:
        """The lines after this one."""
        return self.text[self.end : self.end_below(lines)]

    def preceding(self, lines: int = _CONTEXT) -> str:
        """The lines before this one."""
        return self.text[self.start_above(lines) : self.start]

    def end_below(self, lines: int) -> int:
        """The offset behind the lines after this one; none are after a line that is cut."""
        text, end, is_written = self.text, self.end, False
        if text[end : end + 1] != "\n" and not (is_written := text.startswith("\\n", end)):
            return end
        bound = min(len(text), end + MOST_AROUND & -_STEP)
        for _ in range(lines):
            begin = end + 1
            end = text.find("\n", begin, bound)
            if end < 0:
                end = bound
            if is_written:
                end = _before_written(text, begin, end)
            if end == bound:
                break
        return end

    def start_above(self, lines: int) -> int:
        """The offset of the lines before this one; none are before a line that is cut."""
        text, start, is_written = self.text, self.start, False
        if text[start - 1 : start] != "\n" and not (is_written := text.endswith("\\n", 0, start)):
            return start
        bound = max(0, start - MOST_AROUND + _STEP - 1 & -_STEP)
        for _ in range(lines):
            end = start - 1
            start = text.rfind("\n", bound, end) + 1 or bound
            if is_written:
                start = _after_written(text, start, end)
            if start == bound:
                break
        return start
