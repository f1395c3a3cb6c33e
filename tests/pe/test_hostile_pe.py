"""PE files with wrong tables: rejected with one line, or read, in linear time."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_IMPORTS
from abiscan.pe.pe_file import read_pe
from tests.processor_time import at_most, is_at_most_times, seconds_of


def _image(content: bytes, directories: dict[int, tuple[int, int]]) -> bytes:
    """A PE32+ file with one section at RVA 0x1000 with this content, and these data directories."""
    optional = struct.pack(
        "<HBB5IQ2I6H4I2H4Q2I",
        *(0x20B, 14, 0, 0, 0, 0, 0, 0, 1 << 32, 4096, 512, 6, 0, 0, 0, 6, 0, 0),
        *(1 << 20, 512, 0, 2, 0, 0, 0, 0, 0, 0, 16),
    )
    table = b"".join(struct.pack("<II", *directories.get(number, (0, 0))) for number in range(16))
    size = -(-len(content) // 512) * 512
    section = struct.pack("<8sIIIIIIHHI", b".rdata", len(content), 4096, size, 512, 0, 0, 0, 0, 0x40000040)
    head = b"MZ" + bytes(58) + struct.pack("<I", 64)
    head += struct.pack("<4sHHIIIHH", b"PE\0\0", 0x8664, 1, 0, 0, 0, len(optional) + len(table), 0x2022)
    return (head + optional + table + section).ljust(512, b"\0") + content.ljust(size, b"\0")


def _imports(descriptors: list[tuple[int, int, int, int, int]], content: bytes) -> bytes:
    """The descriptors and a zero one at RVA 0x1000, followed by the content."""
    table = b"".join(struct.pack("<IIIII", *each) for each in (*descriptors, (0, 0, 0, 0, 0)))
    return _image(table + content, {1: (0x1000, len(table))})


def test_the_image_of_these_tests_is_read() -> None:
    start = 0x1000 + 40
    names = struct.pack("<QQ", start + 32, 0)
    data = _imports([(start, 0, 0, start + 16, start)], names + b"a.dll\0".ljust(16, b"\0") + b"\0\0name\0")
    assert [(each.library, each.name) for each in read_pe(data, "x.dll").imports] == [("a.dll", "name")]


def test_import_tables_that_overlap_are_refused_in_time() -> None:
    """Each of 4,000 descriptors has the same 500,000 entries: little more time than for one of them."""

    def refuse() -> None:
        with pytest.raises(UnreadableFile, match="more entries than the file has room for"):
            _imports_in_time(4000)

    assert is_at_most_times(3, lambda: seconds_of(refuse), lambda: _imports_in_time(1))


def _imports_in_time(count: int) -> float:
    """The seconds of CPU time for the imports of `count` descriptors with the same entries."""
    entries = 500_000
    start = 0x1000 + 20 * (count + 1)
    text = start + 8 * entries
    content = struct.pack("<Q", 1 << 63 | 7) * (entries - 1) + bytes(8) + b"a.dll\0"
    data = _imports([(start, 0, 0, text, start)] * count, content)
    return seconds_of(lambda: read_pe(data, "x.dll").imports)


def test_names_that_are_one_long_name_are_refused_in_time() -> None:
    entries, long = 100_000, 1 << 19
    start = 0x1000 + 40
    text = start + 8 * (entries + 1)
    content = struct.pack("<Q", text + 6) * entries + bytes(8) + b"a.dll\0\0\0" + b"x" * long + b"\0"
    data = _imports([(start, 0, 0, text, start)], content)
    with at_most(2), pytest.raises(UnreadableFile, match="names of more than"):
        _ = read_pe(data, "x.dll").imports


@pytest.mark.slow
def test_more_imports_than_are_read_are_refused() -> None:
    entries = MAX_IMPORTS + 1
    start = 0x1000 + 40
    content = struct.pack("<Q", 1 << 63 | 7) * entries + bytes(8) + b"a.dll\0"
    data = _imports([(start, 0, 0, start + 8 * entries + 8, start)], content)
    with pytest.raises(UnreadableFile, match="more entries"):
        _ = read_pe(data, "x.dll").imports


@pytest.mark.parametrize("count", [1 << 17, (1 << 32) - 1])
def test_an_export_table_with_a_huge_count_is_refused(count: int) -> None:
    table = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, 0, 1, count, count, 0x1028, 0x1028, 0x1028)
    with pytest.raises(UnreadableFile):
        list(read_pe(_image(table + bytes(64), {0: (0x1000, 104)}), "x.dll").export_table.rows())


def test_a_forwarder_that_leads_to_its_own_file_is_one_export() -> None:
    """The reader follows no forwarder, so no loop can block it."""
    name = b"x.a\0a\0"
    tables = 0x1000 + 40
    table = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, 0, 1, 1, 1, tables, tables + 4, tables + 8)
    content = table + struct.pack("<IIH", tables + 10, tables + 14, 0) + name
    (found,) = read_pe(_image(content, {0: (0x1000, len(content))}), "x.dll").export_table.rows()
    assert found.forwarder == "x.a"


def test_a_record_outside_of_the_file_is_none() -> None:
    entry = struct.pack("<IIHHIIII", 0, 0, 0, 0, 2, 64, 0, 1 << 30)
    assert read_pe(_image(entry, {6: (0x1000, 28)}), "x.dll").debug_id is None
    assert read_pe(_image(entry, {6: (0x9000, 28)}), "x.dll").debug_id is None


@pytest.mark.parametrize("length", range(0, 4608, 97))
def test_a_file_that_is_cut_off_is_refused(fixtures_dir: Path, length: int) -> None:
    data = (fixtures_dir / "windows" / "_C.cp311-win_amd64.pyd").read_bytes()
    with pytest.raises(UnreadableFile) as error:
        read_pe(data[:length], "x.pyd")
    assert "\n" not in str(error.value)


def test_a_program_for_dos_is_named() -> None:
    with pytest.raises(UnreadableFile, match="a program for DOS"):
        read_pe(b"MZ" + bytes(200), "x.exe")


def test_sections_that_overlap_are_refused(fixtures_dir: Path) -> None:
    data = bytearray((fixtures_dir / "windows" / "forwarders.dll").read_bytes())
    at = int.from_bytes(data[60:64], "little") + 264
    data[at + 52 : at + 56] = data[at + 12 : at + 16]
    with pytest.raises(UnreadableFile, match="sections overlap"):
        read_pe(bytes(data), "x.dll")
