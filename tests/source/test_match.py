"""Rules over sources: literal lines in the form of public projects."""

from __future__ import annotations

import pytest

from abiscan.rules import load_rules
from abiscan.source import FileSet, SourceRules, match_source
from abiscan.source.match import MAX_PLACES
from abiscan.source.rewrites.rewrite import rewrite_source

RULES = SourceRules(load_rules())


def hits(text: str, path: str = "a.cpp") -> list[tuple[str, list[int | None]]]:
    return [
        (hit.finding.rule, [place.line for place in hit.finding.locations]) for hit in match_source(text, path, RULES)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # FlashInfer's csrc/pytorch_conversion_utils.h, the line in the report
        ("\nconst int64_t* first = tensor.const_data_ptr<int64_t>();", [("const-data-ptr", [2])]),
        ("t->const_data_ptr<float>();", [("const-data-ptr", [1])]),
        ("t.template const_data_ptr<scalar_t>();", [("const-data-ptr", [1])]),
        ("t.const_data_ptr ();", []),  # the untyped one has no changed import
        ("// t.const_data_ptr<float>()", []),
        ('log("t.const_data_ptr<float>()");', []),
        ("const_data_ptr<float>();", []),  # the file's own function
        ("mine::const_data_ptr<float>();", []),
        ("a.const_data_ptr<float>();\nb.const_data_ptr<float>();", [("const-data-ptr", [1, 2])]),
        ('AT_DISPATCH_FLOATING_TYPES(x.type(), "f", [&] { y.type(); });', [("deprecated-type-properties", [1])]),
        ('AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] { y.type(); });', []),
        ("AT_CHECK(x.is_cuda(), 1);", [("removed-macros", [1])]),
        ("#define AT_CHECK TORCH_CHECK\nAT_CHECK(x, 1);", []),  # compatibility shim of the file itself
        ("#ifndef AT_CHECK\n#endif\n", []),
        ("#include <THC/THC.h>\nTHCState* s;", [("removed-name", [1]), ("thc-api", [2])]),
        ("#include <ATen/ATen.h>", []),
        ("static auto r = torch::RegisterOperators();", [("legacy-register-operators", [1])]),
        ("static auto r = ::torch::RegisterOperators();", [("legacy-register-operators", [1])]),
        ("static auto r = my::torch::RegisterOperators();", []),
        ("c10::optional<at::Tensor> a; c10::optional<int> b;", [("c10-std-types", [1])]),
        ("std::optional<at::Tensor> a;", []),
        ("Tensor t; t.data<float>();", [("tensor-data", [1])]),
        ("vector v; v.data<float>();", []),  # no tensor anywhere in the file
        ("t.packed_accessor<float, 2>();", [("packed-accessor", [1])]),
        ("t.packed_accessor32<float, 2>();", []),
        ("TORCH_CHECK_EQ(a, b);", [("message-logger", [1])]),
        ('at::Tensor f(); PYBIND11_MODULE(NAME, m) { m.def("f", &f); }', [("op-not-registered", [1])]),
        ('at::Tensor f(); PYBIND11_MODULE(NAME, m) { m.def("f", &f); } TORCH_LIBRARY(n, m) {}', []),
        ("at::Tensor f(); PYBIND11_MODULE(NAME, m) {}", []),  # no functions
        ('int f(); PYBIND11_MODULE(NAME, m) { m.def("f", &f); }', []),
        ("torch::stable::Tensor t; t.const_data_ptr<float>();", []),  # another class with an inline member
    ],
)
def test_places(text: str, expected: list[tuple[str, list[int | None]]]) -> None:
    assert hits(text) == expected


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        # HIP 5.2 (amd_warp_functions.h) declares no name with a mask
        ("k.hip", "__global__ void k(float* p) { p[0] = __shfl_down_sync(0xffffffff, p[1], 16); }", 1),
        ("k.cu", "__global__ void k(float* p) { p[0] = __shfl_down_sync(0xffffffff, p[1], 16); }", 0),
        (
            "k.cu",
            "__device__ at::Half __shfl_down_sync(unsigned m, at::Half v, unsigned d) { return v; }\n"
            "__global__ void k(float* p) { p[0] = __shfl_down_sync(0xffffffff, p[1], 16); }",
            1,
        ),
        (
            "k.cu",  # torch-scatter 2.1.2: its kernels call a macro
            "__device__ at::Half __shfl_up_sync(unsigned m, at::Half v) { return __shfl_up_sync(m, (__half)v); }\n",
            0,
        ),
        ("k.hip", "#ifndef USE_ROCM\nvoid k(float* p) { p[0] = __shfl_down_sync(~0, p[1], 16); }\n#endif", 0),
        # what `explain` prints
        (
            "k.hip",
            "#ifdef __HIP__\n#define __any_sync(mask, ...) __any(__VA_ARGS__)\n#endif\nint i = __any_sync(m, 1);",
            0,
        ),
    ],
)
def test_masked_warp_function(path: str, text: str, count: int) -> None:
    hits = match_source(text, path, RULES)
    assert sum(hit.finding.rule == "masked-warp-function" for hit in hits) == count


