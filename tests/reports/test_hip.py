"""`__ldg` of c10::Half under HIP, as in docs/tutorials/hip.md.

The oracles are torch's own hipify, Clang with HIP's headers (Debian: clang-19, libamdhip64-dev), and nvcc where it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.model.cause import CauseId
from tests import torch_here
from tests.diagnosis.explained import explain
from tests.programs import output_of, run_program

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs/tutorials/files/segment_csr_cuda.cu"
STUBS = ROOT / "tests/source/compiled/hip_headers"
CLANG, NVCC = shutil.which("clang++-19"), shutil.which("nvcc")
HIPIFY = """
import sys
from torch.utils.hipify.hipify_python import hipify
folder, source = sys.argv[1:]
made = hipify(folder, output_directory=folder, includes=["*"], is_pytorch_extension=True, extra_files=[source])
print(next(each.hipified_path for path, each in made.items() if path == source))
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.torch,
    pytest.mark.skipif(
        CLANG is None or not Path("/usr/include/hip/hip_runtime.h").exists(), reason="no clang++-19 or no HIP headers"
    ),
]


def compiled_by_hip(source: Path) -> str:
    """Clang's messages about the file that hipify makes of a source."""
    made = output_of([sys.executable, "-W", "ignore", "-c", HIPIFY, str(source.parent), str(source)]).splitlines()[-1]
    command = [str(CLANG), "-x", "hip", "--offload-arch=gfx90a", "--cuda-device-only", "-nogpulib", "-fsyntax-only"]
    command += ["-std=c++20", "-w", f"-I{STUBS}", f"-I{torch_here.directory()}/include", "-DUSE_ROCM"]
    command += ["-D__HIP_PLATFORM_AMD__", "-DTORCH_HIP_VERSION=502", "-include", "hip/hip_runtime.h", made]
    return run_program(command).stderr


_SHUFFLES = """#include <c10/util/Half.h>
{overloads}
template <typename T> __global__ void k(T* o) {{
  o[0] = __shfl(o[1], 1); o[2] = __shfl_up(o[3], 1); o[4] = __shfl_down(o[5], 1); o[6] = __shfl_xor(o[7], 1);
}}
template __global__ void k<float>(float*);
template __global__ void k<double>(double*);
template __global__ void k<int>(int*);
template __global__ void k<long>(long*);
template __global__ void k<c10::Half>(c10::Half*);
"""


def test_the_printed_overloads_of_shuffles_compile(tmp_path: Path) -> None:
    """With the headers here: HIP 5.2 of Debian has no shuffle of __half, later releases have."""
    overloads = []
    for name in ("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor"):
        (subject,) = explain(f"k.hip:4:3: error: call to '{name}' is ambiguous", Knowledge())
        overloads += subject.causes[0].fix.splitlines()[1:]
    source = tmp_path / "shuffles_cuda.cu"
    source.write_text(_SHUFFLES.format(overloads="\n".join(overloads)))
    assert compiled_by_hip(source) == ""


def test_the_fixed_source_compiles_after_hipify(tmp_path: Path) -> None:
    source = tmp_path / "reads_cuda.cu"  # of no known package: for torch-scatter, another release is the fix
    source.write_text(SOURCE.read_text())
    (subject,) = explain(compiled_by_hip(source), Knowledge())
    assert subject.causes[0].cause is CauseId.HALF_INTRINSIC
    assert "reads_hip.hip: edit the `.cu`" in subject.causes[0].fix

    fix = [sys.executable, "-m", "abiscan", "fix", "--apply", "--force", source.name]
    subprocess.run(fix, cwd=tmp_path, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert compiled_by_hip(source) == ""
    if NVCC is not None:
        include = f"-I{torch_here.directory()}/include"
        done = tmp_path / "reads_cuda.o"
        command = [NVCC, "-std=c++20", "-w", "-arch=sm_90", "-c", include, str(source), "-o", str(done)]
        subprocess.run(command, check=True, capture_output=True)
