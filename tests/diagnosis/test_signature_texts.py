"""Two long signatures, written by hand: both are printed with the part that differs."""

from __future__ import annotations

from abiscan.diagnosis.causes.signatures import _apart


def test_long_signatures_are_cut_before_they_differ() -> None:
    same = "ns::f(" + "at::Tensor const&, " * 20
    theirs, mine = _apart(f"{same}long)", f"{same}int)")
    assert theirs.startswith("ns::f(...")
    assert (theirs[-6:], mine[-5:]) == (" long)", " int)")
    assert max(len(theirs), len(mine)) <= 320
    assert _apart("f(int)", "f(long)") == ("f(int)", "f(long)")
    assert _apart("f(long, " + "x" * 300 + ")", "f(int)")[1] == "f(int)"
