"""The zip reader against Python's zipfile."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abiscan.inputs.artifact import Limits
from abiscan.inputs.byte_source import FileBytes, MemoryBytes
from abiscan.inputs.zips import members
from tests.corpus.fetch import corpus_dir

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40)


def compare(ours: object, theirs: list[zipfile.ZipInfo]) -> None:
    assert ours == [
        (i.orig_filename, i.compress_type, i.compress_size, i.file_size, i.CRC, i.header_offset) for i in theirs
    ]


def listed(source: FileBytes | MemoryBytes) -> list[tuple[str, int, int, int, int, int]]:
    return [(m.name, m.method, m.packed, m.size, m.crc, m.offset) for m in members(source, "x", Limits())]


@given(
    st.dictionaries(NAMES, st.binary(max_size=300), max_size=12),
    # zipfile takes such a comment for the end record; test_archives.py has it.
    st.binary(max_size=50).filter(lambda comment: b"PK\x05\x06" not in comment),
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]),
    st.booleans(),
)
def test_any_archive_that_zipfile_writes(content: dict[str, bytes], comment: bytes, method: int, zip64: bool) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.comment = comment
        for name, data in content.items():
            with archive.open(name, "w", force_zip64=zip64) as file:
                file.write(data)
    compare(listed(MemoryBytes(buffer.getvalue())), zipfile.ZipFile(buffer).infolist())


@pytest.mark.corpus
@pytest.mark.parametrize("path", sorted(corpus_dir().glob("*.whl")), ids=lambda p: p.name)
def test_every_wheel_of_the_corpus(path: Path) -> None:
    compare(listed(FileBytes(str(path), "x")), zipfile.ZipFile(path).infolist())
