"""Colours, hyperlinks and tables of a terminal. Oracles: the palette of xterm (its XtermColor.txt: a 6x6x6 cube and 24
greys), the contrast ratio of WCAG 2.2, the hyperlink sequence of OSC 8 as terminals document it."""

from __future__ import annotations

import re

import pytest

from abiscan.report import address, style
from abiscan.report.sheet import Sheet, markdown, text
from abiscan.report.style import Style, _visible_length
from abiscan.report.text_table import Row, Table, Tone


def luminance(number: int) -> float:
    if number >= 232:
        channels = [8 + 10 * (number - 232)] * 3
    else:
        steps = (0, 95, 135, 175, 215, 255)
        at = number - 16
        channels = [steps[at // 36], steps[at // 6 % 6], steps[at % 6]]
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", ["red", "green", "amber", "cyan", "grey"])
def test_colours_are_readable_on_black_and_on_white(name: str) -> None:
    own = luminance(int(style._CODES[name].rpartition(";")[2])) + 0.05
    assert min(1.05 / own, own / 0.05) >= 3.9


def test_ids_link_to_their_pages_if_the_project_has_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    color = Style(color=True)
    assert color.hyperlink("tensor-data", "rules/tensor-data.md") == "tensor-data"
    monkeypatch.setattr(address, "HOME", "https://project.example/abiscan")
    linked = color.hyperlink("tensor-data", "rules/tensor-data.md")
    url = "https://project.example/abiscan/blob/main/docs/rules/tensor-data.md"
    assert linked == f"\x1b]8;;{url}\x1b\\tensor-data\x1b]8;;\x1b\\"
    assert _visible_length(color.paint(linked, "red bold")) == len("tensor-data")
    assert Style(color=False).hyperlink("tensor-data", "rules/tensor-data.md") == "tensor-data"


TABLE = Table(
    ("name", "count", "note"), (Row(("a", "7", "x"), Tone.BAD), Row(("bb", "12", "y"))), total=Row(("all", "19", ""))
)


def test_numbers_are_aligned_to_the_right_and_the_total_is_last() -> None:
    """By hand: every column is as wide as its widest cell, and ends or begins at one place."""
    lines = text(Sheet("OK", "two", Tone.GOOD, (TABLE,)), Style(width=80)).splitlines()
    assert lines[1:] == ["  name  count  note", "  a         7  x", "  bb       12  y", "  all      19"]


def test_colours_do_not_move_columns() -> None:
    sheet = Sheet("OK", "two", Tone.GOOD, (TABLE,))
    colored = text(sheet, Style(width=80, color=True))
    bare = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", colored).splitlines()]
    assert bare == text(sheet, Style(width=80)).splitlines()


def test_markdown_has_the_total() -> None:
    assert markdown(Sheet("OK", "two", Tone.GOOD, (TABLE,))).splitlines()[-1].startswith("| <code>all</code> |")


def test_the_matrix_has_a_row_for_each_build_and_their_number() -> None:
    """The JSON report of the same file is the oracle."""
    from importlib import resources

    from abiscan.analysis.run import scan
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.loader import LoaderSettings
    from abiscan.report import text as text_report

    file = resources.files("tests").joinpath("fixtures/gcc-const-data-ptr.so")
    report = scan([str(file)], ScanOptions("2.9.0", None, LoaderSettings("/"), matrix=True))
    (artifact,) = report.artifacts
    lines = text_report.render(report, Style(width=100, verbose=2)).splitlines()
    table = lines[lines.index("  releases:") + 1 :]
    assert table[0].split() == ["build", "outcome", "missing", "reason"]
    builds = [(r.build, "loads" if r.fits else "fails") for r in artifact.releases or ()]
    assert [tuple(line.split()[:2]) for line in table[1 : len(builds) + 1]] == builds
    loading = sum(outcome == "loads" for _build, outcome in builds)
    assert table[len(builds) + 1].split() == [str(len(builds)), "builds", str(loading), "load"]
