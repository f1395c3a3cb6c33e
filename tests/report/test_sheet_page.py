"""The HTML of `diff`, `env`, `compat` and `migrate`: the frame, style sheet and content security policy of the page of
a scan. The parser is Python's own."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from abiscan.report import html
from abiscan.report.html.sheet_page import page
from abiscan.report.sheet import Sheet
from abiscan.report.text_table import Row, Table, Tone
from tests.report import samples

ROWS = (
    Row(("-", "torch", "no longer works on `torch` 2.6.0"), Tone.BAD, ("- a()", "+ b()")),
    Row(("~", "import", "2 new"), Tone.DOUBT),
    Row(("+", "torch", "compatible with torch 2.9.1 now"), Tone.GOOD, minor=True),
    Row(("x" * 60, "file", "")),
)
SHEET = Sheet(
    "REGRESSED",
    "a -> b: compatible with less",
    Tone.BAD,
    (Table(("", "what", "change"), ROWS), Table((), (), "none")),
    ("a note",),
)


class Reader(HTMLParser):
    """The texts of a page by element, and its elements."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._inside = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside not in ("style", "script") and data.strip():
            self.texts.append(" ".join(data.split()))


def test_everything_is_on_the_page() -> None:
    read = Reader(page(SHEET))
    for text in (
        "REGRESSED",
        "a -> b: compatible with less",
        "what",
        "change",
        "2 new",
        "- a()",
        "+ b()",
        "x" * 60,
        "a note",
    ):
        assert text in read.texts
    assert ("tr", {"class": "r-bad"}) in read.tags
    assert [tag for tag, _ in read.tags].count("table") == 1
    assert ("body", {"class": "verdict-fail"}) in read.tags


def test_one_style_sheet_and_policy_for_all_pages() -> None:
    def parts(source: str) -> list[str]:
        found = re.search(r'Content-Security-Policy" content="([^"]*)".*<style>(.*)</style>', source, re.DOTALL)
        assert found is not None
        return [found[1], found[2]]

    assert parts(page(SHEET)) == parts(html.render(samples.mixed()))


@pytest.mark.parametrize("name", samples.HOSTILE)
def test_names_stay_text(name: str) -> None:
    rows = (Row((name, name, name), Tone.BAD, (name,)),)
    hostile = page(Sheet(name, name, Tone.GOOD, (Table((name, name, name), rows, name),), (name,)))
    plain = page(
        Sheet("x", "x", Tone.GOOD, (Table(("x", "x", "x"), (Row(("x", "x", "x"), Tone.BAD, ("x",)),), "x"),), ("x",))
    )
    markup = {"code"}  # words in backticks
    tags = [[tag for tag, _ in Reader(each).tags if tag not in markup] for each in (hostile, plain)]
    assert tags[0] == tags[1]
    assert "\x1b" not in hostile
    assert "\x00" not in hostile


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_and_width(browser: Any, tmp_path: Path, width: int, dark: bool) -> None:
    from tests.report.browser import serious, viewport

    file = tmp_path / "sheet.html"
    file.write_text(page(SHEET), encoding="utf-8")
    viewport(browser, width, 900, dark=dark)
    browser.get(file.as_uri())
    assert serious(browser) == []
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.execute_script("return document.querySelector('.r-bad td').checkVisibility()")
