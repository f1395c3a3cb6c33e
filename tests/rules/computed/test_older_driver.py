"""Runtimes by soname, and drivers that support them: CUDA's release notes, "CUDA Toolkit and Minimum Required Driver
Version for CUDA Minor Version Compatibility"."""

from __future__ import annotations

import pytest

from abiscan.rules import rule
from abiscan.rules.computed.gpu_rules import find_newer_cuda


@pytest.mark.parametrize(
    ("soname", "driver", "served"),
    [
        *(("libcudart.so.12", 524, False), ("libcudart.so.12", 525, True), ("libcublas.so.13", 575, False)),
        *(("libcudart.so.13", 580, True), ("libcudart.so.11.0", 450, True), ("libnvrtc.so.11.2", 440, False)),
        # In no table: libcufft has numbers of its own, and ROCm has no NVIDIA driver.
        *(("libcudart.so.10.2", 300, True), ("libcufft.so.11", 300, True), ("libamdhip64.so.6", 300, True)),
    ],
)
def test_a_runtime_and_a_driver(soname: str, driver: int, served: bool) -> None:
    found = list(find_newer_cuda(rule("cuda-newer-than-driver"), ["libc.so.6", soname], "m", driver))
    assert [soname in each.message and f"driver {driver}" in each.message for each in found] == [True] * (not served)
