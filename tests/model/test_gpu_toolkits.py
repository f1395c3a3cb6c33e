"""Compute capabilities by CUDA release and by the names of GPUs.

Oracle: NVIDIA's release notes and https://developer.nvidia.com/cuda-gpus.
"""

from __future__ import annotations

import pytest

from abiscan.model.gpu_toolkits import capability_of_name, first_toolkit, last_toolkit


@pytest.mark.parametrize(
    ("capability", "first", "last"),
    [
        ("8.6", "11.1", None),
        ("8.9", "11.8", None),
        ("12.0", "12.8", None),
        ("3.5", None, "11.8"),
        ("7.0", "9.0", "12.9"),
    ],
)
def test_the_toolkits_that_compile_for_a_gpu(capability: str, first: str | None, last: str | None) -> None:
    assert first_toolkit(capability) == first
    assert last_toolkit(capability) == last


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("RTX 5090", "12.0"),
        ("rtx4090", "8.9"),
        ("RTX3090", "8.6"),
        ("RTX A6000", "8.6"),
        ("A100", "8.0"),
        ("H100", "9.0"),
        ("Tesla T4", "7.5"),
        ("V100", "7.0"),
        ("GTX 1080", "6.1"),
        ("K80", "3.7"),
        ("Arc A770", None),
    ],
)
def test_a_gpu_by_its_name(name: str, capability: str | None) -> None:
    assert capability_of_name(name) == capability
