"""Instruction lengths, compared with objdump."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.elf.x86_instructions import LATER_MAP, instructions
from tests.programs import output_of
from tests.tables import data_text

FIXTURES = Path(__file__).parents[1] / "fixtures"
# One of each encoding: legacy prefixes, the maps 0F, 0F38 and 0F3A, VEX, EVEX, and every addressing mode.
ASSEMBLED = data_text(__file__, "x86_instructions.s")


def listed(path: Path) -> list[tuple[int, bytes, str]]:
    """(address, bytes, text) of each instruction in .text, by binutils; without data in it."""
    text = output_of(["objdump", "-d", "-w", "-z", "-j", ".text", path])
    rows = re.finditer(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(.*)$", text, re.MULTILINE)
    return [(int(row[1], 16), bytes.fromhex(row[2]), row[3]) for row in rows]


def compare(path: Path) -> int:
    rows = [row for row in listed(path) if "(bad)" not in row[2] and ".byte" not in row[2]]
    wrong = [
        row
        for row in rows
        if (found := next(instructions(row[1] + bytes(16)), None)) is None or found.end != len(row[1])
    ]
    assert not wrong
    return len(rows)


@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs binutils")
@pytest.mark.parametrize("name", ["good-extension.so", "drift/registers-torch-2.8.so", "clang-const-data-ptr.so"])
def test_lengths_are_those_of_objdump(name: str) -> None:
    assert compare(FIXTURES / name) > 50


@pytest.mark.skipif(shutil.which("as") is None or shutil.which("objdump") is None, reason="needs binutils")
def test_every_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.s").write_text(ASSEMBLED)
    subprocess.run(["as", "a.s", "-o", "a.o"], cwd=tmp_path, check=True)
    assert compare(tmp_path / "a.o") == len([line for line in ASSEMBLED.splitlines() if line.strip()])


def test_fields() -> None:
    """`mov %r9d, 0xc(%rsp)`, `lea 0x8(%rbp,%rcx,2), %rdx`, `movb $0x1, 0xa(%rsp)`, `je .+4`: by `as`."""
    store, lea, flag, jump = instructions(bytes.fromhex("44894c240c488d544d08c644240a017402"))
    assert (store.opcode, store.reg, store.base, store.displacement, store.size) == (0x89, 9, 4, 12, 4)
    assert (lea.reg, lea.base) == (2, -1)
    assert (flag.base, flag.displacement, flag.constant, flag.size) == (4, 10, 1, 1)
    assert jump.end + jump.displacement == len("44894c240c488d544d08c644240a017402") // 2 + 2
    (vector,) = instructions(bytes.fromhex("c4c17e6f4d28"))
    assert vector.opcode == LATER_MAP


@pytest.mark.parametrize("code", ["", "06", "48", "e80000", "c4", "62f1", "0f", "66" * 15, "8b84", "81042511223344"])
def test_what_is_cut_off_ends_it(code: str) -> None:
    assert list(instructions(bytes.fromhex(code))) == []
