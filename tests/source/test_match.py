"""Rules over sources: literal lines in the form of public projects."""

from __future__ import annotations

import pytest

from abiscan.rules import load_rules
from abiscan.source import FileSet, SourceRules, match_source
from abiscan.source.match import MAX_PLACES
from abiscan.source.rewrites.rewrite import rewrite_source
from tests.tables import table_rows

RULES = SourceRules(load_rules())


def hits(text: str, path: str = "a.cpp") -> list[tuple[str, list[int | None]]]:
    return [
        (hit.finding.rule, [place.line for place in hit.finding.locations]) for hit in match_source(text, path, RULES)
    ]


@table_rows
def test_places(text: str, expected: list[tuple[str, list[int | None]]]) -> None:
    assert hits(text) == expected


@table_rows
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
        ("k.hip", HALF + KERNEL % "T x = __ldcs(p + 1);", "warning", "medium"),
        ("k.cu", HALF + "__device__ at::Half __ldg(const at::Half* p);" + KERNEL % "__ldca(p);", "note", "medium"),
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
