"""Distributions of the package index with CUDA toolkit libraries.

`tools/check_cuda_distributions.py` queries the index for each; last checked 2026-11-25. Since CUDA 13 they have no
suffix. The sonames of some contain the major CUDA release. cuDNN, NCCL, cuFFT and others have version numbers of their
own, as have their distributions: the suffix is the CUDA release.
"""

from __future__ import annotations

CUDA_DISTRIBUTIONS = frozenset(
    (
        *("nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime>=13,<14"),
        *("nvidia-cublas-cu11", "nvidia-cublas-cu12", "nvidia-cublas>=13,<14"),
        *("nvidia-cuda-nvrtc-cu11", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc>=13,<14"),
        *("nvidia-nvjitlink-cu12", "nvidia-nvjitlink>=13,<14"),
        *("nvidia-cuda-cupti-cu11", "nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti>=13,<14"),
        *("nvidia-npp-cu11", "nvidia-npp-cu12", "nvidia-npp>=13,<14"),
        *("nvidia-nvjpeg-cu11", "nvidia-nvjpeg-cu12", "nvidia-nvjpeg>=13,<14"),
        *("nvidia-cufft-cu11>=10,<11", "nvidia-cufft-cu12>=11,<12", "nvidia-cufft>=12,<13"),
        *("nvidia-curand-cu11>=10,<11", "nvidia-curand-cu12>=10,<11", "nvidia-curand>=10,<11"),
        *("nvidia-cusolver-cu11>=11,<12", "nvidia-cusolver-cu12>=11,<12", "nvidia-cusolver>=12,<13"),
        *("nvidia-cusparse-cu11>=11,<12", "nvidia-cusparse-cu12>=12,<13", "nvidia-cusparse>=12,<13"),
        *("nvidia-nvshmem-cu12>=3,<4", "nvidia-nvshmem-cu13>=3,<4"),
        *("nvidia-cudnn-cu11>=8,<9", "nvidia-cudnn-cu12>=8,<9"),
        *("nvidia-cudnn-cu11>=9,<10", "nvidia-cudnn-cu12>=9,<10", "nvidia-cudnn-cu13>=9,<10"),
        *("nvidia-nccl-cu11>=2,<3", "nvidia-nccl-cu12>=2,<3", "nvidia-nccl-cu13>=2,<3"),
        *("nvidia-cusparselt-cu12>=0,<1", "nvidia-cusparselt-cu13>=0,<1"),
    )
)
"""Requirements that some release on the index satisfies."""
