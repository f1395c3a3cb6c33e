"""Growth of time with the length of a text: twice the text, at most 2.5 times the time, for any contents.

Processor time of this process, the minimum of several runs, so other load does not count. The texts would take
quadratic time with backtracking patterns, or with a copy of the rest for each place."""

from __future__ import annotations

import itertools
import tomllib
import zlib

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from tests.diagnosis.explained import explain
from tests.diagnosis.reported import DATA
from tests.processor_time import is_at_most, is_at_most_times, seconds_of
from tools.message_data import checked_rows

pytestmark = pytest.mark.slow

SIZE = 250_000
# Error of a measurement of so few milliseconds.
_NOISE = 0.06

SHAPES: dict[str, dict[str, str]] = tomllib.loads((DATA / "growth.toml").read_text(encoding="utf-8"))


def _text(shape: str, size: int) -> str:
    row = SHAPES[shape]
    units = [row[key] for key in ("unit", "then") if key in row]
    parts = (unit.replace("{i}", f"{number:06}") for unit in units for number in range(size // len(units) // len(unit)))
    return "".join((row.get("before", ""), *parts, row.get("after", "")))


def _seconds(text: str, knowledge: Knowledge) -> float:
    return seconds_of(explain, text, knowledge)


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_text_takes_twice_the_time(shape: str, nothing: Knowledge) -> None:
    once, twice = _text(shape, SIZE), _text(shape, 2 * SIZE)
    assert len(twice) > 1.9 * len(once)

    def is_linear() -> bool:
        taken = _seconds(twice, nothing)
        return is_at_most(taken, 5) and is_at_most(taken - 2.5 * _seconds(once, nothing), _NOISE)

    # One of three: other processes take time, too. The square of half a million is some minutes.
    assert any(is_linear() for _ in range(3))


def test_the_work_for_one_place_is_bounded(nothing: Knowledge) -> None:
    """Half of a megabyte around one message costs as much as the search for words."""
    message = "undefined symbol: _ZNK3c107SymBool10guard_boolEPKcl"
    alone = min(_seconds(message, nothing) for _ in range(3))
    inside = min(_seconds("x" * SIZE + " " + message + " " + "y" * SIZE, nothing) for _ in range(3))
    assert is_at_most(inside - alone, 0.5)


# A log without messages, as the measure of this machine.
_LINE = "[12/900] /usr/bin/nvcc -I/opt/torch/include -c /src/op.cu -o build/op.o -O3 -gencode=arch=compute_80\n"
# One of about a hundred rows.
_SAMPLE = [message.examples[0].text for message in checked_rows().message if zlib.crc32(message.id.encode()) % 100 == 0]


@pytest.mark.parametrize("separator", [" ", "; ", "\\n", "\n"])
def test_a_repeated_message_costs_little_more_than_a_log(separator: str, nothing: Knowledge) -> None:
    """A log as a string of JSON, or without ends of lines."""
    size = 100_000
    # Another text each time: what is known of a text is kept.
    numbers = itertools.count()

    def log_seconds() -> float:
        return _seconds(f"{next(numbers)}\n{_LINE * (size // len(_LINE))}", nothing)

    log = min(log_seconds() for _ in range(3))
    total = 0.0
    for example in _SAMPLE:
        text = separator.join([example] * (size // len(example)))[:size]

        def seconds(text: str = text) -> float:
            return _seconds(text[next(numbers) :], nothing)

        seconds()  # compiles patterns
        total += min(seconds() for _ in range(2))
        # Measured: 0.7 and 1.4 of the log.
        assert is_at_most_times(2.2, seconds, log_seconds), example
    assert total <= log * len(_SAMPLE)
