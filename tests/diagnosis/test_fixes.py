"""Fixes: releases restricted to those on which a whole package loads, and the form of Windows' command line."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.fixes.torch_ranges import restrict_releases
from abiscan.diagnosis.fixes.windows_commands import for_windows
from abiscan.library.api import explain
from tests.tables import table_rows

KNOWN = ("2.1.0", "2.1.2", "2.2.0", "2.7.1", "2.13.0")
PACKAGE = frozenset(("2.1.0", "2.1.2", "2.2.0", "2.7.1"))
OWN = 'Rebuild it\nor: pip install "torch>=2.1.0,<=2.1.2"'


@pytest.mark.parametrize(
    ("fix", "widen", "expected"),
    [
        # pip's own reading of the ranges: PEP 440.
        (OWN, False, OWN),
        (OWN, True, 'Rebuild it\nor: pip install "torch>=2.1.0,<=2.7.1"'),
        ('pip install "torch>=2.2"', False, 'pip install "torch>=2.2.0,<=2.7.1"'),
        ('Rebuild it\nor: pip install "torch==2.13.0"', False, "Rebuild it"),
    ],
)
def test_a_range_becomes_that_of_the_package(fix: str, widen: bool, expected: str) -> None:
    assert restrict_releases(fix, KNOWN, PACKAGE.__contains__, widen=widen) == expected


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
