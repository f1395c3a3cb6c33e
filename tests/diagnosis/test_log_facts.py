"""Torch and Python versions in a log. The lines are output of collect_env, pip, conda and prompts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from abiscan.diagnosis.text.find_log_facts import log_facts
from abiscan.diagnosis.text.message_paths import paths_in


def _rows() -> list[dict[str, Any]]:
    path = Path(__file__).parent / "data" / "log_facts.toml"
    return [row for table in tomllib.loads(path.read_text(encoding="utf-8")).values() for row in table]


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["text"][:60])
def test_facts(row: dict[str, Any]) -> None:
    """The facts of a row; `unknown` stands for none."""
    facts = log_facts(row["text"])
    python = None if facts.python is None else ".".join(map(str, facts.python))
    found = {name: python if name == "python" else getattr(facts, name) for name in row if name != "text"}
    assert found == {name: None if value == "unknown" else value for name, value in row.items() if name != "text"}


def test_paths() -> None:
    text = "ImportError: /a/site-packages/x/_C.so: undefined symbol: f\nsee https://example.org/b.so and ./c.so"
    assert paths_in(text) == ("/a/site-packages/x/_C.so",)


def test_a_label_tells_the_string() -> None:
    """Release notes of PyTorch 2.6: its wheels for CUDA 12.6 are built with CXX11_ABI=1, those for CUDA 12.4 with 0."""
    assert log_facts("PyTorch version: 2.6.0+cu126").cxx11_abi is True
    assert log_facts("PyTorch version: 2.6.0+cu124").cxx11_abi is None
    # A name of the index https://download.pytorch.org/whl/cpu-cxx11-abi.
    assert log_facts("PyTorch version: 2.5.1+cpu.cxx11.abi").cxx11_abi is True


def test_the_only_shared_object_names_the_package() -> None:
    text = "flashinfer_kernels.abi3.so does not load"
    assert log_facts(text).project == "flashinfer-python"
    assert not log_facts(f"{text}, as flash_attn_2_cuda.so").project
    assert not log_facts("libfoo.so and libtorch_cpu.so").project
