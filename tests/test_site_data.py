"""The data of the site's searching pages (`tools/site_messages.py`, `tools/site_symbols.py`), without a browser."""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from abiscan.releases import open_index
from tools import site_symbols
from tools.site_messages import NotInJavaScriptError, data, javascript


@pytest.mark.parametrize(
    ("python", "wanted"),
    [
        (r"(?P<name>\w{1,8})\Z", r"(?<name>\w{1,8})$"),
        (r"\Aa.b", r"^a[^\n]b"),
        (r"[^\s'.]+\s\S", "[^ \\t\\n\\r\\f\\v'.]+[ \\t\\n\\r\\f\\v][^ \\t\\n\\r\\f\\v]"),
        (r"(?i:dll|p[a-c])x", r"(?:[dD][lL][lL]|[pP][a-cA-C])x"),
        (r"(?s)\A.", r"^[\s\S]"),
        (r"(?s:.{0,4}).", r"(?:[\s\S]{0,4})[^\n]"),
        (r"[][)(]\(?", r"[\][)(]\(?"),
        ("end$", r"end(?=\n?$)"),
    ],
)
def test_a_pattern_in_javascript(python: str, wanted: str) -> None:
    """By ECMA-262, 22.2: `.` excludes four line ends, `\\s` has every space of Unicode, and there is no `\\Z`."""
    assert javascript(python) == wanted


@pytest.mark.parametrize("pattern", ["a++", "(?>a)", "(?P<x>a)(?P=x)", "a{,3}", "(?x: a)", "(?m)^a", r"[\Sa]"])
def test_a_pattern_that_javascript_reads_otherwise_is_refused(pattern: str) -> None:
    with pytest.raises(NotInJavaScriptError):
        javascript(pattern)


def test_every_pattern_of_the_catalogue_has_a_translation() -> None:
    assert len(data()["rows"]) > 200


def part(folder: Path, name: str) -> Any:
    return json.loads(zlib.decompress((folder / name).read_bytes()))


@pytest.mark.slow(seconds=40)
def test_every_symbol_is_in_a_part_of_at_most_200_kilobytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracle: the release index, symbol by symbol."""
    opened = open_index(earlier=True)
    monkeypatch.setattr(site_symbols, "open_index", lambda earlier: opened)
    site_symbols.write(tmp_path)
    assert max(file.stat().st_size for file in tmp_path.iterdir()) <= 200_000
    about = json.loads((tmp_path / "index.json").read_text())
    found = {}
    for number, first in enumerate(about["names"]):
        chunk = part(tmp_path, f"names-{number}.bin")
        assert chunk["rows"][0][0] == first
        for _key, mangled, _text, history in chunk["rows"]:
            found[mangled] = (number, chunk["histories"][history][0])
    every = opened.prefix("", "x86_64", limit=sys.maxsize)
    # Thousands of symbols have one history.
    texts = {key: history.exported_in.text() for key, history in {id(each): each for each in every.values()}.items()}
    index = {name: texts[id(history)] for name, history in every.items()}
    assert {mangled: releases for mangled, (_number, releases) in found.items()} == index
    listed = [row for number in range(len(about["mangled"])) for row in part(tmp_path, f"mangled-{number}.bin")["rows"]]
    assert listed == sorted([mangled, number] for mangled, (number, _releases) in found.items())
    assert list(about["names"]) == sorted(about["names"])
