"""Evidence from assertions about the headers that a file was compiled with.

The oracles are compilers: `tests/fixtures/drift/*-torch-2.8.so` were made with the headers of torch 2.8.0 and
`*-torch-2.13.so` with those of 2.13.0 by g++ 12.2; results of g++ and clang++ for `SOURCE` are listed below."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.releases.assertions import MARK, Assertion, assertions_in
from abiscan.releases.layout_table import SHIPPED, LayoutTable
from abiscan.releases.read_layouts import read_assertions
from tests import torch_here
from tests.tables import data_text, table_rows

DRIFT = Path(__file__).parents[1] / "fixtures" / "drift"

SOURCE = data_text(__file__, "assertions.cpp")
# `strings` of the compiled file, without the folder: g++ 12.2 has line 4, clang++ 14 and 19 have line 7.
TEXTS = (
    b"a > 0 INTERNAL ASSERT FAILED at "
    b'"/x/site-packages/torch/include/c10/core/X.h":3, please report a bug to PyTorch. ',
    b"same(a, (a + 1)) && a != ')' INTERNAL ASSERT FAILED at "
    b'"/x/site-packages/torch/include/c10/core/X.h":4, please report a bug to PyTorch. ',
    b"same(a, (a + 1)) && a != ')' INTERNAL ASSERT FAILED at "
    b'"/x/site-packages/torch/include/c10/core/X.h":7, please report a bug to PyTorch. ',
)


@pytest.fixture(scope="module")
def table() -> LayoutTable:
    return LayoutTable(SHIPPED)


def test_what_a_header_asserts_is_what_a_compiler_makes_of_it(tmp_path: Path) -> None:
    header = tmp_path / "c10" / "core" / "X.h"
    header.parent.mkdir(parents=True)
    header.write_text(SOURCE)
    one, other = read_assertions(tmp_path)
    first, second, third = assertions_in(TEXTS)
    assert (one.first, one.last, other.first, other.last) == (3, 3, 4, 7)
    assert one.is_at(first)
    assert other.is_at(second)
    assert other.is_at(third)
    assert not one.is_at(second)
    assert not other.is_at(Assertion(second.header, 8, 8, second.condition))


@pytest.mark.parametrize(
    ("file", "release"),
    [("registers-torch-2.8.so", "2.8.0"), ("generator-torch-2.8.so", "2.8.0"), ("generator-torch-2.13.so", "2.13.0")],
)
def test_a_file_has_the_assertions_of_the_headers_that_it_was_compiled_with(
    table: LayoutTable, file: str, release: str
) -> None:
    seen = assertions_in(open_elf(DRIFT / file).strings_with(MARK))
    of_headers = [table.releases_in(table.asserting(each)) for each in seen]
    assert any(of_headers)
    assert all(release in releases for releases in of_headers if releases)
    other = {"2.8.0": "2.13.0", "2.13.0": "2.8.0"}[release]
    assert not all(other in releases for releases in of_headers if releases)


@pytest.mark.torch
def test_the_index_has_what_the_installed_headers_assert(table: LayoutTable) -> None:
    assert set(read_assertions(torch_here.directory() / "include")) == set(table.assertions["2.13.0"])


@pytest.mark.parametrize(
    "text",
    [
        b'a INTERNAL ASSERT FAILED at "/src/vision/csrc/ops.cpp":12, please report',
        b'a INTERNAL ASSERT FAILED at "/x/include/c10/core/X.h":99999999999, please report',
        b'a INTERNAL ASSERT FAILED at "/x/include/c10/core/X.h"',
        b'\xff\xfe INTERNAL ASSERT FAILED at "include/other/X.h":1,',
    ],
)
def test_other_texts_tell_nothing(text: bytes) -> None:
    assert assertions_in([text]) == ()


@table_rows
def test_a_header_is_named_below_its_folder(path: str, header: str | None) -> None:
    found = assertions_in([f'a INTERNAL ASSERT FAILED at "{path}":7, please'.encode()])
    assert [each.header for each in found] == ([header] if header is not None else [])


def test_hostile_texts_take_no_time() -> None:
    """Each would take minutes in a backtracking search."""
    text = b'include/ATen/ INTERNAL ASSERT FAILED at "' * 20_000
    assert assertions_in([text, b"/*" * 2000 + MARK + b"include/ATen/" * 300 + b'":1,'] * 50_000) is not None


def test_names_with_invalid_text_are_harmless(table: LayoutTable) -> None:
    (seen,) = assertions_in([b'\xff INTERNAL ASSERT FAILED at "/x/include/c10/\xff\t\n.h":1, please'])
    assert table.asserting(seen) == 0
