"""Programs without Python: no command of pip, which cannot change their libtorch. Oracle: what maintainers advised
(LaurentMazare/tch-rs issue 880, ankane/torchaudio-ruby issue 4, bytedeco/javacpp-presets issue 1105, mlverse/torch
issues 866 and 1360)."""

from __future__ import annotations

import re
import time

import pytest

from abiscan.diagnosis.catalogue.load_packages import load_packages
from abiscan.diagnosis.catalogue.package_row import Program
from abiscan.library.api import explain
from tools import package_data

NEW = "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
ADDED = "_ZN3c104impl8GPUTrace13gpuTraceStateE"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (
            f"ruby: symbol lookup error: /h/gems/torch-rb-0.12/lib/torch/ext.so: undefined symbol: {NEW}",
            "gem install torch-rb",
        ),
        (
            f"java.lang.UnsatisfiedLinkError: /h/.javacpp/cache/a.jar/libjnitorch.so: undefined symbol: {ADDED}",
            "rm -rf ~/.javacpp/cache",
        ),
        (f"/h/.djl.ai/pytorch/1.11/libdjl_torch.so: undefined symbol: {ADDED}", "rm -rf ~/.djl.ai/pytorch"),
        (f"cargo run\ntarget/debug/app: symbol lookup error: target/debug/app: undefined symbol: {NEW}", "cargo clean"),
        (
            f"/w/build/app: symbol lookup error: /opt/libtorch/lib/libfoo.so: undefined symbol: {ADDED}",
            "cmake -S . -B build",
        ),
        (
            "/lib64/libstdc++.so.6: version `GLIBCXX_3.4.20' not found (required by /h/torch/lib/liblantern.so)",
            "BUILD_LANTERN=1",
        ),
    ],
)
def test_a_program_gets_another_libtorch(text: str, command: str) -> None:
    fix = explain(text)[0].causes[0].fix
    assert command in fix
    assert re.search(r"^(?:or: |Otherwise: )?(?:pip|python) ", fix, re.MULTILINE) is None


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
