"""Files that no loader accepts, missing modules, wheels for other environments."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from abiscan.diagnosis.knowledge import Environment, Knowledge
from abiscan.model.cause import CauseId
from abiscan.model.python_version import PythonVersion
from tests.diagnosis.explained import explain


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n" * 4, "invalid ELF header"),
        (b"\x7fELF", "file too short"),
        (b"\x7fELF\x01\x01\x01" + bytes(200), "wrong ELF class"),
    ],
)
def test_messages_of_the_loader_about_rejected_files(
    content: bytes, words: str, tmp_path: Path, nothing: Knowledge
) -> None:
    """Oracle: the message of this machine's loader."""
    file = tmp_path / "x.so"
    file.write_bytes(content)
    with pytest.raises(OSError, match=words) as refused:
        ctypes.CDLL(str(file))
    (subject,) = explain(str(refused.value), nothing)
    assert subject.text == "x.so"
    assert [cause.cause for cause in subject.causes] == [CauseId.UNUSABLE_FILE]
    assert words in subject.causes[0].evidence[0]


def test_a_python_that_is_known_decides_about_a_wheel() -> None:
    text = "ERROR: x-1.0-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform."
    other = explain(text, Knowledge(environment=Environment(PythonVersion(3, 12))))[0]
    same = explain(text, Knowledge(environment=Environment(PythonVersion(3, 10))))[0]
    assert [cause.cause for cause in other.causes] == [CauseId.PYTHON_ABI_MISMATCH, CauseId.UNUSABLE_FILE]
    assert [cause.cause for cause in same.causes] == [CauseId.UNUSABLE_FILE, CauseId.PYTHON_ABI_MISMATCH]
