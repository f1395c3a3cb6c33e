"""The vendor of the GPU in a text, and the answers that depend on it.

Oracle: names of GPUs and architectures of the vendors; the log of https://github.com/rusty1s/pytorch_scatter/issues/412
(/opt/dtk); building.yml of rusty1s/pytorch_scatter at 2.1.1 (torch 1.13.0 excludes Python 3.11)."""

from __future__ import annotations

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.scan_options import ScanOptions
from abiscan.diagnosis.messages.gpu_vendors import find_capability, find_gpu_vendor, find_rocm
from abiscan.loader import LoaderSettings

_OPTIONS = ScanOptions(None, None, LoaderSettings("/"))


@pytest.mark.parametrize(
    ("text", "vendor"),
    [
        ("/opt/dtk/bin/hipcc --offload-arch=gfx906", "dcu"),
        ("GH200 aarch64, torch 1.13", "nvidia"),
        ("I compiled PyTorch 2.2.0 from source without CUDA (USE_CUDA=0)", "cpu"),
        ("USE_CUDA=0 USE_ROCM=1 python setup.py develop", "amd"),
        ("HIP是AMD提供的CUDA兼容层, 在AMD GPU上运行原本为NVIDIA GPU优化的代码", ""),
        ("gfx906 here, RTX 3090 there", ""),
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
    assert [find_capability(each) for each in ("Tesla K40c", "Tesla P100", "Tesla K80, Tesla K40")] == [
        "3.5",
        "6.0",
        "",
    ]


@pytest.mark.parametrize(
    ("text", "present", "absent"),
    [
        (
            "building torch-cluster with ROCm fails: segment_csr_cuda.hip:188:20: error: no matching function for call "
            "to '__ldg' (c10::Half)",
            ("pytorch_scatter.git",),
            ("NVIDIA", "data.pyg.org", "torch-cluster"),
        ),
        (
            "torch-cluster 1.5.9 on ROCm 5.7 torch 2.3: error: no matching function for call to '__ldg' (c10::Half)",
            (
                "--branch 1.5.9 https://github.com/rusty1s/pytorch_cluster",
                "FORCE_CUDA=1 pip install",
                "in DIRECTORY",
                "pyg-rocm-build",
            ),
            ("cu1", "torch-scatter"),
        ),
        (
            "Windows 11, RTX 4090, torch 2.12.0+cu126: torch_scatter does not compile, __ldg has no overload for "
            "c10::Half",
            ("/whl/cu126", "--no-index torch-scatter", "if the page lists one for Windows"),
            ("HIP", "AMD", "both have wheels"),
        ),
        (
            "RTX 3090 CUDA 11.8 torch 1.13: torch_scatter, segment_csr_cuda.hip error no matching function for call to "
            "'__ldg'",
            ("The `.hip` file shows", "torch-1.13.0+cu117.html"),
            ("AMD", "pytorch_scatter.git"),
        ),
        (
            "AMD RX 7900 XTX on Windows 11, torch 2.8.0, torch-scatter: no matching function for call to '__ldg' HIP",
            ('set "FORCE_CUDA=1"', "pytorch_scatter.git"),
            ("pyg-rocm-build", "cu12"),
        ),
        (
            "no matching function for call to '__ldg' c10::Half HIP",
            ("only for torch-scatter: its kernels", '"torch-scatter __ldg HIP"', "Replace `__ldg(p)` with `*p`"),
            ("cuNNN", "this alone", "Other sources"),
        ),
    ],
)
def test_the_gpu_and_the_platform_decide(text: str, present: tuple[str, ...], absent: tuple[str, ...]) -> None:
    """Oracle: the texts; csrc of torch-cluster 1.3 to 1.6.3 has no file segment_csr; torch's wheels for CUDA do not run
    on GPUs of AMD; README.md of pyg-rocm-build names Linux alone."""
    (subject,) = explain(text, _OPTIONS)
    fix = subject.causes[0].fix
    assert [word for word in present if word not in fix] == []
    assert [word for word in absent if word in fix] == []
    assert ("HIP's" in " ".join(subject.causes[0].evidence)) is ("Windows 11, RTX" not in text)