HALF = 'AT_DISPATCH_FLOATING_TYPES_AND_HALF(t.scalar_type(), "f", [&] {});'
KERNEL = "template <typename T> __global__ void k(const T* p, const int64_t* index, Info<int64_t, int> info) {\n%s\n}\n"


@pytest.mark.parametrize(
    ("path", "text", "severity", "confidence"),
    [
        ("k.hip", HALF + KERNEL % "T x = __ldg(p + 1);", "warning", "medium"),
        ("k.cu", HALF + KERNEL % "T x = __ldg(p + 1);", "note", "medium"),
        ("k.cuh", HALF + KERNEL % "for (int i = 0; i < n; i++) { T x = __ldg(&p[i * n]); }", "note", "medium"),
        ("k.cu", HALF + KERNEL % "T x = __ldg(p);\n#ifdef USE_ROCM\n#endif", "note", "medium"),
        ("k.cu", "void f(const c10::Half* p) { g(__ldg(p)); }", "note", "high"),
        ("k.cu", "using half_t = at::Half; void f(half_t* p) { g(__ldg(p)); }", "note", "high"),
        ("k.cu", HALF + "void f() { g(__ldg(h())); }", "note", "low"),
        # torch's own headers overload it for BFloat16, those of CUDA and HIP for plain types and __half
        ("k.hip", "void f(const c10::BFloat16* p) { __ldg(p); } c10::Half h;", None, None),
        ("k.hip", HALF + KERNEL % "int i = __ldg(index + 1);", None, None),
        ("k.hip", HALF + KERNEL % "int i = __ldg(info.data + n * 2);", None, None),
        (
            "k.hip",
            HALF + "void f(at::PackedTensorAccessor32<int64_t, 2, P> a) { int64_t i = ::__ldg((&a[1][0]) + 2); }",
            None,
            None,
        ),
        ("k.hip", HALF + KERNEL % "auto q = index + 1; int i = __ldg(q);", None, None),
        ("k.hip", HALF + KERNEL % "auto x = __ldg(reinterpret_cast<const int4*>(p));", None, None),
        ("k.hip", HALF + KERNEL % "auto x = __ldg((const float*)p);", None, None),
        ("k.hip", "c10::Half h; void f(const __half* p) { __ldg(p); }", None, None),
        ("k.hip", HALF + "template <typename IdType> void f(IdType* p) { __ldg(p); }", None, None),
        ("k.hip", HALF + "template <typename index_t> void f(index_t* p) { __ldg(p); }", None, None),
        ("k.hip", HALF + "template <typename Input> void f(Input* p) { __ldg(p); }", "warning", "medium"),
        # no instantiation with Half
        ("k.hip", KERNEL % "T x = __ldg(p);", None, None),
        # the file's own overload or macro, or code that HIP skips
        ("k.hip", HALF + "__device__ at::Half __ldg(const at::Half* p);" + KERNEL % "T x = __ldg(p);", None, None),
        ("k.cu", "#ifdef USE_ROCM\n#define __ldg(p) *(p)\n#endif\n" + HALF + KERNEL % "T x = __ldg(p);", None, None),
        ("k.cu", HALF + KERNEL % "#if !defined(USE_ROCM)\nT x = __ldg(p);\n#endif", None, None),
        ("k.cu", HALF + KERNEL % "#if defined(USE_ROCM) || A\nT x = *p;\n#else\nT x = __ldg(p);\n#endif", None, None),
        ("k.cu", HALF + KERNEL % "#if __CUDA_ARCH__ >= 350\nT x = __ldg(p);\n#endif", None, None),
    ],
)
def test_half_intrinsic(path: str, text: str, severity: str | None, confidence: str | None) -> None:
    found = [hit.finding for hit in match_source(text, path, RULES) if hit.finding.rule == "half-intrinsic"]
    assert [(each.severity.value, each.confidence.value) for each in found] == (
        [] if severity is None else [(severity, confidence)]
    )


