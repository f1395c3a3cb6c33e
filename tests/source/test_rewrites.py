"""Rewrites of single places, as text; that the results compile is `test_compiled_rewrites.py`'s to say."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from abiscan.releases import open_index
from abiscan.rules import load_rules
from abiscan.source import NoOthers, SourceRules
from abiscan.source.rewrites import REWRITES, rewrite_source, stubs_for
from abiscan.source.rewrites.registration_stub import module_name

RULES = SourceRules(load_rules())
HALF = "using half_type = c10::Half; template <typename T> void k(const T* p, const int* index) {\n"


def rewritten(text: str, path: str = "a.cpp") -> str:
    return rewrite_source(text, path, RULES, NoOthers()).after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # FlashInfer's line
        (
            "const int64_t* first = tensor.const_data_ptr<int64_t>();",
            "const int64_t* first = tensor.data_ptr<int64_t>();",
        ),
        ("const auto* p = f(x)[0].const_data_ptr<float>();", "const auto* p = f(x)[0].data_ptr<float>();"),
        (
            "auto p = x.y->z().const_data_ptr<const float>();",
            "auto p = static_cast<const float*>(x.y->z().data_ptr<float>());",
        ),
        ("f(ns::x.const_data_ptr<T>(), 1);", "f(static_cast<const T*>(ns::x.data_ptr<T>()), 1);"),
        ("f(a<b>(c).const_data_ptr<T>());", "f(static_cast<const T*>(a<b>(c).data_ptr<T>()));"),
        # the pointer itself is const, and not what it points to
        ("auto* const p = x.const_data_ptr<T>();", "auto* const p = static_cast<const T*>(x.data_ptr<T>());"),
        ("return x.const_data_ptr<T>();", "return static_cast<const T*>(x.data_ptr<T>());"),
        (
            "reinterpret_cast<const half*>(x.const_data_ptr<T>())",
            "reinterpret_cast<const half*>(x.data_ptr<T>())",
        ),
        (
            "#define P(x) \\\n  x.const_data_ptr<T>()\nint y;",
            "#define P(x) \\\n  static_cast<const T*>(x.data_ptr<T>())\nint y;",
        ),
        ("#define P x.const_data_ptr<T>()", "#define P static_cast<const T*>(x.data_ptr<T>())"),
        ("#define P(x) (x).const_data_ptr<T>()", "#define P(x) static_cast<const T*>((x).data_ptr<T>())"),
        ("(a ? b : c).const_data_ptr<T>();", "static_cast<const T*>((a ? b : c).data_ptr<T>());"),
        ("void f(at::Tensor t) { t.data<float>(); }", "void f(at::Tensor t) { t.data_ptr<float>(); }"),
        ("void f(std::vector<Tensor> t) { t[0].data<T>(); }", "void f(std::vector<Tensor> t) { t[0].data_ptr<T>(); }"),
        (
            'void f(Tensor x) { AT_DISPATCH_ALL_TYPES(x.type(), "f", [&] {}); }',
            'void f(Tensor x) { AT_DISPATCH_ALL_TYPES(x.scalar_type(), "f", [&] {}); }',
        ),
        ("x.packed_accessor<float, 2>();", "x.packed_accessor64<float, 2>();"),
        ("x.packed_accessor<float, 2, R, int64_t>();", "x.packed_accessor64<float, 2, R>();"),
        ("x.packed_accessor<A<b, c>, 2, R, int>();", "x.packed_accessor32<A<b, c>, 2, R>();"),
        ("x.packed_accessor<float, 2, R, size_t>();", "x.generic_packed_accessor<float, 2, R, size_t>();"),
        ('AT_CHECK(x, "m");', 'TORCH_CHECK(x, "m");'),
        ("AT_ASSERT(x);", "TORCH_INTERNAL_ASSERT(x);"),
        ('AT_ERROR("m", 1);', 'TORCH_CHECK(false, "m", 1);'),
        ("AT_ERROR();", "TORCH_CHECK(false);"),
        ('AT_ERROR(\n    "m");', 'TORCH_CHECK(false,\n    "m");'),
        ('AT_ERROR( "m" );', 'TORCH_CHECK(false, "m" );'),
        (
            "#define M(x) AT_ERROR(x)\nvoid f() { if (a) M(b); else c(); }",
            "#define M(x) do { TORCH_CHECK(false, x); } while (false)\nvoid f() { if (a) M(b); else c(); }",
        ),
        ("#define M(x) AT_ERROR(x)\nvoid f() { M(b); }", "#define M(x) TORCH_CHECK(false, x)\nvoid f() { M(b); }"),
        ("if (a) AT_ERROR(b); else c();", "if (a) { TORCH_CHECK(false, b); } else c();"),
    ],
)
def test_rewrites(before: str, after: str) -> None:
    assert rewritten(before) == after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("auto p = new T().const_data_ptr<T>();", None),
        ("Tensor g(); void f(Span t) { t.data<float>(); }", "not declared as a tensor"),
        ("Tensor g(); void f() { h().data<float>(); }", "was not found in this file"),
        ("x.const_data_ptr<T>(1);", "not called with template arguments alone"),
        ("AT_ERROR(", None),
        ("x.const_data_ptr<", None),
    ],
)
def test_what_is_left(text: str, reason: str | None) -> None:
    made = rewrite_source(text, "a.cpp", RULES, NoOthers())
    if reason is not None:
        assert not made.changes
        assert reason in made.left[0].reason


@pytest.mark.parametrize("prefix", ["#pragma once\n#include <a.h>\n", "#ifndef A_H\n#define A_H\n#include <a.h>\n"])
def test_load_of_half(prefix: str) -> None:
    text = rewritten(prefix + HALF + "T x = __ldg(p + 1); int i = __ldg(index);\n}\n", "k.cuh")
    assert text == (
        prefix + "#include <ATen/cuda/DeviceUtils.cuh>\n" + HALF + "T x = doLdg(p + 1); int i = __ldg(index);\n}\n"
    )


def test_include_stands_outside_of_conditions_and_once() -> None:
    text = "#include <a.h>\n#ifdef X\n#include <b.h>\n#endif\n" + HALF + "T x = __ldg(p), y = __ldg(p);\n}\n"
    after = rewritten(text, "k.cu")
    assert after.startswith("#include <a.h>\n#include <ATen/cuda/DeviceUtils.cuh>\n#ifdef X\n")
    assert after.count("DeviceUtils") == 1
    assert after.count("doLdg") == 2


def test_rewriting_twice_changes_nothing() -> None:
    text = HALF + "T x = __ldg(p); auto q = t.const_data_ptr<T>(); AT_ERROR(1);\n}\n"
    once = rewritten("#include <a.h>\n" + text, "k.cu")
    assert rewritten(once, "k.cu") == once


def test_bytes_around_stay() -> None:
    text = "/* \udcff */ AT_ERROR(1);\r\n\fint x;\r\n"
    assert rewritten(text) == text.replace("AT_ERROR(1)", "TORCH_CHECK(false, 1)")


def test_only_what_is_wanted() -> None:
    text = "AT_ERROR(1); auto p = t.const_data_ptr<T>();"
    made = rewrite_source(text, "a.cpp", RULES, NoOthers(), {"removed-macros"})
    assert made.after == text.replace("AT_ERROR(1)", "TORCH_CHECK(false, 1)")
    assert made.rules == ("removed-macros",)


def test_rules_with_rewrites_exist() -> None:
    assert set(REWRITES) <= {rule.id for rule in load_rules()}


def test_data_ptr_is_exported_for_every_type_of_const_data_ptr() -> None:
    """Or the rewritten call would not bind. The oracle is the release index: torch 2.13.0 of the package index."""
    index = open_index()
    builds = [each for each in index.builds("x86_64") if each.torch == "2.13.0"]
    prefix, suffix = "_ZNK2at10TensorBase14const_data_ptrI", "EEPKT_v"
    codes = [*"bahstijlmfd", "N3c104HalfE", "N3c108BFloat16E", "N3c107complexIfEE", "N3c1013Float8_e4m3fnE"]
    checked = 0
    for code in codes:
        of_const = index.history(f"{prefix}{code}{suffix}", "x86_64")
        if of_const is None or not of_const.windows.contains("2.13.0"):
            continue
        plain = index.history(f"_ZNK2at10TensorBase8data_ptrI{code}EEPT_v", "x86_64")
        assert plain is not None, code
        assert plain.windows.contains("2.13.0"), code
        checked += 1
    assert builds
    assert checked >= 10


# --- the registration of pybind11's functions ---------------------------------------------------------------------

MODULE = """
at::Tensor doubled(const at::Tensor& x);
void silu_and_mul(torch::Tensor &out, torch::Tensor &input, double limit, std::optional<at::Tensor> bias);
std::tuple<at::Tensor, at::Tensor> pair(std::vector<at::Tensor> xs, int64_t n);
void strange(at::Tensor x, cudaStream_t stream);
PYBIND11_MODULE(my_kernels, m) {
  m.def("doubled", &doubled);
  m.def("silu_and_mul", &silu_and_mul);
  m.def("pair", &pair);
  m.def("strange", &strange);
}
"""


@pytest.mark.torch
def test_registration_is_what_torch_takes(tmp_path: Path) -> None:
    """Imported by torch itself, with a Python module in the place of the extension; a function that returns nothing
    is traced under fullgraph=True."""
    ((_place, stub),) = stubs_for(MODULE, "csrc/bind.cpp", RULES, NoOthers(), None)
    assert stub.path == "csrc/bind_operators.py"
    assert "strange" in stub.after.partition("# Not written")[2]
    (tmp_path / "bind_operators.py").write_text(stub.after)
    (tmp_path / "my_kernels.py").write_text(
        "def silu_and_mul(out, input, limit, bias):\n    out.copy_(input * limit)\n"
        "def doubled(x):\n    return x * 2\ndef pair(xs, n):\n    return xs[0] * n, xs[1] * n\n"
    )
    (tmp_path / "use.py").write_text(
        "import torch, bind_operators as ops\n"
        "x = torch.ones(3)\n"
        "def f(x):\n    out = torch.empty_like(x)\n    ops.silu_and_mul(out, x, 3.0, None)\n    return out + 1\n"
        "assert torch.compile(f, fullgraph=True, backend='eager')(x).tolist() == [4, 4, 4]\n"
        "assert ops.doubled(x).tolist() == [2, 2, 2]\n"
        "assert [y.tolist() for y in ops.pair([x, x + 1], 2)] == [[2, 2, 2], [4, 4, 4]]\n"
        "print('fine')\n"
    )
    done = subprocess.run([sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr


def test_no_stub_for_what_is_registered() -> None:
    assert list(stubs_for(MODULE + "TORCH_LIBRARY(a, m) {}", "bind.cpp", RULES, NoOthers(), None)) == []


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        ("CUDAExtension(name='pkg._C', sources=['csrc/bind.cpp'])", "pkg._C"),
        ('CppExtension("one", ["a.cpp"]), CppExtension("two", ["bind.cpp"])', "two"),
        ("CUDAExtension(name, sources)", None),
        ('sources = glob(here)\nCUDAExtension(\n    "pkg.csrc",\n    sources,\n)', "pkg.csrc"),
        ('CppExtension("one", sources), CppExtension("two", sources)', None),
    ],
)
def test_module_name_of_setup(setup: str, expected: str | None) -> None:
    assert module_name(setup, "csrc/bind.cpp") == expected


@pytest.mark.parametrize(
    ("unit", "before"),
    [
        ("x = __ldg(p);\n", "using h = c10::Half; template <typename T> void k(const T* p) {\n"),
        ("auto q = __ldg(q);\n", "using h = c10::Half; void k() {\n"),
        ("AT_ERROR(1);", ""),
        ("x.const_data_ptr<T>().", ""),
        ("x.const_data_ptr<T>() + \\\n", "#define M "),
        ("f(x.const_data_ptr<T>(),", ""),
        ("PYBIND11_MODULE(a, m) { m.def(1, 2); }", "Tensor "),
        ('m.def("f", &f);', "Tensor f(); PYBIND11_MODULE(a, m) {"),
        ("#", "AT_ERROR(1); "),
        ("#if (", "AT_ERROR(1);\n"),
    ],
)
def test_time_grows_with_the_text(unit: str, before: str) -> None:
    """Ten times the text: quadratic work would take a hundred times as long."""
    times = []
    for count in (200, 2_000):
        text = before + unit * count
        start = time.process_time()
        rewrite_source(text, "k.cu", RULES, NoOthers())
        list(stubs_for(text, "k.cu", RULES, NoOthers(), None))
        times.append(time.process_time() - start)
    assert times[1] < 40 * times[0] + 3
