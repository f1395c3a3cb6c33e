"""Strings of read-only data, compared with a search in the file's bytes."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from abiscan import file_buffer
from abiscan.elf import open_elf
from abiscan.elf.image import Image
from abiscan.elf.sections import strings_with

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILE = FIXTURES / "drift" / "registers-torch-2.8.so"
PART = b" INTERNAL ASSERT FAILED at "


def found_in(data: bytes) -> list[bytes]:
    return list(strings_with(Image(data, "file.so"), PART))


def test_they_are_those_of_the_file() -> None:
    """Oracle: a regular expression over the whole file."""
    data = FILE.read_bytes()
    expected = re.findall(rb"[^\0]*" + re.escape(PART) + rb"[^\0]*(?=\0)", data)
    assert expected
    assert list(open_elf(FILE).strings_with(PART)) == expected


def test_without_section_headers_the_segments_are_searched() -> None:
    data = bytearray(FILE.read_bytes())
    expected = found_in(bytes(data))
    data[0x28:0x30] = bytes(8)  # e_shoff
    assert found_in(bytes(data)) == expected


def test_a_string_without_an_end_is_left_out() -> None:
    data = FILE.read_bytes()
    last = data.rindex(PART)
    assert len(found_in(data[: last + len(PART)])) == len(found_in(data)) - 1


def test_what_is_searched_and_taken_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = FILE.read_bytes()
    monkeypatch.setattr(file_buffer, "MAX_STRING", 16)
    assert found_in(data) == []
    monkeypatch.undo()
    monkeypatch.setattr(file_buffer, "MAX_STRING_DATA", 0)
    assert found_in(data) == []


@pytest.mark.parametrize("at", [*range(0x28, 0x30), *range(0x3A, 0x40)])
def test_damaged_section_headers_lead_nowhere_else(at: int) -> None:
    data = FILE.read_bytes()
    for value in (b"\0", b"\x7f", b"\xff"):
        assert all(each in data for each in found_in(data[:at] + value + data[at + 1 :]))


def test_a_gap_ends_the_search_of_its_section_behind_the_last_found() -> None:
    data = FILE.read_bytes()
    whole = found_in(data)
    # From the end of one to the end of the next one's mark.
    apart = [data.index(b) + b.index(PART) + len(PART) - data.index(a) - len(a) for a, b in itertools.pairwise(whole)]
    last = apart.index(max(apart)) + 1
    image = Image(data, "file.so")
    assert list(strings_with(image, PART, max(apart) - 1)) == whole[:last]
    assert list(strings_with(image, PART, max(apart))) == whole
