"""The page of `env` where there is no torch, and where no package has a row."""

from __future__ import annotations

from msgspec.structs import replace

from abiscan.model.environment_report import EnvironmentReport
from abiscan.report import sheet
from abiscan.report.environment_sheet import sheet as page_of
from abiscan.report.style import Style

EMPTY = EnvironmentReport("1", "Python 3.11 at /v", None, None, (), (), 0)


def test_without_torch_it_is_said_once() -> None:
    assert "no torch: 0 of 0 packages" in page_of(EMPTY).headline
    assert "torch no torch" not in page_of(EMPTY).headline
    assert "no torch -> torch 2.11.0+cu130: " in page_of(replace(EMPTY, after="2.11.0+cu130")).headline


def test_a_table_without_rows_to_show_has_no_heads() -> None:
    table = sheet.Table(("package", "why"), (sheet.Row(("p 1.0", ""), sheet.Tone.PLAIN, minor=True),))
    shown = sheet.text(sheet.Sheet("LOADS", "all", sheet.Tone.GOOD, (table,)), Style())
    assert "package" not in shown
    assert "1 more with nothing to do" in shown
