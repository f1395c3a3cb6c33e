"""The sources of packages that compile with HIP.

Oracle: csrc/cuda/utils.cuh of each source, compiled with Clang 19, c10::Half of torch 2.13 and the headers of HIP 5.2,
5.6, 5.7, 6.0 and 6.2 (the last also with -DHIP_ENABLE_WARP_SYNC_BUILTINS, which torch 2.8 sets), on 2026-11-26;
c10::optional is std::optional from torch 2.2 on (signatures in the release index)."""

from __future__ import annotations

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings

_OPTIONS = ScanOptions(None, None, LoaderSettings("/"))
_OF_SCATTER = "csrc/hip/segment_coo_hip.hip:41:13: error: call to '__shfl_up' is ambiguous"
_OF_SPARSE = "torch-sparse: csrc/hip/spmm_hip.hip:66:23: error: call to '__shfl' is ambiguous"
_HEAD = 'pytorch_scatter.git"'


def _fix(text: str) -> str:
    (subject,) = explain(text, _OPTIONS)
    return subject.causes[0].fix


@pytest.mark.parametrize(
    ("environment", "present", "absent"),
    [
        ("torch 2.4.0+rocm6.1", (_HEAD,), ("32caa1c", "2.1.2", "setuptools<70")),
        ("torch 2.0.1, ROCm 5.7", ("@32caa1c", '"setuptools<70"'), (_HEAD, "==2.1.2")),
        ("torch 1.13.1+rocm5.2", ("==2.1.2",), (".git", "==2.1.1")),
        ("torch 1.10.0+rocm4.2", ("==2.1.1",), (".git", "==2.1.2")),
        ("torch 2.9.0, ROCm 7.0", (_HEAD,), ("32caa1c", "2.1.2")),
        ("torch 2.1.0", ("HIP before 5.6", "@32caa1c", "==2.1.2"), (_HEAD,)),
    ],
)
def test_source_of_torch_scatter(environment: str, present: tuple[str, ...], absent: tuple[str, ...]) -> None:
    fix = _fix(f"{_OF_SCATTER}\n{environment}")
    assert "--force-reinstall" in fix
    assert [word for word in present if word not in fix] == []
    assert [word for word in absent if word in fix] == []


@pytest.mark.parametrize(
    ("environment", "present", "absent"),
    [
        ("torch 2.4.0+rocm6.1", ('pytorch_sparse.git"', "pip install scipy"), ("0.6.18", "bf2591a")),
        ("torch 2.1.0, ROCm 5.7", ("@bf2591a", '"numpy<2"'), ("0.6.18",)),
        ("torch 2.9.0, ROCm 7.0", ("sed -i 's/const unsigned mask/", "pyg-rocm-build"), ("git+",)),
    ],
)
def test_source_of_torch_sparse(environment: str, present: tuple[str, ...], absent: tuple[str, ...]) -> None:
    fix = _fix(f"{_OF_SPARSE}\n{environment}")
    assert [word for word in present if word not in fix] == []
    assert [word for word in absent if word in fix] == []


def test_wheels_of_another_project_are_for_rocm_5_7_and_later() -> None:
    assert "pyg-rocm-build" in _fix(f"{_OF_SCATTER}\nROCm 5.7")
    assert "pyg-rocm-build" not in _fix(f"{_OF_SCATTER}\nROCm 5.4.3")


def test_all_packages_that_a_text_names_are_built() -> None:
    text = (
        "PyTorch 2.10.0a0+git1234567 for ROCm 6.4; torch-scatter and torch-cluster: undefined symbol: "
        "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    )
    assert 'torch-cluster "git+https://github.com/rusty1s/pytorch_scatter.git"' in _fix(text)


def test_another_project_gets_an_overload() -> None:
    """tests/reports/test_hip.py compiles it."""
    fix = _fix("k.hip:4:3: error: call to '__shfl_xor' is ambiguous")
    assert "__device__ inline c10::Half __shfl_xor(c10::Half x," in fix


@pytest.mark.parametrize(
    "text",
    [
        "torch-scatter: call to '__shfl_up' is ambiguous",
        "ambiguous call to __shfl_down in torch-sparse, ROCm 6.0",
        "编译 torch_scatter 时报错: __shfl_up 调用有歧义",
        "torch-sparse 编译报错: 对 __shfl 的调用不明确",
    ],
)
def test_typed_messages(text: str) -> None:
    assert "git+https://github.com/rusty1s/pytorch_" in _fix(text)


def test_source_build_of_torch() -> None:
    fix = _fix(
        "I built PyTorch 2.4 from source for ROCm 6.1. The wheels of torch-scatter and torch-cluster do not load."
    )
    assert "torch.version.hip" in fix
    assert "nvcc" not in fix
    assert "pyg-rocm-build" not in fix
    assert '--no-binary torch-cluster "git+https://github.com/rusty1s/pytorch_scatter.git" torch-cluster' in fix


@pytest.mark.parametrize(
    ("text", "present", "absent"),
    [
        ("does rocm support __ldg with at::BFloat16 pointer", ("#include <c10/util/BFloat16.h>",), ("torch-scatter",)),
        (
            "nvcc can't find an __ldg overload for c10::BFloat16 in torch-scatter, torch 1.10, CUDA 11.3",
            ("torch==1.10.0+cu113", "--no-index torch-scatter"),
            ("HIP", "AMD"),
        ),
        (
            "/opt/dtk/hip/include/hip/amd_detail/hip_ldg.h:65: note: candidate function not viable: no known "
            "conversion from 'const c10::Half *' to 'const char *' for 1st argument",
            ("Replace `__ldg(p)` with `*p`",),
            (),
        ),
        ("no matching function for call to“__ldg”", ("Replace `__ldg(p)` with `*p`",), ()),
        ("How do I port __ldg to hip in a PyTorch extension", ("Replace", "only for torch-scatter"), ("X.Y", "NVIDIA")),
        (
            "use of undeclared identifier '__shfl_up_sync' building torch-scatter 2.0.9 with hipcc",
            (_HEAD, "==2.1.2"),
            ("#define",),
        ),
    ],
)
def test_the_compiler_and_the_package_that_a_text_names_decide(
    text: str, present: tuple[str, ...], absent: tuple[str, ...]
) -> None:
    """Oracle: torch/headeronly/util/BFloat16.h of torch 2.13 (`__CUDACC__` or `__HIPCC__`); Clang 19 with HIP 5.2."""
    fix = _fix(text)
    assert [word for word in present if word not in fix] == []
    assert [word for word in absent if word in fix] == []
