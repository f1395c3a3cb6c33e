"""Names in a log with special characters of regular expressions are searched literally."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.readings.read_text import read_text
from tests.diagnosis.explained import explain
from tests.processor_time import at_most
from tests.tables import table_rows

_UNBALANCED = (
    *("", "a(b", "a[b", "a)b", "*a", "+", "a{2}{3}", "a\\", "(?P<x", "(?<=a+)", "[z-a]", "a**"),
    *("\\1", "(?i", "|", "^$"),
)
_MESSAGES = (
    "ModuleNotFoundError: No module named '{}'",
    "ModuleNotFoundError: No module named 'mmcv.{}'",
    "ImportError: cannot import name '{}' from 'mmcv'",
    "ImportError: cannot import name '_C' from '{}'",
    "ImportError: No module named {}",
    "NameError: name '{}' is not defined",
    "AttributeError: module '{}' has no attribute '{}'",
    "ImportError: /a/{}.so: undefined symbol: {}",
    "torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped: {}",
)


@pytest.mark.parametrize("message", _MESSAGES)
def test_a_name_with_special_characters_is_not_a_pattern(message: str, nothing: Knowledge) -> None:
    for name in _UNBALANCED:
        explain(f"import torch\n{message.replace('{}', name)}\n{name}.cpython-38-x86_64-linux-gnu.so", nothing)


def test_a_name_matches_itself_alone() -> None:
    """`a+` would match `aa` as a pattern: the file of another module shows nothing about this one's Python."""
    text = "No module named 'mmcv.{}'\nlib/mmcv/{}.cpython-38-x86_64-linux-gnu.so"
    (of_it,) = read_text(text.format("a+", "a+")).found
    assert of_it.values["for_python"] == "3.8"
    assert not read_text(text.format("a+", "aa")).found


@pytest.mark.parametrize(
    "record",
    [
        lambda message: {"level": "error", "stderr": f"{message}\n", "rc": 1},
        lambda message: {"log": json.dumps({"msg": f"first line\n{message}"}), "stream": "stderr"},
        lambda message: {"outputs": [{"traceback": ["\x1b[0;31mone\x1b[0m\n", f"\x1b[1m{message}\x1b[0m\n"]}]},
    ],
)
def test_a_message_in_json_is_read_as_it_was_printed(record: Callable[[str], object], nothing: Knowledge) -> None:
    """Logs of Docker, structured loggers and notebooks; written by Python's own encoder."""
    message = "src/\u6838/a_cuda.hip:33:20: error: no matching function for call to '__ldg' of \"p\""
    (subject,) = explain(json.dumps(record(message), indent=1), nothing)
    assert subject.location is not None
    assert (subject.location.file, subject.location.line) == ("src/\u6838/a_cuda.hip", 33)


def test_a_long_run_behind_a_calling_convention_is_read_once() -> None:
    """Found by the fuzzer: nested repetitions tried every division of a run of letters."""
    with at_most(1):
        read_text(f"a.obj : error LNK2019: unresolved external symbol __cdecl {'a' * 4_000} referenced\n" * 50)


@table_rows
def test_numbers_of_many_digits(message: str, nothing: Knowledge) -> None:
    """Python converts at most 4,300 digits, and raises ValueError beyond."""
    explain(message.replace("%s", "7" * 5_000), nothing)


def test_half_of_a_surrogate_pair_in_json_is_dropped() -> None:
    read = read_text('{"log": "undefined symbol: _ZN2at\\ud8005emptyEv", "x": "\\ud83d\\ude00"}')
    assert read.text.encode("utf-8")
    assert "\ufffd" in read.text
    assert "\U0001f600" in read.text
