"""Rows of programs without Python: their patterns are bounded and have a source. `data/answers.toml` has answers."""

from __future__ import annotations

import re
import time

import pytest

from abiscan.diagnosis.catalogue.load_packages import load_packages
from abiscan.diagnosis.catalogue.package_row import Program
from tools import package_data


def test_patterns_are_bounded_and_have_a_source() -> None:
    for program in package_data.catalogue().program:
        for pattern in (program.pattern, program.unless):
            assert re.search(r"[^\\][*+]", pattern) is None, pattern
        assert program.source.startswith("https://")
        assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", program.date)


@pytest.mark.parametrize("program", load_packages().program, ids=lambda program: program.id)
def test_a_program_takes_bounded_time(program: Program) -> None:
    """A backtracking pattern would take long on text like its matches."""
    for word in program.words:
        for text in (word * (40_000 // len(word)), f"{word}{'a' * 40_000}", f"{word} " * 8_000, f"/{word}" * 8_000):
            started = time.process_time()
            for pattern in filter(None, (program.pattern, program.unless)):
                re.search(pattern, text, re.ASCII)
            # The first search compiles the pattern.
            assert time.process_time() - started < 0.5, text[:40]
