"""Large and hostile sources: memory and time stay bounded, or one line says that the file is too large."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from abiscan.errors import UnreadableFile
from abiscan.rules import load_rules
from abiscan.source import SourceRules, match, match_source
from abiscan.source.code import Code, WordIndex
from abiscan.source.lexer import tokens
from tests.processor_time import at_most

RULES = SourceRules(load_rules())
_FLAGGED = "#include <torch/extension.h>\ntorch::Tensor t; auto q = t.data<float>();\n"
# Peak of the whole process, in KiB; with tokens as objects, parentheses took 247 MiB, a number of 1 MiB took 464.
_MOST_MEMORY = 80 << 10


@pytest.mark.parametrize("unit", ["(", "1", "//\\a"])
def test_memory_of_a_large_file(unit: str, tmp_path: Path) -> None:
    """1 MiB with the most tokens, or the longest ones."""
    source = tmp_path / "a.cpp"
    source.write_text(_FLAGGED + unit * ((1 << 20) // len(unit)))
    code = (
        "import re, sys\nfrom abiscan.source import check_source\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "assert check_source('a.cpp', data, 'a.cpp')\n"
        # proc_pid_status(5): ru_maxrss includes the parent's.
        "print(re.search(r'VmHWM:\\s*(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, source], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert int(done.stdout) < _MOST_MEMORY


def test_a_file_beyond_the_limits_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abiscan.source.lexer.MAX_SOURCE_TOKENS", 30)
    with pytest.raises(UnreadableFile, match=r"^a\.cpp: more than 30 tokens: too large"):
        match_source(_FLAGGED + "( " * 40, "a.cpp", RULES)
    monkeypatch.undo()
    many = "".join(f"AT_DISPATCH_ALL_TYPES(t{n}.type(), [] {{}});\n" for n in range(9))
    monkeypatch.setattr(match, "MAX_SOURCE_PLACES", 8)
    with pytest.raises(UnreadableFile, match="more than 8 places"):
        match_source(many, "a.cpp", RULES)
    monkeypatch.undo()
    monkeypatch.setattr(match, "MAX_SOURCE_FINDINGS", 3)
    with pytest.raises(UnreadableFile, match="more than 3 findings"):
        match_source("".join(f"t.const_data_ptr<T{n}>();\n" for n in range(9)), "a.cpp", RULES)


@pytest.mark.parametrize(
    "unit", ["auto x = [&](auto y) { return t.data<float>(); };\n", ".data<float>()", "auto a = a; a.data<float>();\n"]
)
def test_steps_beyond_those_of_the_size_are_one_line(unit: str) -> None:
    """600 KB with the most lookups: one line, soon."""
    too_many = "too many steps: too large to be read as a source"
    with at_most(2), pytest.raises(UnreadableFile, match=too_many):  # 0.7 s on an idle machine
        match_source(_FLAGGED + unit * (600_000 // len(unit)), "a.cpp", RULES)


def test_tokens_are_those_of_the_text() -> None:
    found = tokens('a->b::c <é> L"x y" 0x1p-3f .5\n#include <x/y.h>\n', strings=True)
    assert [token.text for token in found] == [
        *("a", "->", "b", "::", "c", "<", "é", ">", 'L"x y"', "0x1p-3f", ".5", "x/y.h")
    ]
    assert [found[at].kind for at in (0, 1, 6, 8, 9, -1)] == ["name", "mark", "mark", "string", "number", "include"]
    assert [token.text for token in found[2:5]] == ["b", "::", "c"]
    assert [found.index_at(token.at) for token in found] == list(range(len(found)))
    assert found.index_at(2) is None


def test_words_are_found_by_their_index() -> None:
    words = [f"w{number % 700}" for number in range(5_000)]
    index = WordIndex((word, number) for number, word in enumerate(words))
    for word in ("w0", "w699", "absent"):
        assert [number for number in index.candidates(word) if words[number] == word] == [
            number for number, each in enumerate(words) if each == word
        ]


def test_the_last_kept_definition_of_a_macro_counts() -> None:
    code = Code("a.cu", "#define A 1\n#define A 2\n#ifdef __CUDA_ARCH__\n#define A 3\n#define B(x) x 4\n#endif\n")
    macro = code.macro("A")
    assert macro is not None
    assert [token.text for token in macro.body] == ["2"]
    other = code.macro("B")
    assert other is not None
    assert (other.parameters, [token.text for token in other.body]) == (("x",), ["x", "4"])
    assert code.macro("C") is None
