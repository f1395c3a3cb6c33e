"""Escapes names from files: a symbol name may contain any byte except zero."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

# General categories without a glyph: control, format (including bidirectional overrides), surrogate, private use,
# unassigned, line and paragraph separator, space (Unicode 14, chapter 4.5; `unicodedata`).
_NO_GLYPH = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Default_Ignorable_Code_Point of https://www.unicode.org/Public/14.0.0/ucd/DerivedCoreProperties.txt (4,174 code
# points, the same up to 16.0.0), adjacent ranges joined: fonts display nothing for them.
DEFAULT_IGNORABLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
# Letters and symbols with a blank glyph, from https://www.unicode.org/Public/16.0.0/ucd/UnicodeData.txt: braille
# pattern blank, Egyptian full and half blank, Khitan small script filler, musical symbol null notehead.
_BLANK = frozenset({0x2800, 0x13441, 0x13442, 0x16FE4, 0x1D159})


def _escape_hidden(text: str, escape: Callable[[str], str], *, document: bool = False) -> str:
    """`text` with `escape(character)` for each character without a visible glyph, and for each combining mark that does
    not follow a letter or digit.

    Args:
        document: keep ASCII controls: line ends and colours of a document.
    """
    if text.isascii() and ("\x7f" not in text if document else text.isprintable()):
        return text
    from unicodedata import category

    blank = _blank()

    def of_run(match: re.Match[str]) -> str:
        start = match.start()
        has_base = start > 0 and text[start - 1].isalnum()
        parts = []
        for character in match[0]:
            kind = category(character)
            if kind in _NO_GLYPH or character in blank or (kind[0] == "M" and not has_base):
                parts.append(escape(character))
                has_base = False
            else:
                parts.append(character)
                has_base = kind[0] in "LNM"
        return "".join(parts)

    return re.sub("[^\0-~]+" if document else "[^ -~]+", of_run, text)


@cache
def _blank() -> frozenset[str]:
    """All blank characters of any category."""
    ignorable = (code for first, last in DEFAULT_IGNORABLE for code in range(first, last + 1))
    return frozenset(map(chr, (*_BLANK, *ignorable)))


def printable(text: str) -> str:
    r"""`text` with escapes (`\x1b`) for every character that could control a terminal or is invisible. Bytes that are
    not UTF-8 (lone surrogates in names) become `\xNN`, so no information is lost."""
    return _escape_hidden(text, _escape)


def printable_lines(text: str) -> str:
    """`printable` for each line of a text."""
    return "\n".join(printable(line) for line in text.split("\n"))


# Commands for CI runners in the output of a step, for GitHub and Azure: `::name` at the start of a line, `##[name]`
# anywhere.
_COMMAND = r"(?m)^([^\S\n]*):(?=:)"
_OLD_COMMAND = r"##(?=\[)"


def safe_json(text: str) -> str:
    """JSON text with escapes for invisible characters, which parses to the same value."""
    if "##[" in text:
        text = text.replace("##[", "##\\u005b")
    return _escape_hidden(text, _escape_json, document=True)


def safe_markup(text: str) -> str:
    """XML or HTML without lines that a CI runner would interpret as a command."""
    text = re.sub(_COMMAND, r"\1&#58;", _escape_hidden(text, _escape, document=True))
    return re.sub(_OLD_COMMAND, "#&#35;", text) if "##[" in text else text


def safe_text(text: str) -> str:
    """The same for plain text."""
    text = re.sub(_COMMAND, r"\1\\x3a", _escape_hidden(text, _escape, document=True))
    return re.sub(_OLD_COMMAND, r"#\\x23", text) if "##[" in text else text


def code_fence(text: str) -> str:
    """A fence of backticks for a Markdown code block that `text` cannot close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _escape_json(character: str) -> str:
    """A JSON escape, or those of a surrogate pair (RFC 8259, 7)."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
