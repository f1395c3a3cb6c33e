"""Damaged files give `UnreadableFile` or facts, quickly; never another exception."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abiscan.elf import ElfFile, open_elf, read_elf
from abiscan.elf.hash_table import GnuHashTable
from abiscan.errors import UnreadableFile
from tests.processor_time import at_most

SMALL = (Path(__file__).parents[1] / "fixtures" / "stable-abi.so").read_bytes()


def read_everything(data: bytes) -> None:
    elf = read_elf(data, "damaged.so")
    facts = elf.facts()
    for found in facts.imports[:50]:
        elf.exports_name(found.name)
    for _export, _ in zip(elf.exports(), range(5000), strict=False):
        pass
    elf.names_with_prefix("_ZN")


def attempt(data: bytes) -> None:
    refusal = None
    try:
        read_everything(data)
    except UnreadableFile as error:
        refusal = str(error)
    assert refusal is None or (refusal.startswith("damaged.so: ") and "\n" not in refusal)


@given(st.integers(0, len(SMALL)))
@settings(max_examples=150, deadline=2000)
def test_any_truncation(length: int) -> None:
    attempt(SMALL[:length])


@given(st.lists(st.tuples(st.integers(0, 1500), st.binary(min_size=1, max_size=8)), min_size=1, max_size=6))
@settings(max_examples=300, deadline=2000)
def test_damage_in_the_headers_and_tables(damage: list[tuple[int, bytes]]) -> None:
    data = bytearray(SMALL)
    for at, new in damage:
        data[at : at + len(new)] = new
    attempt(bytes(data))


@given(st.data())
@settings(max_examples=300, deadline=2000)
def test_damage_in_the_dynamic_section(data: st.DataObject) -> None:
    elf = ElfFile(SMALL, "whole")
    segment = next(s for s in elf.image.segments if s.type == 2)
    damaged = bytearray(SMALL)
    for _ in range(data.draw(st.integers(1, 4))):
        at = segment.offset + data.draw(st.integers(0, segment.file_size - 8))
        damaged[at : at + 8] = data.draw(st.binary(min_size=8, max_size=8))
    attempt(bytes(damaged))


@given(st.binary(max_size=600))
@settings(max_examples=200)
def test_any_bytes_behind_the_magic(tail: bytes) -> None:
    attempt(b"\x7fELF\x02\x01\x01" + tail)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"", "empty file"),
        (b"\x7fE", "truncated ELF file"),
        (b"!<arch>\nfoo.o/", "static library"),
        (b"/* GNU ld script */\nINPUT(libfoo.so.1)\n", "linker script"),
        (b"hello world\n", "it is text"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        # deb(5); LSB, "RPM Package File Format".
        (b"!<arch>\ndebian-binary   1700000000  0     0     100644  4         `\n2.0\n", "a Debian package"),
        (b"\xed\xab\xee\xdb\x03\x00", "an RPM package"),
        (b"\0" * 64, "zero bytes"),
        (b"\x01\x02\x03\x04\0", "01 02 03 04"),
    ],
)
def test_other_files_are_described(head: bytes, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        read_elf(head, "x.so")


def test_a_file_without_permission_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the error is raised here."""

    def refuse(*_arguments: object, **_keywords: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UnreadableFile, match=r"secret\.so: cannot be opened: permission denied"):
        open_elf("secret.so")


def test_special_files_are_refused_without_blocking(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.so"
    os.mkfifo(fifo)
    with pytest.raises(UnreadableFile, match="named pipe"):
        open_elf(fifo)
    with pytest.raises(UnreadableFile, match="directory"):
        open_elf(tmp_path)
    with pytest.raises(UnreadableFile, match="character device"):
        open_elf("/dev/null")
    with pytest.raises(FileNotFoundError):
        open_elf(tmp_path / "nothing.so")


def test_endless_hash_chains_are_given_up() -> None:
    """A table of 16 MiB with an endless chain: a thousand lookups must not walk it a thousand times."""
    path = Path(__file__).parent.parent / "fixtures" / "gcc-const-data-ptr.so"
    elf = ElfFile(path.read_bytes(), "whole")
    table = elf.symbols.hash_table
    assert isinstance(table, GnuHashTable)
    words, _shift, buckets = table.parameters
    chains, symoffset = table._chains, table._symoffset
    data = bytearray(path.read_bytes())
    head = chains - 4 * buckets - 8 * words
    data[head : head + 8 * words] = b"\xff" * (8 * words)  # the filter accepts every name
    for bucket in range(buckets):
        at = chains - 4 * buckets + 4 * bucket
        data[at : at + 4] = symoffset.to_bytes(4, "little")
    # No chain ends: no word has its lowest bit set.
    data = data[:chains] + bytes(b & 0xFE for b in data[chains:]) + bytes(16 << 20)

    def look_up() -> None:
        damaged = read_elf(bytes(data), "damaged.so")
        for number in range(1000):
            damaged.exports_name(f"name_{number}")

    with at_most(30), pytest.raises(UnreadableFile, match=r"corrupt|truncated"):
        look_up()
