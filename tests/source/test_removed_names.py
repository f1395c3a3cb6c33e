"""Names that a release of torch removed. Oracle: g++ with the headers of torch 2.13.0, which rejects the first list and
accepts the second."""

from __future__ import annotations

import pytest

from abiscan.ownership.torch_declarations import HEADERS, MACROS, TEMPLATE, WRITABLE, declarations
from abiscan.ownership.torch_successors import successors
from abiscan.rules import load_rules
from abiscan.source import FileSet, SourceRules, check_source
from abiscan.source.match import places_in
from abiscan.source.rewrites import rewrite_source
from tests.processor_time import at_most
from tests.tables import table_rows

RULES = SourceRules(rule for rule in load_rules() if rule.id == "removed-name")


def found(text: str, release: str = "2.13.0", **files: str) -> list[str]:
    others = FileSet({"a.cpp": text, **files}, {"a.cpp": text, **files}.get) if files else FileSet()
    return [place.text for place in places_in(text, "a.cpp", RULES, others, release)]


@table_rows
def test_what_the_headers_lack(text: str, name: str) -> None:
    assert found(text) == [name]


@table_rows
def test_what_is_there_or_may_be(text: str) -> None:
    assert found(text) == []


def test_a_source_may_end_anywhere() -> None:
    whole = "void f(at::Storage s) { void* p = s.unsafeGetStorageImpl()->data(); }"
    assert found(whole)
    assert {len(found(whole[:end])) for end in range(len(whole))} <= {0, 1}


def test_code_for_other_releases_is_not_reported() -> None:
    """BytePS 0.2.5, byteps/torch/ready_event.cc: THC is for the releases that have it. The last two are code for the
    target."""
    rules = SourceRules(load_rules())
    old = "#if TORCH_VERSION %s\nvoid f() { THCudaCheck(cudaGetLastError()); }\n#endif\n"
    by_torch = "#if TORCH_VERSION_MAJOR %s 2\nvoid f(at::Tensor x) { x.const_data_ptr<float>(); }\n#endif\n"
    guarded = "#ifndef TORCH_OPS_H_\n#define TORCH_OPS_H_\nvoid f() { THCudaCheck(cudaGetLastError()); }\n#endif\n"
    texts = (old % "< 1005000000", by_torch % "<", by_torch % ">=", guarded)
    said = [{place.rule.id for place in places_in(text, "a.cpp", rules, FileSet(), "2.13.0")} for text in texts]
    assert said == [set(), set(), {"const-data-ptr"}, {"thc-api"}]


def test_another_header_in_another_branch_is_no_alternative() -> None:
    text = "#ifdef OLD\n#include <ATen/CUDAGeneratorImpl.h>\n#else\n#include <ATen/ATen.h>\n#endif\n"
    nested = "#ifdef OLD\n#include <THC/THC.h>\n#ifdef A\n#include <ATen/cuda/CUDAContext.h>\n#endif\n#endif\n"
    assert found(text) == ["ATen/CUDAGeneratorImpl.h"]
    assert found(nested) == ["THC/THC.h"]


def test_other_conditions_hide_nothing() -> None:
    text = "#ifdef WITH_CUDA\nat::symeig(x);\n#else\nat::lstsq(x);\n#endif\n"
    assert found(text) == ["at::symeig", "at::lstsq"]


def test_an_included_file_of_the_project_may_define_it() -> None:
    text = '#include "compat.h"\nvoid f() { THCublasCheck(1); }\n'
    assert found(text, **{"compat.h": "#define THCublasCheck(x) (x)\n"}) == []
    assert found(text, **{"compat.h": "int x;\n"}) == ["THCublasCheck"]


def test_the_release_decides() -> None:
    assert found("void f(at::Tensor x) { x.is_variable(); }", "2.15.0") == ["at::Tensor::is_variable"]
    assert found("auto z = at::symeig(x);", "1.13.1") == []
    assert found("auto z = at::linalg_eigh(x);", "1.5.0") == ["at::linalg_eigh"]


def test_rewrites() -> None:
    before = "#include <THC/THC.h>\nauto p = c10::guts::make_unique<int>(3); at::IntList s; at::symeig(x);\n"
    made = rewrite_source(before, "a.cpp", RULES, FileSet())
    assert made.after == (
        "#include <ATen/cuda/CUDAContext.h>\nauto p = std::make_unique<int>(3); at::IntArrayRef s; at::symeig(x);\n"
    )
    assert [unchanged.reason[:32] for unchanged in made.unchanged] == ["replace it with `at::linalg_eigh"]


def test_advice_keeps_the_case_of_names() -> None:
    """`fix` prints the advice of a successor behind a colon: its first letter alone is lower case."""
    made = rewrite_source('void f() { AT_INDEX_ERROR("m"); }', "a.cpp", RULES, FileSet())
    (place,) = made.unchanged
    assert place.reason.startswith("replace `AT_INDEX_ERROR(...)` with `TORCH_CHECK_INDEX(false, ...)`")


def test_successors_are_declared_and_what_they_replace_is_not() -> None:
    table = declarations()
    newest = table.releases[-1]
    forwarding = {"THC/THCAtomics.cuh", "THC/THCDeviceUtils.cuh"}
    for row in successors():
        for name in {*row.names} - forwarding:
            scope, _, base = name.removesuffix("()").replace("<T>", TEMPLATE).rpartition("::")
            base += WRITABLE if name.endswith("()") and not base.endswith(TEMPLATE) else ""
            scopes = [HEADERS] if "/" in name else [scope] if scope else [MACROS, ""]
            gone = [table.absence(each, name if "/" in name else base, newest) for each in scopes]
            deprecated = table.deprecated_since(scope, base, newest)
            assert deprecated or any(each is not None and each.last is not None for each in gone), name
        scope, _, base = row.use.rpartition("::")
        if not row.use:
            continue
        for each in (HEADERS, row.header), (HEADERS if "/" in row.use else scope, row.use if "/" in row.use else base):
            assert table.absence(*each, newest) is None, row


@pytest.mark.parametrize(
    "unit",
    ["t.m%d(a);\n", "at::f%d(t);\n", "torch::Tensor f%d(torch::Tensor a);\n", "AT_M%d(t)\n", "#include <ATen/h%d.h>\n"],
)
def test_time_does_not_grow_with_the_table(unit: str) -> None:
    """Names that no release has; each took a search of the whole table."""
    text = "#include <torch/extension.h>\nat::Tensor t;\n" + "".join(unit.replace("%d", str(n)) for n in range(5000))
    check_source("a.cpp", b"at::Tensor t; t.m(a);", "a.cpp")
    with at_most(1):
        check_source("a.cpp", text.encode(), "a.cpp")


def test_conditions_in_one_another_take_no_longer() -> None:
    """Each open condition was evaluated again at each directive."""
    text = "#if TORCH_VERSION_MAJOR > 3\n" * 30_000 + "#endif\n" * 29_999 + "#else\nauto z = at::symeig(x);\n#endif\n"
    with at_most(3):
        assert found(text) == ["at::symeig"]


def test_numbers_of_many_digits_are_not_read() -> None:
    """Python rejects more than 4,300 digits with a ValueError; GCC 12: integer constant is too large for its type."""
    text = f"#if TORCH_VERSION_MAJOR > {'9' * 5000}\nauto z = at::symeig(x);\n#endif\n"
    assert found(text) == []
