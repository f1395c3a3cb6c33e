"""Compute capabilities by CUDA release and by the names of GPUs.

Oracle: NVIDIA's release notes and https://developer.nvidia.com/cuda-gpus.
"""

from __future__ import annotations

from abiscan.model.gpu_toolkits import capability_of_name, first_toolkit, last_toolkit
from tests.tables import table_rows


@table_rows
def test_the_toolkits_that_compile_for_a_gpu(capability: str, first: str | None, last: str | None) -> None:
    assert first_toolkit(capability) == first
    assert last_toolkit(capability) == last


@table_rows
def test_a_gpu_by_its_name(name: str, capability: str | None) -> None:
    assert capability_of_name(name) == capability
