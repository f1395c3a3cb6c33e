"""The table of the first releases with Python names of torch."""

from __future__ import annotations

import re

import pytest

from abiscan.data import read_table
from tests import torch_here

RELEASES = read_table("torch_python_names.toml", dict[str, str])


@pytest.mark.torch
@pytest.mark.parametrize("name", RELEASES)
def test_the_installed_torch_has_the_name(name: str) -> None:
    """Oracle: the Python files of the installed torch, which is newer than each release of the table."""
    folder = torch_here.directory().parent
    module, _, attribute = name.rpartition(".")
    path = folder.joinpath(*name.split("."))
    if path.is_dir() or path.with_suffix(".py").is_file():
        return
    parent = folder.joinpath(*module.split("."))
    files = [
        parent.with_suffix(".py"),
        parent / "__init__.py",
        parent / "_C" / "__init__.pyi",
        folder / "torch/_C/_VariableFunctions.pyi",
    ]
    files += [*parent.glob("modules/__init__.py"), folder / "torch/_C/__init__.pyi"]
    assert any(re.search(rf"\b{attribute}\b", each.read_text()) for each in files if each.is_file())


@pytest.mark.parametrize("release", sorted(set(RELEASES.values())))
def test_a_release_is_a_minor_release(release: str) -> None:
    assert re.fullmatch(r"[12]\.\d{1,2}", release)
