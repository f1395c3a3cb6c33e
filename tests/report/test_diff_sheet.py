"""The headline of `diff` after read errors."""

from __future__ import annotations

from abiscan.model.compatibility import Aspect, Compared, Compatibility
from abiscan.model.diff_report import Change, DiffReport, Effect
from abiscan.report.diff_sheet import sheet

SIDE = Compared("a.whl", None, None, 1, Compatibility((), None, None, None, ()))


def test_read_and_unread_files_are_counted() -> None:
    none = DiffReport("1", SIDE, SIDE, (), {}, ("a.whl!x.so: undecided",))
    assert sheet(none).headline == "a.whl -> a.whl: not everything was compared; no change found"
    one = DiffReport("1", SIDE, SIDE, (Change(Aspect.FILE, Effect.GAINED, "brings y.so"),), {}, ("undecided",))
    assert sheet(one).headline.endswith("; 1 change found")
