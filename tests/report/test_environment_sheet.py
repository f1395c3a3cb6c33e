"""The page of `env` without torch, and without packages."""

from __future__ import annotations

from msgspec.structs import replace

from abiscan.model.environment_report import EnvironmentReport
from abiscan.report import sheet
from abiscan.report.environment_sheet import sheet as page_of
from abiscan.report.html.sheet_page import page
from abiscan.report.style import Style
from abiscan.report.text_table import Row, Table, Tone

EMPTY = EnvironmentReport("1", "Python 3.11 at /v", None, None, (), (), 0)


def test_a_missing_torch_is_reported_once() -> None:
    assert (
        "no torch is installed here: 0 packages with shared objects not checked against torch"
        in page_of(EMPTY).headline
    )
    assert page_of(EMPTY).word == "UNDECIDED"
    assert EMPTY.undecided
    assert "torch no torch" not in page_of(EMPTY).headline
    assert "no torch -> torch 2.11.0+cu130: " in page_of(replace(EMPTY, after="2.11.0+cu130")).headline


def test_a_table_without_rows_to_show_has_no_heads() -> None:
    table = Table(("package", "why"), (Row(("p 1.0", ""), Tone.PLAIN, minor=True),))
    shown = sheet.text(sheet.Sheet("LOADS", "all", Tone.GOOD, (table,)), Style())
    assert "package" not in shown
    assert "1 row needs no change (-v)" in shown


def test_a_bar_in_text_is_a_number_in_other_formats() -> None:
    quarter = sheet.Sheet("PLAN", "x", Tone.DOUBT, (), done=0.257)
    assert "  [#####---------------] 25 %" in sheet.text(quarter, Style()).splitlines()
    assert "**25 %** done" in sheet.markdown(quarter)
    assert '<progress max="100" value="25"' in page(quarter)
    nothing = sheet.Sheet("NO TORCH", "x", Tone.PLAIN, ())
    assert "%" not in sheet.text(nothing, Style()) + sheet.markdown(nothing)
    assert "<progress" not in page(nothing)


def test_packages_for_macos_resolve() -> None:
    """dyld is not predicted (docs/explanation/platforms.md)."""
    found = replace(EMPTY, torch="2.8.0", machine="macosx_arm64")
    assert page_of(found).word == "RESOLVES"
    assert page_of(replace(found, machine="x86_64")).word == "LOADS"