DISPATCH = '#include "k.cuh"\n' + HALF
OVERLOAD = "__device__ inline at::Half __ldg(const at::Half* p) { return *p; }"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        # a kernel in a header, dispatched by its includer
        ({"k.cuh": KERNEL % "T x = __ldg(p);", "a.cu": DISPATCH}, ["medium"]),
        # through another header
        (
            {"k.cuh": KERNEL % "T x = __ldg(p);", "b.h": '#include "k.cuh"', "a.cu": '#include "b.h"\n' + HALF},
            ["medium"],
        ),
        # another type; no Half; another file's Half; an overload in the includer, or in its includes
        ({"k.cuh": KERNEL % "int i = __ldg(index);", "a.cu": DISPATCH}, []),
        ({"k.cuh": KERNEL % "T x = __ldg(p);", "a.cu": '#include "k.cuh"'}, []),
        ({"k.cuh": KERNEL % "T x = __ldg(p);", "a.cu": HALF}, []),
        ({"k.cuh": KERNEL % "T x = __ldg(p);", "a.cu": OVERLOAD + "\n" + DISPATCH}, []),
        ({"k.cuh": KERNEL % "T x = __ldg(p);", "o.h": OVERLOAD, "a.cu": '#include "o.h"\n' + DISPATCH}, []),
        # one of two users has no overload
        ({"k.cuh": KERNEL % "T x = __ldg(p);", "a.cu": OVERLOAD + "\n" + DISPATCH, "b.cu": DISPATCH}, ["medium"]),
    ],
)
def test_half_intrinsic_in_a_header(files: dict[str, str], found: list[str]) -> None:
    hits = match_source(files["k.cuh"], "k.cuh", RULES, others=FileSet(files, files.get))
    assert [hit.finding.confidence.value for hit in hits if hit.finding.rule == "half-intrinsic"] == found


def test_message_names_the_call_and_the_rewrite() -> None:
    (hit,) = match_source("t.const_data_ptr<int64_t>();", "a.h", RULES)
    assert "`const_data_ptr<int64_t>()`" in hit.finding.message
    assert "`data_ptr<int64_t>()`" in hit.finding.fix
    assert hit.element == "int64_t"


def test_places_with_another_fix_are_another_finding() -> None:
    text = """at::Tensor f(at::Tensor t) {
      AT_DISPATCH_ALL_TYPES(t.type(), "f", [&] {});
      return at::empty({1}, t.type());
    }"""
    hits = match_source(text, "a.cpp", RULES)
    found = {hit.finding.fix: [place.line for place in hit.finding.locations] for hit in hits}
    assert found == {
        "Replace `type()` with scalar_type()": [2],
        "Replace it with scalar_type(), options() or device(), as the use requires": [3],
    }
    assert len({hit.finding.fingerprint for hit in hits}) == 2


def test_more_places_than_are_listed_are_counted() -> None:
    (hit,) = match_source('AT_ERROR("no");\n' * (MAX_PLACES + 11), "a.cpp", RULES)
    assert len(hit.finding.locations) == MAX_PLACES
    assert f"(here the first {MAX_PLACES} of {MAX_PLACES + 11} places)" in hit.finding.message
    (few,) = match_source('AT_ERROR("no");\n' * MAX_PLACES, "a.cpp", RULES)
    assert "(here" not in few.finding.message
    assert few.finding.fingerprint == hit.finding.fingerprint


def test_other_files_are_not_read() -> None:
    assert match_source("t.const_data_ptr<int64_t>();", "notes.md", RULES) == ()


def test_fingerprint_outlives_moved_lines() -> None:
    (one,) = match_source("t.const_data_ptr<float>();", "a.cu", RULES)
    (two,) = match_source("\n\n\nt.const_data_ptr<float>();", "a.cu", RULES)
    assert one.finding.fingerprint == two.finding.fingerprint


ACCEPTED = """void f(at::Tensor t) {
  AT_CHECK(t.dim() == 2, "x");  // abiscan: ignore[removed-macros] torch 1.4 only
  /* abiscan: ignore[tensor-data, removed-macros] */
  AT_CHECK(t.dim() == 3, "y");
  AT_CHECK(t.dim() == 4, "z");  // abiscan: ignore[tensor-data] another rule
  const char* s = "abiscan: ignore[removed-macros]"; AT_CHECK(t.dim() == 5, "z");
}
"""


def test_a_comment_accepts_what_is_on_its_line_or_the_next() -> None:
    found = [hit.finding for hit in match_source(ACCEPTED, "a.cpp", SourceRules(load_rules()))]
    accepted = {tuple(place.line for place in each.locations): each.suppression for each in found}
    assert accepted == {(5, 6): None, (2,): "torch 1.4 only", (4,): "no reason given"}
    assert {each.in_source for each in found if each.suppressed} == {True}


def test_what_a_comment_accepts_is_not_rewritten() -> None:
    made = rewrite_source(ACCEPTED, "a.cpp", SourceRules(load_rules()), FileSet((), lambda name: None))
    assert [number for number, line in enumerate(made.after.splitlines(), 1) if "TORCH_CHECK" in line] == [5, 6]
