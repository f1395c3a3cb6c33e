"""Growth of time with the length of a text: twice the text, at most 2.5 times the time, for any contents.

Processor time of this process, the minimum of several runs, so other load does not count. The texts would take
quadratic time with backtracking patterns, or with a copy of the rest for each place."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from tests.diagnosis.explained import explain
from tools.message_data import checked_rows

pytestmark = pytest.mark.slow

SIZE = 250_000
# Error of a measurement of so few milliseconds.
_NOISE = 0.06

SHAPES: dict[str, Callable[[int], str]] = {
    "at signs": lambda n: "undefined symbol: " + "@" * n,
    "path-like": lambda n: "/a.so" * (n // 5) + ": undefined symbol: foo_bar",
    "paths with blanks": lambda n: "/a b.so:" * (n // 8) + ": cannot open shared object file",
    "backquotes": lambda n: "no matching function for call to " + "`" * n,
    "opened backquotes": lambda n: "undefined reference to " + "`a" * (n // 2),
    "apostrophes": lambda n: "undefined reference to " + "'\"" * (n // 2),
    "words": lambda n: "lorem ipsum dolor sit amet " * (n // 27),
    "lines of words": lambda n: "lorem ipsum dolor\n" * (n // 18),
    "messages in one line": lambda n: "undefined symbol lorem ipsum " * (n // 29),
    "names run together": lambda n: "_ZN3c10" * (n // 7),
    "names": lambda n: "_ZN3c105ErrorC2Ev " * (n // 18),
    "angle brackets": lambda n: "undefined reference to `" + "a::b<" * (n // 5) + "'",
    "parentheses": lambda n: "undefined symbol: a::f(" + "(" * n,
    "question marks": lambda n: "?a" * (n // 2),
    "versions of torch": lambda n: "torch 2.1 " * (n // 10),
    "lines of questions": lambda n: "the torch log of our program\n" + "?\n" * (n // 2),
    "soft ends of lines": lambda n: "_Zabcdef=\n" * (n // 10),
    "what torch was built with": lambda n: "PyTorch built with:\n" * (n // 20),
    "conda list": lambda n: "torch 1.1 a " * (n // 12),
    "archives": lambda n: "libtorch-shared-with-deps-1" * (n // 27),
    "prints of two": lambda n: "torch.__version__, torch.compiled_with_cxx11_abi())\n" * (n // 52),
    "strings of the new kind": lambda n: (
        "undefined reference to `f(" + "std::__cxx11::basic_string<char" * (n // 31) + "'"
    ),
    "percent signs": lambda n: "%20a" * (n // 4),
    "escapes without an end": lambda n: "\x1b]" * (n // 2),
    "line ends": lambda n: "\n" * n,
    "a broken word": lambda n: "undefi\n" * (n // 7),
    "not defined": lambda n: "x is not defined " * (n // 17),
    "names that are not defined": lambda n: "".join(f"x{i:06} is not defined\n" for i in range(n // 23)),
    "a link that fails": lambda n: "".join(f"a.o: undefined reference to `at::f{i:06}(int)'\n" for i in range(n // 46)),
    "skipped calls": lambda n: "".join(f"{i:06} marked as skipped\n" for i in range(n // 25)),
    "versions": lambda n: "version `" * (n // 9),
    "blanks": lambda n: "undefined symbol:" + " " * n,
    "HTML": lambda n: "&#39;" * (n // 5),
    "slashes": lambda n: "/" * n,
    "one long word": lambda n: "undefined symbol: " + "a" * n,
    "a name of digits": lambda n: "undefined symbol: _ZN6my_ext4load" + "0" * n,
    "one long C++ name": lambda n: "undefined symbol: _ZN" + "1a" * (n // 2),
    "Chinese words": lambda n: "\u672a\u5b9a\u4e49" * (n // 3),
    "shifts": lambda n: "undefined reference to `a" + "<<<<" * (n // 4) + "'",
    "URL-encoded": lambda n: "undefined%20symbol%3A%20_ZN3c10%0A" * (n // 34),
    "quoted DLLs": lambda n: "[WinError 126] " + "'\"" * (n // 2),
    "versions of torchvision": lambda n: ("torchvision" + " " * 79) * (n // 90),
    "a template of MSVC": lambda n: "unresolved external symbol ??$a@" + ("V" + "a@" * 8 + "@") * (n // 18),
    "missing operators": lambda n: "".join(f"operator a::b{i:06} does not exist\n" for i in range(n // 35)),
    "headers": lambda n: "TH/a" * (n // 4),
    "modules": lambda n: "No module named '" * (n // 17),
    "wheels": lambda n: ("a" * 200 + ".whl is not a supported wheel on this platform ") * (n // 250),
    "device functions": lambda n: "".join(f"rror{i:06}: invalid device function\n" for i in range(n // 35)),
    "operators without a kernel": lambda n: "Could not run 'a::b' with '" * (n // 27),
    "names without their beginning": lambda n: "N2at" * (n // 4),
    "files that no loader takes": lambda n: "/a.so" * (n // 5) + ": invalid ELF header",
    "prompts": lambda n: "".join(f">>> import a\na.so: undefined symbol: _ZN2at7f{i:06}Ev\n" for i in range(n // 53)),
    "libraries alone": lambda n: "Error: liba.so: " * (n // 16),
    "musl's libraries": lambda n: "Error loading shared library a: " * (n // 32),
    "headers of torch": lambda n: "fatal error: ATen/a" * (n // 19),
    "members": lambda n: "".join(f"'f{i:06}' is not a member of 'at'\n" for i in range(n // 32)),
    "members in one line": lambda n: "'class at::A' has no member named '" * (n // 35),
    "versions in tables": lambda n: "torch" + " | " * (n // 3),
    "versions in forms": lambda n: "torch version (" * (n // 15),
    "emphasis": lambda n: "*ZN" * (n // 3),
    "import libraries": lambda n: "LNK1104 cannot open file '" * (n // 26),
    "modules of torch": lambda n: "module 'torch.a" * (n // 15),
    "operators without a fake": lambda n: "a::b no fake impl " * (n // 18),
    "words of programs": lambda n: "undefined " + "aB_" * (n // 3),
    "names that objects refer to": lambda n: '"a", referenced from:' * (n // 21),
    "ignored files": lambda n: "ignoring file a but attempting to link with file built for b " * (n // 60),
    "objects": lambda n: "a.o: " * (n // 5) + "recompile with -fPIC",
    "16-bit types": lambda n: "matches these operands\n" * (n // 23) + "__half",
    "musl's names": lambda n: "Error relocating a: __b: symbol not found\n" * (n // 41),
    "flags": lambda n: "error: unknown argument: '-" * (n // 27),
    "illegal instructions": lambda n: "Illegal instruction from /a.so" * (n // 30),
    "declarations of MSVC": lambda n: "lld-link: undefined symbol: __cdecl " + "a::" * (n // 3) + "(",
    "releases of CUDA": lambda n: "torch.version.cuda\n11.1 torch 1 cu11" * (n // 36),
    "members of std": lambda n: "'optional' is not a member of 'std' torch\n" * (n // 42),
    "strings of JSON": lambda n: '{"a": "' * (n // 14) + "\\n" * (n // 4),
    "escapes of JSON": lambda n: '"' + '\\"a": "' * (n // 8),
    "a list of JSON": lambda n: '["a\\n"\n' * (n // 8),
    "commands of a build": lambda n: "".join(
        f"[{i:06}] nvcc -I/usr/local/cuda/include -Ibuild/temp -I/x/torch/include -c k.cu -o build/k{i:06}.o -fPIC\n"
        for i in range(n // 106)
    ),
    "lines of pip": lambda n: "".join(
        f"Requirement already satisfied: torch<3,>=2.{i:06} in /v/site-packages (from xformers) (2.4.1)\n"
        for i in range(n // 91)
    ),
    "dlopen": lambda n: "dlopen(" * (n // 7) + " Symbol not found: _f",
}


def _seconds(text: str, knowledge: Knowledge) -> float:
    started = time.process_time()
    explain(text, knowledge)
    return time.process_time() - started


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_text_takes_twice_the_time(shape: str, nothing: Knowledge) -> None:
    once, twice = SHAPES[shape](SIZE), SHAPES[shape](2 * SIZE)
    assert len(twice) > 1.9 * len(once)
    # One of three: other processes take time, too. The square of half a million is some minutes.
    assert any(_seconds(twice, nothing) <= min(5, 2.5 * _seconds(once, nothing) + _NOISE) for _ in range(3))


def test_the_work_for_one_place_is_bounded(nothing: Knowledge) -> None:
    """Half of a megabyte around one message costs as much as the search for words."""
    message = "undefined symbol: _ZNK3c107SymBool10guard_boolEPKcl"
    alone = min(_seconds(message, nothing) for _ in range(3))
    inside = min(_seconds("x" * SIZE + " " + message + " " + "y" * SIZE, nothing) for _ in range(3))
    assert inside <= alone + 0.5


# A log without messages, as the measure of this machine.
_LINE = "[12/900] /usr/bin/nvcc -I/opt/torch/include -c /src/op.cu -o build/op.o -O3 -gencode=arch=compute_80\n"
# One of about a hundred rows.
_SAMPLE = [message.examples[0].text for message in checked_rows().message if zlib.crc32(message.id.encode()) % 100 == 0]


@pytest.mark.parametrize("separator", [" ", "; ", "\\n", "\n"])
def test_a_repeated_message_costs_little_more_than_a_log(separator: str, nothing: Knowledge) -> None:
    """A log as a string of JSON, or without ends of lines."""
    size = 100_000
    log = min(_seconds(f"{number}\n{_LINE * (size // len(_LINE))}", nothing) for number in range(3))
    texts = ((separator.join([each] * (size // len(each)))[:size]) for each in _SAMPLE)
    # The second time: patterns are compiled.
    taken = [min(_seconds(text[number:], nothing) for number in range(2)) for text in texts]
    # Measured: 0.7 and 1.4 of the log.
    assert sum(taken) <= log * len(taken), (log, taken)
    assert max(taken) <= 2.2 * log, (log, taken)
