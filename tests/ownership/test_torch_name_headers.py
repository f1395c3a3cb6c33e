"""The table of headers that declare names of torch."""

from __future__ import annotations

import re

import pytest

from abiscan.ownership.torch_headers import header_of_name, names_by_header
from tests import torch_here


@pytest.mark.torch
@pytest.mark.parametrize("header", names_by_header())
def test_a_header_declares_its_names(header: str) -> None:
    """Oracle: the headers of the installed torch. CUDAContext.h includes those that declare its names."""
    include = torch_here.directory() / "include"
    text = (include / header).read_text()
    text += "".join(
        (include / each).read_text() for each in re.findall(r"#include <((?:c10|ATen)/cuda/CUDA\w+\.h)>", text)
    )
    for name in names_by_header()[header]:
        assert re.search(rf"\b{name[:-1]}" if name.endswith("*") else rf"\b{name}\b", text), name


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("AT_DISPATCH_V2", "ATen/Dispatch_v2.h"),
        ("AT_DISPATCH_ALL_TYPES", "ATen/Dispatch.h"),
        ("TORCH_CHECK_EQ", "c10/util/Exception.h"),
        ("AT_DISPATCH", None),
    ],
)
def test_a_whole_name_takes_precedence(name: str, header: str | None) -> None:
    """Oracle: ATen/Dispatch_v2.h and ATen/Dispatch.h of torch 2.13.0."""
    assert header_of_name(name) == header
