"""Fixes in the form of Windows' command line."""

from __future__ import annotations

from abiscan.diagnosis.windows_commands import for_windows
from abiscan.library.api import explain
from tests.tables import table_rows


@table_rows
def test_cmd_has_no_comments_and_no_single_quotes(fix: str, shown: str) -> None:
    """https://learn.microsoft.com/windows-server/administration/windows-commands/cmd: only double quotes."""
    assert for_windows(fix) == shown


def test_a_fix_for_windows_has_no_comment_behind_a_command() -> None:
    text = (
        "ImportError: DLL load failed while importing onnxruntime_pybind11_state: The specified module could not be "
        "found.\nPyTorch version: 2.6.0+cu124\nOS: Microsoft Windows 11"
    )
    for cause in explain(text)[0].causes:
        assert not any(line.startswith("pip ") and "  # " in line for line in cause.fix.splitlines())
