"""Intrinsics without an overload: answers to the compiler's message; the advice compiles."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.model.cause import CauseId
from tests import torch_here
from tests.diagnosis.explained import explain
from tests.programs import run_program

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")]


def _compiled(tmp_path: Path, source: str, *flags: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "a.cu"
    file.write_text(source, encoding="utf-8")
    command = ["nvcc", "-std=c++20", "-arch=sm_80", *flags, "-c", file.name, "-o", "a.o"]
    return run_program(command, cwd=tmp_path)


def test_signed_integers_of_64_bits_are_added_as_unsigned(tmp_path: Path, nothing: Knowledge) -> None:
    kernel = "#include <cstdint>\n__global__ void add(int64_t* p, int64_t x) {{ {}; }}\n"
    refused = _compiled(tmp_path, kernel.format("atomicAdd(p, x)"))
    assert refused.returncode
    (subject,) = explain(refused.stderr + refused.stdout, nothing)
    (cause,) = subject.causes
    assert cause.cause is CauseId.HALF_INTRINSIC
    advised = "atomicAdd(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(x))"
    assert advised in cause.fix
    assert _compiled(tmp_path, kernel.format(advised)).returncode == 0


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["c10::Half", "c10::BFloat16"])
def test_torchs_own_atomic_takes_the_16_bit_classes(tmp_path: Path, nothing: Knowledge, kind: str) -> None:
    include = f"-I{torch_here.directory() / 'include'}"
    kernel = (
        "#include <HEADER>\n"
        "template <class T> __global__ void add(T* p, T x) { FUNCTION(p, x); }\n"
        f"template __global__ void add<{kind}>({kind}*, {kind});\n"
    )
    header = f"c10/util/{kind.partition('::')[2]}.h"
    refused = _compiled(tmp_path, kernel.replace("FUNCTION", "atomicAdd").replace("HEADER", header), include)
    assert refused.returncode
    fix = explain(refused.stderr + refused.stdout, nothing)[0].causes[0].fix
    assert "write gpuAtomicAdd for atomicAdd and #include <ATen/cuda/Atomic.cuh>" in fix
    followed = kernel.replace("FUNCTION", "gpuAtomicAdd").replace("HEADER", "ATen/cuda/Atomic.cuh")
    assert _compiled(tmp_path, followed, include).returncode == 0


# Flags of torch.utils.cpp_extension for nvcc (COMMON_NVCC_FLAGS there).
_OF_TORCH = ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS", "HALF2_OPERATORS")
_OPERATIONS = {
    "__half": (
        *("q[0] = h[0];", "f[0] = h[0];", "h[1] = f[0];"),
        *("h[2] = h[0] + h[1];", "h[3] += h[0];", "h[4] = __half(q[0]);"),
    ),
    "__half2": ("h2[0] = h2[1] * h2[2];",),
    "__nv_bfloat16": ("f[1] = b[0];", "b[1] = f[2];"),
}


@pytest.mark.parametrize(("kind", "operation"), [(kind, each) for kind, rows in _OPERATIONS.items() for each in rows])
def test_what_torch_takes_from_the_16_bit_types_of_cuda(
    tmp_path: Path, nothing: Knowledge, kind: str, operation: str
) -> None:
    kernel = (
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
        "__global__ void k(__half* h, int* q, float* f, __nv_bfloat16* b, __half2* h2) { OPERATION }\n"
    ).replace("OPERATION", operation)
    flags = [f"-D__CUDA_NO_{macro}__" for macro in _OF_TORCH]
    refused = _compiled(tmp_path, kernel, *flags)
    assert refused.returncode
    subject, *_ = explain(refused.stderr + refused.stdout, nothing)
    assert subject.text == kind
    (cause,) = subject.causes
    assert cause.cause is CauseId.HALF_INTRINSIC
    advised = re.findall(r'"(-U__CUDA_NO_\w+__)"', cause.fix)
    assert advised
    assert _compiled(tmp_path, kernel, *flags, *advised).returncode == 0
