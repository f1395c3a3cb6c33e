"""Rules over sources: typed-in lines, shaped like those of public projects."""

from __future__ import annotations

import pytest

from abiscan.rules import load_rules
from abiscan.source import SourceRules, match_source

RULES = SourceRules(load_rules())


def hits(text: str, path: str = "a.cpp") -> list[tuple[str, list[int | None]]]:
    return [
        (hit.finding.rule, [place.line for place in hit.finding.locations]) for hit in match_source(text, path, RULES)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # FlashInfer's csrc/pytorch_conversion_utils.h, the line that the report names
        ("\nconst int64_t* first = tensor.const_data_ptr<int64_t>();", [("const-data-ptr", [2])]),
        ("t->const_data_ptr<float>();", [("const-data-ptr", [1])]),
        ("t.template const_data_ptr<scalar_t>();", [("const-data-ptr", [1])]),
        ("t.const_data_ptr ();", []),  # the untyped one imports nothing that changes
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
        ("#include <THC/THC.h>\nTHCState* s;", [("thc-api", [1]), ("thc-api", [2])]),
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
        ("at::Tensor f(); PYBIND11_MODULE(NAME, m) {}", [("op-not-registered", [1])]),
        ("at::Tensor f(); PYBIND11_MODULE(NAME, m) {} TORCH_LIBRARY(n, m) {}", []),
        ("int f(); PYBIND11_MODULE(NAME, m) {}", []),
    ],
)
def test_places(text: str, expected: list[tuple[str, list[int | None]]]) -> None:
    assert hits(text) == expected


LDG = 'AT_DISPATCH_ALL_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, t, "f", [&] {});\nT x = __ldg(p);'


@pytest.mark.parametrize(
    ("path", "text", "severity"),
    [
        ("segment_csr_cuda.hip", LDG, "warning"),
        ("segment_csr_cuda.cu", LDG, "note"),
        ("segment_csr_cuda.cu", "#ifdef USE_ROCM\n#define __ldg(p) *(p)\n#endif\n" + LDG, None),
        ("segment_csr_cuda.cpp", LDG, None),
        ("segment_csr_cuda.hip", "T x = __ldg(p);", None),
    ],
)
def test_half_intrinsic(path: str, text: str, severity: str | None) -> None:
    found = [hit.finding for hit in match_source(text, path, RULES) if hit.finding.rule == "half-intrinsic"]
    assert [finding.severity.value for finding in found] == ([] if severity is None else [severity])


def test_message_names_the_call_and_the_rewrite() -> None:
    (hit,) = match_source("t.const_data_ptr<int64_t>();", "a.h", RULES)
    assert "`const_data_ptr<int64_t>()`" in hit.finding.message
    assert "`data_ptr<int64_t>()`" in hit.finding.fix
    assert hit.element == "int64_t"


def test_other_files_are_not_read() -> None:
    assert match_source("t.const_data_ptr<int64_t>();", "notes.md", RULES) == ()


def test_fingerprint_outlives_moved_lines() -> None:
    (one,) = match_source("t.const_data_ptr<float>();", "a.cu", RULES)
    (two,) = match_source("\n\n\nt.const_data_ptr<float>();", "a.cu", RULES)
    assert one.finding.fingerprint == two.finding.fingerprint
