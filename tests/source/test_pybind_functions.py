"""The functions that a PYBIND11_MODULE binds, through macros, includes and functions."""

from __future__ import annotations

import pytest

from abiscan.rules import load_rules
from abiscan.source import FileSet, SourceRules, match_source
from abiscan.source.code import Code
from abiscan.source.pybind_functions import pybind_functions

RULES = SourceRules(load_rules())
# The form of aiter's: the body is a macro in one header, the functions are declared in another.
AITER = {
    "csrc/pybind/activation_pybind.cu": """
#include "rocm_ops.hpp"
#include "activation.h"
PYBIND11_MODULE(NAME, m)
{
    ACTIVATION_PYBIND;
}
""",
    "csrc/include/rocm_ops.hpp": r"""
#define ACTIVATION_PYBIND                                        \
  m.def("silu_and_mul", &aiter::silu_and_mul, py::arg("out"));   \
  m.def("version", &version);
""",
    "csrc/include/activation.h": """
namespace aiter {
void silu_and_mul(torch::Tensor &out, torch::Tensor &input);
int version();
}
""",
}


def found_in(files: dict[str, str]) -> list[tuple[str, bool | None]]:
    path, text = next(iter(files.items()))
    bound = pybind_functions(text.index("PYBIND11_MODULE"), Code(path, text), FileSet(files, files.get))
    return [(each.name, None if each.signature is None else each.signature.on_tensors) for each in bound]


def test_macros_and_includes() -> None:
    assert found_in(AITER) == [("silu_and_mul", True), ("version", False)]
    path, text = next(iter(AITER.items()))
    (hit,) = match_source(text, path, RULES, others=FileSet(AITER, AITER.get))
    assert hit.finding.rule == "op-not-registered"
    assert "`silu_and_mul`" in hit.finding.message
    assert "version" not in hit.finding.message


@pytest.mark.parametrize(
    ("body", "before", "expected"),
    [
        ('m.def("f", f);', "Tensor f(Tensor x);", [("f", True)]),
        ('m.def("f", &ns::f<float>, "doc");', "template <typename T> void f(at::Tensor& x) {}", [("f", True)]),
        ('m.def("f", [](const at::Tensor& x, int n) { return x; });', "", [("f", True)]),
        ('m.def("f", [](int n) -> int { return n; });', "", [("f", False)]),
        ('m.def("f", py::overload_cast<int>(&f));', "void f(int x);", [("f", False)]),
        ('m.def("f", torch::wrap_pybind_function(f));', "Tensor f();", [("f", True)]),
        ('m.def("f", &f);', "using T = torch::Tensor; void f(T x);", [("f", True)]),
        ('m.def("f", &f);', "typedef at::Tensor T; T f(int x);", [("f", True)]),
        ('m.def("f", &f);', "typedef struct T T; void f(T x);", [("f", False)]),
        ('m.def("f", &f);', "auto f(int x) -> at::Tensor { return g(); }", [("f", True)]),
        # Two targets of one name: which of them the function has is unknown.
        (
            'm.def("f", &f);',
            "namespace a { using T = at::Tensor; } namespace b { using T = int; } void f(T x);",
            [("f", False)],
        ),
        # A template parameter is no alias of that name.
        ('m.def("f", &f<int>);', "using T = at::Tensor; template <typename T> void f(T x);", [("f", False)]),
        ('m.def("f", &elsewhere);', "", [("f", None)]),
        ('m.def("f", &f).def("g", &g);', "Tensor f(); int g();", [("f", True), ("g", False)]),
        ('py::class_<A>(m, "A").def("run", &A::run);', "Tensor run();", []),
        ("bind(m);", 'Tensor f(); void bind(py::module& m) { m.def("f", &f); }', [("f", True)]),
        ("BIND(f)", "#define BIND(name) m.def(#name, &name);\nTensor f();", [("f", True)]),
        ("LOOP", "#define LOOP LOOP LOOP", []),
    ],
)
def test_forms(body: str, before: str, expected: list[tuple[str, bool | None]]) -> None:
    assert found_in({"a.cpp": f"{before}\nPYBIND11_MODULE(NAME, m) {{ {body} }}"}) == expected


@pytest.mark.parametrize(
    "text", ["PYBIND11_MODULE", "PYBIND11_MODULE(", "PYBIND11_MODULE(a, m) {", "PYBIND11_MODULE(a, m) }"]
)
def test_broken_text(text: str) -> None:
    assert found_in({"a.cpp": text}) == []


def test_macros_that_double_end() -> None:
    """Thirty macros that each use the previous one twice would become a billion tokens."""
    doubling = "".join(f"#define M{n} M{n - 1} M{n - 1}\n" for n in range(1, 30))
    assert found_in({"a.cpp": f"#define M0 x\n{doubling}PYBIND11_MODULE(a, m) {{ M29 }}"}) == []


@pytest.mark.parametrize(("include", "expected"), [("xla/ffi.h", []), ("torch/extension.h", ["op-not-registered"])])
def test_a_module_of_another_library_has_no_operators(include: str, expected: list[str]) -> None:
    """Like the module of Transformer Engine for JAX: tensors of its own."""
    text = f'#include <{include}>\nTensor f(Tensor x);\nPYBIND11_MODULE(a, m) {{ m.def("f", &f); }}\n'
    assert [hit.finding.rule for hit in match_source(text, "a.cpp", RULES)] == expected
