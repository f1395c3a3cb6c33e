"""A CUDA library that was not found: its release, and where it is. Oracle: what solved the threads that are named."""

from __future__ import annotations

from abiscan.library.api import explain

MISSING = "ImportError: {}: cannot open shared object file: No such file or directory\n"


def test_from_cuda_11_on_a_name_has_the_major_release() -> None:
    """https://docs.nvidia.com/cuda/cuda-toolkit-release-notes: libcudart.so.11.0 is of every CUDA 11."""
    text = MISSING.format("libcudart.so.11.0") + "torch 2.0.1+cu118"
    assert "built for CUDA 11.8, the same CUDA release" in " ".join(
        line for cause in explain(text)[0].causes for line in cause.evidence
    )
