"""Which projects of torch extensions publish their source on the package index, so that pip can build them.

`tools/check_source_projects.py` asks the index; last asked 2026-11-22. A project that is not listed may publish none:
nothing then may tell a user to have pip build it.
"""

from __future__ import annotations

PUBLISH_SOURCE = frozenset(
    (
        *("auto-gptq", "causal-conv1d", "deepspeed", "fairseq", "flash-attn", "flashinfer-python", "gptqmodel"),
        *("grouped-gemm", "gsplat", "kaldifeat", "lmcache", "mamba-ssm", "metatensor-torch", "metatomic-torch"),
        *("minkowskiengine", "mmcv", "mmcv-full", "natten", "neml2", "torch-cluster"),
        *("torch-points-kernels", "torch-scatter", "torch-sparse", "torch-spline-conv", "torchsort"),
        *("transformer-engine-torch", "vllm", "warp-rnnt", "xformers"),
    )
)
"""Normalised names (PEP 503) of projects whose newest release has a source distribution."""
