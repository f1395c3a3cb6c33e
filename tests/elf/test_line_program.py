"""Line number programs: those of compilers compared with addr2line, others written by hand after DWARF 5, section
6.2."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.elf.line_program import DamagedLines, LineSections, find_lines
from abiscan.elf.source_lines import source_lines
from tests.elf.test_call_sites import needs
from tests.programs import output_of

SOURCE = Path(__file__).parents[1] / "fixtures" / "src" / "const_data_ptr.cpp"
COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_address_has_the_line_that_addr2line_gives_it(compiler: str, version: int, tmp_path: Path) -> None:
    needs("addr2line", "objdump")
    path = tmp_path / "x.so"
    flags = ["-g", f"-gdwarf-{version}", "-O2", "-std=c++17", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, SOURCE, "-o", path], check=True)
    code = output_of(["objdump", "-d", path])
    addresses = sorted({int(found, 16) for found in re.findall(r"^\s+([0-9a-f]+):\t", code, re.MULTILINE)})
    assert len(addresses) > 20
    said = output_of(["addr2line", "-e", path, *map(hex, addresses)]).splitlines()
    expected = {}
    for address, where in zip(addresses, said, strict=True):
        file, line = where.split(" (")[0].rsplit(":", 1)
        if line not in ("?", "0"):
            expected[address] = (Path(file).name, int(line))
    assert expected
    found = source_lines(open_elf(path), addresses)
    assert {a: (Path(file).name, line) for a, (file, line) in found.items() if line} == expected


UDATA, STRING = 0x0F, 0x08
DIRECTORIES = bytes([1, 1, STRING, 1]) + b"/src\0"
FILES = bytes([2, 1, STRING, 2, UDATA, 1]) + b"a.c\0" + bytes([0])
MANY = b"\xff" * 9 + b"\x01"
# Set the address 0x1000, copy; line + 1 and address + 1 (special opcode 13 + 14 + 6); end of the sequence at 0x1001.
PROGRAM = b"\0\x09\x02" + (0x1000).to_bytes(8, "little") + b"\x01" + bytes([33]) + b"\0\x01\x01"


def unit(tables: bytes, program: bytes = PROGRAM, version: int = 5, line_range: int = 14) -> bytes:
    """A unit with these tables; twelve standard opcodes, line_base -5."""
    operands = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    after = bytes([1, 1, 1, 0xFB, line_range, 13]) + operands + tables
    body = version.to_bytes(2, "little") + (bytes([8, 0]) if version == 5 else b"")
    body += len(after).to_bytes(4, "little") + after + program
    return len(body).to_bytes(4, "little") + body


def lines(data: bytes) -> dict[int, tuple[str, int]]:
    found: dict[int, tuple[str, int]] = {}
    find_lines(LineSections(data, b"", b"", "little"), 0, [0xFFF, 0x1000, 0x1001, 0x1002], found)
    return found


def test_a_row_holds_up_to_the_next_one() -> None:
    assert lines(unit(DIRECTORIES + FILES)) == {0x1000: ("?", 1)}  # file 1 of a list that starts at 0
    assert lines(unit(b"/src\0\0" + b"a.c\0\1\0\0" + b"\0", version=4)) == {0x1000: ("/src/a.c", 1)}


@pytest.mark.parametrize(
    "tables",
    [
        # 2**64 - 1 entries of zero bytes: a reader that counts them never ends.
        bytes([0]) + MANY + FILES,
        DIRECTORIES + bytes([0]) + MANY,
        bytes([1, 1, UDATA]) + MANY + FILES,
        bytes([1, 1, STRING, 1]) + b"no end",
        bytes([1, 1, 0x7F, 1]) + FILES,
    ],
)
def test_counts_that_no_bytes_stand_behind(tables: bytes) -> None:
    with pytest.raises(DamagedLines):
        lines(unit(tables, program=b""))


def test_an_address_beyond_all_ends_the_rows() -> None:
    """Set 0x1000 and copy, DW_LNS_advance_pc by 2**69, copy."""
    far = b"\x02" + b"\x80" * 9 + b"\x40" + b"\x01"
    assert lines(unit(DIRECTORIES + FILES, program=PROGRAM[:12] + far)) == dict.fromkeys(
        (0x1000, 0x1001, 0x1002), ("?", 1)
    )


@pytest.mark.parametrize(
    "data",
    [
        unit(DIRECTORIES + FILES)[:20],
        unit(DIRECTORIES + FILES, line_range=0),
        unit(DIRECTORIES + FILES, program=PROGRAM[:7]),
        unit(DIRECTORIES + FILES, program=b"\x02"),
        unit(DIRECTORIES + FILES, version=6),
        b"",
    ],
)
def test_what_ends_too_early_or_is_of_no_known_form(data: bytes) -> None:
    with pytest.raises(DamagedLines):
        lines(data)
