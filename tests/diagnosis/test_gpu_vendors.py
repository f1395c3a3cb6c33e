"""The vendor of the GPU in a text, and the answers that depend on it.

Oracle: names of GPUs and architectures of the vendors; the log of https://github.com/rusty1s/pytorch_scatter/issues/412
(/opt/dtk); building.yml of rusty1s/pytorch_scatter at 2.1.1 (torch 1.13.0 excludes Python 3.11)."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.text.gpu_vendors import find_capability, find_gpu_vendor, find_rocm


@pytest.mark.parametrize(
    ("text", "vendor"),
    [
        ("/opt/dtk/bin/hipcc --offload-arch=gfx906", "dcu"),
        ("GH200 aarch64, torch 1.13", "nvidia"),
        ("I compiled PyTorch 2.2.0 from source without CUDA (USE_CUDA=0)", "cpu"),
        ("USE_CUDA=0 USE_ROCM=1 python setup.py develop", "amd"),
        ("HIP是AMD提供的CUDA兼容层, 在AMD GPU上运行原本为NVIDIA GPU优化的代码", ""),
        ("gfx906 here, RTX 3090 there", ""),
        ("RTX 3090, but the log has /opt/rocm/bin/hipcc", "nvidia"),
        ("/opt/rocm/bin/hipcc, CUDA 11.8", ""),
        ("/opt/rocm/bin/hipcc -DUSE_ROCM; nvcc not found", "amd"),
        ("torch 2.1.0 with CUDA 12.1", ""),
    ],
)
def test_vendor(text: str, vendor: str) -> None:
    """The rows of `catalogue/text_facts.toml` have examples of each vendor alone."""
    assert find_gpu_vendor(text) == vendor


@pytest.mark.parametrize(
    ("text", "rocm"),
    [
        ("ROCm 5.7 + torch 2.0.1", "5.7"),
        ("rocm5.7_ubuntu22.04", "5.7"),
        ("/opt/rocm-6.2.0/lib/llvm", "6.2"),
        ("torch 2.4.0+rocm6.1", "6.1"),
        ("HIP version: 5.6.31061-8c743ae5d", "5.6"),
        ("ROCm 5.6 and ROCm 6.0", ""),
        ("hipcc 5.7", "5.7"),
        ("python-pytorch-rocm 2.2.1 with ROCm 6.0", "6.0"),
        ("ROCm", ""),
    ],
)
def test_release_of_rocm(text: str, rocm: str) -> None:
    assert find_rocm(text) == rocm


def test_capability() -> None:
    assert [find_capability(each) for each in ("NVIDIA H100", "RTX 5090", "H100, A100")] == ["9.0", "12.0", ""]
    # https://developer.nvidia.com/cuda-legacy-gpus
    older = ("Tesla K40c", "Tesla P100", "Tesla K80, Tesla K40")
    assert [find_capability(each) for each in older] == ["3.5", "6.0", ""]
