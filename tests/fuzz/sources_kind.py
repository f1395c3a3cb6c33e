"""Mutated C++, CUDA, HIP and Python sources: real ones with hostile constructs spliced in, some of them large."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.mutate import mutate_text
from tests.processor_time import at_most

_TESTS = Path(__file__).resolve().parents[1]
# Processor seconds per 10^6 bytes, and for an input of any size.
_SECONDS = 2.0
_START = 0.3
_MOST = 300_000
_SUFFIXES = (".cpp", ".cu", ".hip", ".py")
_WORDS = (
    *("(", ")", "<", ">", "{", "}", "[", "]", "::", ";", ",", ".", "->", "?", ":", "template", "data_ptr", "auto a = "),
    *("const_data_ptr", "#define", "#if", "#else", "#endif", 'R"(', ')"', "//", "/*", "*/", "'", '"', "\\\n", "@"),
    *("__ldg(", "using Tensor = ", "typedef ", "torch::Tensor t", "PYBIND11_MODULE(a, m) {", "m.def(", "c10::Half"),
)
_BEGINNING = "#include <torch/extension.h>\nusing c10::Half; torch::Tensor t; auto q = t.data<float>();\n"
# Repeated, with a number in place of `%d`.
_FLOODS = (
    *("t.data<float>();", "t.data<T%d>();\n", "auto a%d = b%d; a%d.data<float>();\n", "t.type();", ".data<float>()"),
    *("__ldg(p + %d);", "float x%d = __ldg(p%d + i);\n", "#define M%d x%d\n", "#define M%d(x) M%d(x x)\n", "M%d(1)"),
    *("{ t.data<float>();", "} t.data<float>();", "f(t.data<float>(), ", "a ? t : ", "#if defined(A%d) || B\n"),
    *("#elif !defined(A)\n", "#else\n", "#endif\n", "using T%d = T%d;\n", "typedef T t%d;\n", "a<", "a::", "t[0]."),
    *('m.def("f%d", &f%d);\n', "torch::Tensor f%d(torch::Tensor a);\n", "template <typename T%d> ", "auto t = t;\n"),
    *('R"x(', ')x"', "\\\n", '"', "'", "//\\\n", "/*", "((((", "))))", "[[[[", "{{{{", "}}}}", "\u00e9", "1'0", "#"),
    *("AT_DISPATCH_ALL_TYPES(t%d.type(), [] {});\n", "namespace n%d {", "class Tensor%d {};\n", "x = ", "-a", "[a,"),
    *(
        "t.m%d(a);\n",
        "at::f%d(t);\n",
        "at::native::n%d::f(t);\n",
        "AT_M%d(t)\n",
        "#include <ATen/h%d.h>\n",
        "using at::f%d;\n",
    ),
    *(
        "namespace at::",
        "namespace at { int f%d; }\n",
        "at::empty(t%d);\n",
        "#if TORCH_VERSION_MAJOR > %d\n",
        "a->sizes(%d);",
    ),
)


def sources_kind() -> tuple[Callable[[Random], bytes], Callable[[bytes], None]]:
    """Functions that make and read an input; one that takes too long for its size is a finding."""
    from abiscan.source.source_tree import check_source

    places = (_TESTS / "fixtures" / "src", _TESTS / "source" / "data", _TESTS / "source" / "compiled")
    seeds = [
        path.read_text("utf-8", "replace")
        for place in places
        for path in sorted(place.rglob("*"))
        if path.suffix in (*_SUFFIXES, ".cuh", ".h")
    ]

    def make(rng: Random) -> bytes:
        text = mutate_text(rng.choice(seeds), rng, _WORDS)
        if rng.random() < 0.5:
            text = _BEGINNING + text
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            at = rng.randrange(len(text) + 1)
            size = rng.choice((200, 4_000, 20_000)) if rng.random() < 0.9 else _MOST
            text = text[:at] + _flood(rng, min(size, _MOST - len(text))) + text[at:]
        return text.encode("utf-8", "replace")

    def run(data: bytes) -> None:
        with at_most(_START + _SECONDS * len(data) / 1e6, f"{len(data)} bytes"):
            check_source(f"a{_SUFFIXES[len(data) % 4]}", data, "a")

    return make, run


def _flood(rng: Random, size: int) -> str:
    """About this many characters of constructs, each repeated or all in turn."""
    units = rng.choices(_FLOODS, k=rng.choice((1, 1, 2, 4)))
    count = max(size // sum(map(len, units)), 0)
    if rng.random() < 0.3:
        return "".join(unit.replace("%d", "7") * count for unit in units)
    return "".join(unit.replace("%d", str(number)) for number in range(count) for unit in units)
