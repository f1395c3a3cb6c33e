"""Replacements of `__ldg` that `explain` advises, compiled for every type by nvcc and by Clang with HIP's headers.
`hip_headers` has a stub of rocThrust, which torch's header for complex numbers uses."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.model.cause import CauseId, Confidence
from abiscan.releases import open_index
from tests.diagnosis.explained import explain
from tests.programs import run_program

SOURCES = Path(__file__).parent / "compiled"
NVCC, CLANG = shutil.which("nvcc"), shutil.which("clang++-19")
HIP = Path("/usr/include/hip/hip_runtime.h")
TYPES = (
    *("float", "double", "int", "int64_t", "bool", "__half"),
    *("c10::Half", "c10::BFloat16", "c10::complex<float>"),
)

pytestmark = [pytest.mark.slow, pytest.mark.torch]


@pytest.fixture
def nothing() -> Knowledge:
    return Knowledge(releases=open_index())


def failure(source: Path, read: str, *types: str, hip: bool, more: tuple[str, ...] = (), below: str = "") -> str:
    """The compiler's output; empty if it compiles.

    Args:
        more: options.
        below: code between the kernel and its instances.
    """
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    launches = "\n".join(f"template void launch<{each}>();" for each in types)
    source.write_text(f"{(SOURCES / 'read.cu').read_text()}{below}\n{launches}\n")
    options = ["-std=c++20", "-w", f"-DREAD={read}", f"-I{Path(spec.origin).parent}/include", *more]
    if hip:
        command = [str(CLANG), "-x", "hip", "--offload-arch=gfx90a", "--cuda-device-only", "-nogpulib", "-fsyntax-only"]
        options += [f"-I{SOURCES}/hip_headers", "-DUSE_ROCM", "-D__HIP_PLATFORM_AMD__", "-DTORCH_HIP_VERSION=502"]
        options += ["-include", "hip/hip_runtime.h"]
    else:
        command = [str(NVCC), "-arch=sm_90", "-c", "-o", str(source.with_suffix(".o"))]
    done = run_program([*command, *options, str(source)])
    return "" if done.returncode == 0 else done.stdout + done.stderr


compilers = pytest.mark.parametrize(
    "hip",
    [
        pytest.param(False, marks=pytest.mark.skipif(NVCC is None, reason="no nvcc here"), id="nvcc"),
        pytest.param(
            True,
            marks=pytest.mark.skipif(CLANG is None or not HIP.exists(), reason="no clang++-19 or no HIP headers here"),
            id="hip",
        ),
    ],
)


@compilers
def test_reads(tmp_path: Path, *, hip: bool) -> None:
    source = tmp_path / "read.cu"
    assert failure(source, "*", *TYPES, hip=hip) == ""
    reported = failure(source, "__ldg", "c10::complex<float>", hip=hip)
    assert ("no matching function" if hip else "no instance of overloaded function") in reported
    # With HIP, only torch's overload for BFloat16 is visible.
    assert (failure(source, "__ldg", "c10::Half", hip=hip) == "") is not hip
    assert failure(source, "__ldg", "c10::BFloat16", hip=hip) == ""
    assert failure(source, "__ldg", "__half", hip=hip) == ""


@compilers
def test_other_reads(tmp_path: Path, *, hip: bool) -> None:
    """torch's function, of the rule's page, and an overload for HIP alone: for the types of CUDA's own `__ldg`."""
    source = tmp_path / "read.cu"
    of_cuda = [each for each in TYPES if each != "bool" and "complex" not in each]
    header = ("-include", "ATen/cuda/DeviceUtils.cuh")
    assert failure(source, "doLdg", *of_cuda, hip=hip, more=header) == ""
    assert (failure(source, "doLdg", "bool", "c10::complex<float>", hip=hip, more=header) == "") is hip
    overload = ("-include", str(SOURCES / "overload.h"), "-DOVERLOADED=Half")
    assert failure(source, "__ldg", *of_cuda, hip=hip, more=overload) == ""
    (subject,) = explain("Can I reinterpret_cast c10::Half to __half before __ldg?", Knowledge())
    lines = subject.causes[0].fix.splitlines()
    first = lines.index("#ifdef USE_ROCM  // torch.utils.cpp_extension defines it for a torch of ROCm")
    code = "\n".join(lines[first : first + 3])
    cast = tmp_path / "cast.h"
    cast.write_text(f"#include <c10/util/Half.h>\n{code}\n")
    assert failure(source, "__ldg", *of_cuda, hip=hip, more=("-include", str(cast))) == ""
    if hip:
        (subject,) = explain(failure(source, "__ldg", "c10::Half", hip=True, below=code), Knowledge())
        assert subject.message == "load-declared-too-late"
        in_namespace = subject.causes[0].fix.partition("too: ")[2].partition("\n")[0]
        assert in_namespace.startswith("namespace c10 {")
        assert failure(source, "__ldg", *of_cuda, hip=True, below=in_namespace) == ""


