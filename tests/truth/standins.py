"""Empty libraries that replace missing ones.

Most extensions of a corpus stop at libcudart.so.12 on a machine without CUDA, before their symbols are looked up. With
empty libraries on LD_LIBRARY_PATH, the loader continues and reports more."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.truth.oracle import Answer

# A library without soname and versions works under any file name.
_EMPTY = Path(__file__).resolve().parents[1] / "fixtures" / "empty-library.so"
_ABSENT = re.compile(r"([^/\s:]+): cannot open shared object file: No such file or directory")


def add(answers: Mapping[str, Answer], directory: Path) -> int:
    """Add a library to `directory` for each missing name in the results. Return the number of added ones."""
    names = {match[1] for answer in answers.values() if (match := _ABSENT.fullmatch(answer.text))}
    added = 0
    for name in names:
        if not (directory / name).exists():
            shutil.copy(_EMPTY, directory / name)
            added += 1
    return added
