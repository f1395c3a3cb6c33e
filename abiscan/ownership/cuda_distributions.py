"""Distributions of the package index with CUDA toolkit libraries, for sonames with the major CUDA release.

`tools/check_cuda_distributions.py` queries the index for each; last checked 2026-11-22. Since CUDA 13 they have no
suffix and the version of the toolkit. cuDNN, NCCL and cuSPARSELt have version numbers of their own, so their sonames do
not contain the CUDA release; the suffix does.
"""

from __future__ import annotations

CUDA_DISTRIBUTIONS = frozenset(
    (
        *("nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime>=13,<14"),
        *("nvidia-cublas-cu11", "nvidia-cublas-cu12", "nvidia-cublas>=13,<14"),
        *("nvidia-cuda-nvrtc-cu11", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc>=13,<14"),
        *("nvidia-nvjitlink-cu12", "nvidia-nvjitlink>=13,<14"),
        *("nvidia-cuda-cupti-cu11", "nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti>=13,<14"),
        *("nvidia-cudnn-cu11>=8,<9", "nvidia-cudnn-cu12>=8,<9"),
        *("nvidia-cudnn-cu11>=9,<10", "nvidia-cudnn-cu12>=9,<10", "nvidia-cudnn-cu13>=9,<10"),
        *("nvidia-nccl-cu11>=2,<3", "nvidia-nccl-cu12>=2,<3", "nvidia-nccl-cu13>=2,<3"),
        *("nvidia-cusparselt-cu12>=0,<1", "nvidia-cusparselt-cu13>=0,<1"),
    )
)
"""Requirements that some release on the index satisfies."""
