"""Intrinsics without an overload: what the compiler's own message is answered with; what is advised compiles."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.diagnosis import Knowledge, explain
from abiscan.model.cause import CauseId
from tests import torch_here

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")


def _compiled(tmp_path: Path, source: str, *flags: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "a.cu"
    file.write_text(source, encoding="utf-8")
    command = ["nvcc", "-std=c++20", "-arch=sm_80", *flags, "-c", file.name, "-o", "a.o"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


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
