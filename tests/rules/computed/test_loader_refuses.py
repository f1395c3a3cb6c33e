"""What to do about a file that the loader refuses: ld.so(8) never looks beside a file that has no run path."""

from __future__ import annotations

import pytest

from abiscan.model.loading import LoaderOutcome, LoaderPrediction, LoaderStop, StopKind
from abiscan.rules import rule
from abiscan.rules.computed.loader_refuses import find_refusal


@pytest.mark.parametrize(("beside", "lies_there"), [(("liba.so",), True), (("libb.so",), False), ((), False)])
def test_a_library_that_lies_beside_the_file_is_not_to_be_installed(beside: tuple[str, ...], lies_there: bool) -> None:
    stop = LoaderStop(StopKind.LIBRARY_NOT_FOUND, "liba.so")
    prediction = LoaderPrediction(LoaderOutcome.FAILS, stop)
    (finding,) = find_refusal(
        rule("loader-refuses"), prediction, ("liba.so",), "m", path="/x/m.so", alone=True, beside=beside
    )
    assert "liba.so" in finding.message
    assert ("liba.so lies beside the file" in finding.fix) is lies_there
    assert ("$ORIGIN" in finding.fix) is lies_there
    assert ("install what the loader looks for" in finding.fix) is not lies_there
