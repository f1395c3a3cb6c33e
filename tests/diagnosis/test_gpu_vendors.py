"""The vendor of the GPU in a text, and the answers that depend on it.

Oracle: names of GPUs and architectures of the vendors; the log of https://github.com/rusty1s/pytorch_scatter/issues/412
(/opt/dtk); building.yml of rusty1s/pytorch_scatter at 2.1.1 (torch 1.13.0 excludes Python 3.11)."""

from __future__ import annotations

from abiscan.diagnosis.text.find_log_facts import find_capability, find_gpu_vendor, find_rocm
from tests.tables import table_rows


@table_rows
def test_vendor(text: str, vendor: str) -> None:
    """The rows of `catalogue/text_facts.toml` have examples of each vendor alone."""
    assert find_gpu_vendor(text) == vendor


@table_rows
def test_release_of_rocm(text: str, rocm: str) -> None:
    assert find_rocm(text) == rocm


def test_capability() -> None:
    assert [find_capability(each) for each in ("NVIDIA H100", "RTX 5090", "H100, A100")] == ["9.0", "12.0", ""]
    # https://developer.nvidia.com/cuda-legacy-gpus
    older = ("Tesla K40c", "Tesla P100", "Tesla K80, Tesla K40")
    assert [find_capability(each) for each in older] == ["3.5", "6.0", ""]
