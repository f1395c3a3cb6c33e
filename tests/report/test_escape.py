"""No character without a visible glyph is printed, in any format, and names in every script stay unchanged."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from msgspec.structs import replace

from abiscan.report import FORMATS, render
from abiscan.report.escape import DEFAULT_IGNORABLE, printable, safe_json, safe_markup, safe_text
from tests.report import samples

# Ranges and single characters from the property's file (DerivedCoreProperties.txt of Unicode 14.0.0, "Total code
# points: 4174"), and characters without a property: see `escape._BLANK`.
BLANK = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10)}
TAGS = {*range(0xE0000, 0xE0080), *range(0xE0100, 0xE01F0)}


def _everything() -> str:
    return "".join(map(chr, range(sys.maxunicode + 1)))


def _is_hidden(each: str) -> bool:
    """By general categories and the lists above."""
    kind = unicodedata.category(each)[0]
    return kind == "C" or (kind == "Z" and each != " ") or ord(each) in BLANK or ord(each) in TAGS


# Small groups completely, samples of others; lone surrogates are bytes that were not UTF-8.
SOME = (
    "".join(
        each
        for each in map(chr, range(0xE0110))
        if unicodedata.category(each) not in ("Cn", "Co", "Cs") and _is_hidden(each)
    )
    + "\ue000\U000f0000\u0378\ufff0\U000e0fff\U0010ffff\udcff\udc80"
)
READABLE = (
    *("测试/模型.so", "模块-1.0.whl", "café", "cafe\u0301", "наука", "भाषा", "ภาษาไทย", "한국어", "\u1112\u1161\u11ab"),
    *("עִבְרִית", "العَرَبِيَّة", "か\u3099", "Tiếng Việt", "Ελληνικά", "ខ្មែរ", "emoji 🚀", "a b", "→≤½№"),
)


def test_the_table_is_whole() -> None:
    """The total in the file of the property."""
    assert sum(last - first + 1 for first, last in DEFAULT_IGNORABLE) == 4174


def test_no_code_point_is_hidden() -> None:
    assert not any(map(_is_hidden, set(printable(_everything()))))
    # Each is escaped alone too, with its code.
    for code in BLANK:
        assert printable(chr(code)) == f"\\u{code:04x}"
    assert printable("\U000e0041") == "\\U000e0041"
    assert printable("a\u00adb\u00a0c\x7f\x1b") == "a\\xadb\\xa0c\\x7f\\x1b"


def test_all_other_characters_stay() -> None:
    shown = "".join(each for each in _everything() if not _is_hidden(each) and unicodedata.category(each)[0] != "M")
    # Symbols and letters with a blank glyph; the letters are assigned since Unicode 15.
    assert {0x1D159} <= set(map(ord, set(shown) - set(printable(shown)))) <= {0x1D159, 0x13441, 0x13442}


@pytest.mark.parametrize("mark", ["\u0301", "\u0489", "\u0903", "\u20e3"])
def test_a_mark_needs_a_letter(mark: str) -> None:
    assert printable(f"e{mark}") == f"e{mark}"
    assert printable(f"e{mark}{mark}") == f"e{mark}{mark}"
    for before in ("", " ", "'", "/", "\u200b", "\x1b"):
        assert mark not in printable(before + mark + mark)


@pytest.mark.parametrize("name", READABLE)
def test_names_stay_readable(name: str) -> None:
    assert printable(name) == safe_text(name) == safe_markup(name) == safe_json(name) == name


def test_json_reads_back_the_same() -> None:
    value = {"name": "".join(READABLE) + SOME, "mark": "\u0301"}
    text = safe_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not any(map(_is_hidden, text))
    assert '"\\u0301"' in text


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_shows_what_is_hidden(name: str) -> None:
    """In the paths, members, symbols, messages and notes of a report."""
    artifact = samples.an_artifact(
        f"dist/{SOME}.whl",
        f"{SOME}.so",
        findings=(replace(samples.a_finding(), symbol=SOME, message=SOME, fix=SOME),),
        notes=(SOME,),
    )
    report = replace(samples.a_report(artifact), notes=(SOME,))
    written = render(name, report)
    assert set(filter(_is_hidden, written)) <= set("\n\t")
