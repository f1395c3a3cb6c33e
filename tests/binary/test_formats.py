"""The interface between formats: a file is read by the row of the table with its magic, and by no other."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import pytest

from abiscan.binary import FORMATS, PEEK_SIZE, BinaryFormat, formats, looks_like_binary, open_binary, peek, read_binary
from abiscan.errors import UnreadableFile
from abiscan.model.facts import BinaryKind

MAGIC = b"\xfe\0a made-up format"


@pytest.fixture
def second_format(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, str]]:
    """A second row, whose reader records its arguments."""
    given: list[tuple[bytes, str]] = []

    def read(buffer: bytes | mmap.mmap, display: str) -> Any:
        given.append((bytes(buffer[:]), display))

    row = BinaryFormat(MAGIC, 16, lambda head: BinaryKind.OBJECT, read)
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, row))
    return given


def test_a_file_goes_to_the_format_of_its_magic(
    second_format: list[tuple[bytes, str]], tmp_path: Path, fixtures_dir: Path
) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(MAGIC + b" and more")
    open_binary(path)
    read_binary(MAGIC, "archive.whl!x.so")
    assert second_format == [(MAGIC + b" and more", str(path)), (MAGIC, "archive.whl!x.so")]
    assert peek(MAGIC) is BinaryKind.OBJECT
    assert open_binary(fixtures_dir / "stable-abi.so").machine == "x86_64"
    assert len(second_format) == 2


def test_a_file_in_no_known_format_is_described(tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(MAGIC)
    with pytest.raises(UnreadableFile, match="not an ELF file: it starts with the bytes fe 00 61 20"):
        open_binary(path)
    with pytest.raises(UnreadableFile, match="empty file"):
        read_binary(b"", "x.so")
    with pytest.raises(FileNotFoundError):
        open_binary(tmp_path / "absent.so")
    assert peek(MAGIC) is None
    assert not looks_like_binary(MAGIC)


def test_the_first_bytes_tell_shared_objects_from_others(fixtures_dir: Path) -> None:
    head = (fixtures_dir / "stable-abi.so").read_bytes()[:PEEK_SIZE]
    assert peek(head) is BinaryKind.SHARED_OBJECT
    assert looks_like_binary(head[:4])