@compilers
@pytest.mark.parametrize("overloaded", ["Half", "BFloat16"])
def test_a_second_overload_is_explained(tmp_path: Path, nothing: Knowledge, overloaded: str, *, hip: bool) -> None:
    """The compiler's message if a project and torch overload `__ldg` for one class."""
    more = ("-include", str(SOURCES / "overload.h"), f"-DOVERLOADED={overloaded}", "-DOVERLOADED_ALWAYS")
    reported = failure(tmp_path / "read.cu", "__ldg", f"c10::{overloaded}", hip=hip, more=more)
    if hip and overloaded == "Half":
        assert reported == ""
        return
    (subject,) = explain(reported, nothing)
    assert subject.message == "ambiguous-load"
    assert subject.causes[0].confidence is Confidence.HIGH


@compilers
def test_a_missing_overload_is_explained(tmp_path: Path, nothing: Knowledge, *, hip: bool) -> None:
    """The compiler's own message names the type, and notes of candidates name others."""
    kind = "c10::Half" if hip else "c10::complex<float>"
    (subject,) = explain(failure(tmp_path / "read.cu", "__ldg", kind, hip=hip), nothing)
    cause = subject.causes[0]
    assert (subject.message, cause.cause) == ("no-overload-of-intrinsic", CauseId.HALF_INTRINSIC)
    assert kind in " ".join(cause.evidence)
    assert cause.fix.startswith("Replace `__ldg(p)` with `*p`")


@compilers
@pytest.mark.parametrize("function", ["__ldca", "__ldcg", "__ldcs", "__ldcv", "__ldlu"])
def test_loads_with_a_cache_hint(tmp_path: Path, nothing: Knowledge, function: str, *, hip: bool) -> None:
    source, more = tmp_path / "read.cu", tmp_path / "fix.h"
    (subject,) = explain(failure(source, function, "c10::Half", hip=hip), nothing)
    fix = subject.causes[0].fix
    undeclared = hip and function in ("__ldcv", "__ldlu")
    assert subject.causes[0].cause == (CauseId.ROCM_NAMING if undeclared else CauseId.HALF_INTRINSIC)
    assert (f"Replace `{function}(p)` with `*p`" in fix) == (function in ("__ldca", "__ldcs", "__ldlu"))
    assert "compute in float" not in fix
    for_half = [line.partition("c10::Half: ")[2] for line in fix.splitlines() if "c10::Half: c10" in line]
    if for_half and not (hip and function == "__ldcg"):
        more.write_text(f"#define READ_HALF(p) {for_half[0]}\n")
        assert failure(source, "READ_HALF", "c10::Half", hip=hip, more=("-include", str(more))) == ""


# The types of CUDA's own shuffles that HIP has too.
SHUFFLED = ("float", "double", "int", "int64_t", "bool", "c10::BFloat16")


@compilers
@pytest.mark.parametrize("function", ["__shfl", "__shfl_up", "__shfl_down", "__shfl_xor"])
def test_warp_functions(tmp_path: Path, nothing: Knowledge, function: str, *, hip: bool) -> None:
    """A shuffle with a mask, as HIP's compiler reports it, and with the lines of the fix in front."""
    source, more = tmp_path / "read.cu", tmp_path / "fix.h"
    shuffle = f"#define SHUFFLE(p) {function}_sync(0xffffffff, *(p), 1)\n"
    more.write_text(shuffle)
    if hip:
        reported = failure(source, "SHUFFLE", "float", hip=True, more=("-include", str(more)))
        (subject,) = explain(reported, nothing)
        assert (subject.message, subject.causes[0].cause) == ("clang-no-warp-function", CauseId.ROCM_NAMING)
        lines = subject.causes[0].fix.splitlines()
        first = lines.index("#ifdef __HIP__  // Clang's HIP alone")
        more.write_text("\n".join((*lines[first : first + 3], shuffle)))
    of_hip = ("c10::Half",) if hip else ("__half",)
    assert failure(source, "SHUFFLE", *SHUFFLED, *of_hip, hip=hip, more=("-include", str(more))) == ""
