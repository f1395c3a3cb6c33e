"""Vendors of GPUs, as facts of a text name them."""

from __future__ import annotations

from typing import Final

NVIDIA: Final = "nvidia"
AMD: Final = "amd"
DCU: Final = "dcu"
NPU: Final = "npu"
"""Huawei (Ascend)."""
XPU: Final = "xpu"
"""Intel."""
NO_GPU: Final = "cpu"
"""A build of torch without GPU."""
NOT_NVIDIA: Final = (AMD, DCU, NPU, XPU)
WITHOUT_CUDA_CODE: Final = (NO_GPU, NPU, XPU)
"""Their torch contains no CUDA code, nor HIP."""
