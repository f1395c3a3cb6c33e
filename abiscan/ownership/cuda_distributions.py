"""Which distributions of the package index bring a library of the CUDA toolkit whose soname counts its major releases.

`tools/check_cuda_distributions.py` asks the index for each; last asked 2026-11-22. From CUDA 13 on they have no suffix
and are versioned with the toolkit. cuDNN, NCCL and cuSPARSELt count releases of their own, so that their sonames tell
none of CUDA; the suffix does.
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
