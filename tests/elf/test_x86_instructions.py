"""Instruction lengths, compared with objdump."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.elf.x86_instructions import LATER_MAP, instructions
from tests.programs import output_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
# One of each encoding: legacy prefixes, the maps 0F, 0F38 and 0F3A, VEX, EVEX, and every addressing mode.
ASSEMBLED = """
    endbr64
    bnd jmp 1f
    lock cmpxchg %rcx, 8(%rdi)
    rep movsb
    movabs $0x1122334455667788, %r11
    movabs 0x1122334455667788, %eax
    movw $0x1234, 0x12(%rsp)
    movq $-1, -8(%rbp,%rax,4)
    testb $1, (%rdi)
    testw $1, %r9w
    negl %ecx
    notb (%rcx)
    imul $300, %r8, %rax
    imul $3, %eax, %eax
    enter $16, $1
    ret $8
    push $0x1000
    shld $3, %eax, %ecx
    cmpltsd %xmm1, %xmm2
    pshufb %xmm1, %xmm2
    palignr $4, %xmm1, %xmm9
    crc32l (%rsi), %ecx
    vzeroupper
    vmovdqu 0x28(%r13), %ymm1
    vpshufd $1, %ymm1, %ymm2
    vpermilps $4, %ymm1, %ymm9
    shlx %rcx, %rdx, %rax
    rorx $3, %rdx, %r9
    vpaddd 64(%rax), %zmm1, %zmm30
    vpternlogd $0x96, %zmm1, %zmm2, %zmm3
    movl 0x11223344, %ecx
    movl foo(%rip), %ecx
1:  jrcxz 1b
    nopw 0x0(%rax,%rax,1)
foo: ud2
"""


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
