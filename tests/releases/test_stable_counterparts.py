"""The table of stable counterparts, compared with the release index and the headers of the installed torch."""

from __future__ import annotations

import re

import pytest

from abiscan.model.migration_plan import CounterpartKind
from abiscan.releases.stable_counterparts import counterpart_of, counterparts, source_counterpart, source_words
from tests.tables import table_rows
from tools.check_stable_counterparts import found_in, guard_of, installed, problems


def test_no_shim_is_newer_than_its_row() -> None:
    assert list(problems({})) == []


@pytest.mark.torch
def test_the_headers_of_the_installed_torch_agree_with_the_table() -> None:
    headers = installed()
    assert headers
    assert list(problems(headers)) == []


def test_a_row_is_whole() -> None:
    for row in counterparts():
        needs_torch = row.kind in (CounterpartKind.STABLE, CounterpartKind.HEADERONLY, CounterpartKind.SHIM)
        assert bool(row.header and row.evidence and row.since) == needs_torch, row
        assert row.use
        assert row.imports or row.sources


def test_no_name_and_no_word_is_in_two_rows() -> None:
    for field in ("imports", "sources"):
        names = [name for row in counterparts() for name in getattr(row, field)]
        assert sorted({name for name in names if names.count(name) > 1}) == []


@table_rows
def test_the_row_of_a_name(name: str, kind: str) -> None:
    found = counterpart_of(name)
    assert found is not None
    assert found.kind.value == kind


@table_rows
def test_the_row_of_a_name_in_a_source(name: str, kind: str, use: str) -> None:
    found = source_counterpart(name)
    assert found is not None
    assert found.kind.value == kind
    assert use in found.use


@pytest.mark.parametrize("name", ["at::nowhere", "c10::Storage", "at::Tensor::compose", "AT_NOTHING"])
def test_a_name_without_a_row_is_unknown(name: str) -> None:
    """`c10::Storage` has a row for files only: what inline functions of headers call."""
    assert source_counterpart(name) is None


@pytest.mark.torch
def test_every_type_of_an_element_has_its_row() -> None:
    """By the macros of the installed torch's headers; without quantized types, bits and small integers."""
    words = source_words()
    (headers,) = installed().values()
    scalars = re.findall(
        r"_\([\w:]+, ([A-Z]\w+)\)", (headers / "headeronly/core/ScalarType.h").read_text(encoding="utf-8")
    )
    others = ("Q", "Bits", "U")
    for name in {each for each in scalars if not each.startswith(others)} | {"UInt16", "UInt32", "UInt64"}:
        assert re.fullmatch(r"(Int|UInt)[1-7]", name) or {f"at::k{name}", f"torch::k{name}"} <= words.keys(), name
    sized = re.findall(
        r"constexpr auto (k\w+) = ", (headers / "csrc/api/include/torch/types.h").read_text(encoding="utf-8")
    )
    assert len(sized) > 10
    assert {f"torch::{name}" for name in sized} <= words.keys()


def test_a_guard_is_read() -> None:
    header = "#ifdef A\n#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_11_0\nvoid f();\n#endif\nvoid g();\n#endif\n"
    assert (guard_of(header, "f"), guard_of(header, "g")) == ("2.11.0", None)
    assert found_in(header, "f")
    assert not found_in(header, "h")
