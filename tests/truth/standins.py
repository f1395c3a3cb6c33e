"""Empty libraries in the place of those that a machine lacks.

Most extensions of a corpus stop at libcudart.so.12 on a machine without CUDA, and the loader never comes to their
symbols. With an empty library of every absent name on LD_LIBRARY_PATH it does, and has far more to say.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.truth.oracle import Answer

# A library without a soname and without versions: it serves under any file name.
_EMPTY = Path(__file__).resolve().parents[1] / "fixtures" / "empty-library.so"
_ABSENT = re.compile(r"([^/\s:]+): cannot open shared object file: No such file or directory")


def add(answers: Mapping[str, Answer], directory: Path) -> int:
    """Put a library into `directory` for each name that the answers call absent; how many were added."""
    names = {match[1] for answer in answers.values() if (match := _ABSENT.fullmatch(answer.text))}
    added = 0
    for name in names:
        if not (directory / name).exists():
            shutil.copy(_EMPTY, directory / name)
            added += 1
    return added
