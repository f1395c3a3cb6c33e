"""Bounds on processor time."""

from __future__ import annotations

import time

import pytest

from tests import processor_time
from tests.processor_time import at_most, is_at_most, is_at_most_times, seconds_of, slowness


def _work_for(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_time, "slowness", lambda: 2.0)


def test_work_over_its_bound_raises() -> None:
    with pytest.raises(AssertionError), at_most(0.001):
        _work_for(0.1)
    with at_most(60):
        _work_for(0.1)


@pytest.mark.usefixtures("slow")
def test_a_slow_machine_has_more_time() -> None:
    with at_most(0.08):
        _work_for(0.1)
    message = r"^0\.1\d s of processor time, 0\.0\d s of a usual machine, more than 0\.04: 7 bytes$"
    with pytest.raises(AssertionError, match=message), at_most(0.04, "7 bytes"):
        _work_for(0.1)
    assert [is_at_most(seconds, 1) for seconds in (-3, 1, 1.9, 2.1)] == [True, True, True, False]


@pytest.mark.usefixtures("slow")
def test_work_that_raises_is_measured() -> None:
    def refuse() -> None:
        _work_for(0.1)
        raise OSError("refused")

    with pytest.raises(AssertionError) as caught, at_most(0.04):
        refuse()
    assert isinstance(caught.value.__context__, OSError)
    with pytest.raises(OSError, match="refused"), at_most(0.08):
        refuse()


def test_slowness_is_the_ratio_of_the_same_work_on_two_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """At least 1: a bound on a fast machine is not lower."""
    here = min(seconds_of(processor_time._work) for _ in range(5))
    monkeypatch.setattr(processor_time, "_USUAL_SECONDS", here / 10)
    assert 9 < slowness() < 100
    monkeypatch.setattr(processor_time, "_USUAL_SECONDS", here * 100)
    assert slowness() == 1


def test_one_pair_of_five_is_within_a_ratio() -> None:
    taken = [9.0, 9.0, 9.0, 9.0, 2.0]
    assert is_at_most_times(2, iter(taken).__next__, lambda: 1)
    assert not is_at_most_times(1.9, iter(taken).__next__, lambda: 1)
