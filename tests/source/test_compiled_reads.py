"""Replacements of `__ldg` that `explain` advises, compiled for every type by nvcc and by Clang with HIP's headers.
`hip_headers` has a stub of rocThrust, which torch's header for complex numbers uses."""

from __future__ import annotations

import functools
import re
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.model.cause import CauseId, Confidence
from abiscan.releases import open_index
from tests import torch_here
from tests.diagnosis.explained import explain
from tests.programs import run_program

SOURCES = Path(__file__).parent / "compiled"
NVCC, CLANG = shutil.which("nvcc"), shutil.which("clang++-19")
HIP = Path("/usr/include/hip/hip_runtime.h")
COMPLEX = "c10::complex<float>"
# The types of CUDA's own `__ldg`, and of its shuffles that HIP has too.
OF_CUDA = ("float", "double", "int", "int64_t", "__half", "c10::Half", "c10::BFloat16")
SHUFFLED = ("float", "double", "int", "int64_t", "bool", "c10::BFloat16")
WITH_A_CACHE_HINT = ("__ldca", "__ldcg", "__ldcs", "__ldcv", "__ldlu")
SHUFFLES = ("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor")
OF_TORCH = "#include <ATen/cuda/DeviceUtils.cuh>"

pytestmark = [pytest.mark.slow, pytest.mark.torch]


@pytest.fixture
def nothing() -> Knowledge:
    return Knowledge(releases=open_index())


class Read(NamedTuple):
    """A read of `*p`, its types, and code above the kernels and between them and their launches."""

    value: str
    types: tuple[str, ...]
    above: str = ""
    below: str = ""


def overload(name: str, condition: str = "") -> str:
    return f'#define OVERLOADED {name}\n{condition}\n#include "{SOURCES}/overload.h"\n#undef OVERLOADED'


def failures(*reads: Read, hip: bool, output: str = "-c") -> dict[Read, dict[str, str]]:
    """The compiler's messages about each read, by types that it refuses.

    nvcc compiles all in one file. For HIP, the code above some reads would change others: each code has its file.
    """
    if hip and len(codes := {read[2:] for read in reads}) > 1:
        files = ([read for read in reads if read[2:] == code] for code in codes)
        return {read: found for file in files for read, found in failures(*file, hip=True).items()}
    text = (SOURCES / "read.cu").read_text()
    for at, read in enumerate(reads):
        names = {f"copy_{at}_{number}": kind for number, kind in enumerate(read.types)}
        body = f"(const T *__restrict__ p, T *out) {{ out[0] = {read.value}; }}"
        kernels = [f"template <typename T> __global__ void {name}{body}" for name in names]
        launch = "void launch_{0}() {{ {0}<{1}><<<1, 1>>>(nullptr, nullptr); }}"
        launches = [launch.format(*kernel) for kernel in names.items()]
        text += "\n".join((read.above, *kernels, read.below, *launches, ""))
    options = ["-std=c++20", "-w", f"-I{torch_here.directory()}/include"]
    if hip:
        command = [str(CLANG), "-x", "hip", "--offload-arch=gfx90a", "--cuda-device-only", "-nogpulib", "-fsyntax-only"]
        options += [f"-I{SOURCES}/hip_headers", "-DUSE_ROCM", "-D__HIP_PLATFORM_AMD__", "-DTORCH_HIP_VERSION=502"]
        options += ["-include", "hip/hip_runtime.h"]
    else:
        command = [str(NVCC), "-arch=sm_90", output, "-o", "read.o"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "read.cu").write_text(text)
        done = run_program([*command, *options, "read.cu"], cwd=folder)
    _, *errors = re.split(r"(?m)^(?=\S+: error\b|\d+ errors? )", done.stdout + done.stderr)
    assert (len(errors) > 1) == bool(done.returncode), done
    found: dict[Read, dict[str, str]] = {read: {} for read in reads}
    for error in errors[:-1]:
        kernels = {tuple(map(int, each)) for each in re.findall(r"\bcopy_(\d+)_(\d+)\b", error)}
        assert len(kernels) == 1, error
        ((at, number),) = kernels
        kind = reads[at].types[number]
        found[reads[at]][kind] = found[reads[at]].get(kind, "") + error + errors[-1]
    return found


@functools.cache
def refused(*, hip: bool) -> dict[str, dict[str, str]]:
    """Failures of the reads that a compiler refuses; nvcc looks into kernels when it compiles for the device."""
    always = "#define OVERLOADED_ALWAYS"
    reads = {
        "__ldg": Read("__ldg(p)", ("__half", "c10::Half", "c10::BFloat16", COMPLEX)),
        "late": Read("__ldg(p)", ("c10::Half",), below=printed_cast()),
        "doLdg": Read("doLdg(p)", ("bool", COMPLEX), OF_TORCH),
        "Half": Read("__ldg(p)", ("c10::Half",), overload("Half", always)),
        "BFloat16": Read("__ldg(p)", ("c10::BFloat16",), overload("BFloat16", always)),
        **{each: Read(f"{each}(p)", ("c10::Half",)) for each in WITH_A_CACHE_HINT},
        **{each: Read(shuffle(each), ("float",)) for each in SHUFFLES},
    }
    found = failures(*reads.values(), hip=hip, output="-ptx")
    return {name: found[read] for name, read in reads.items()}


def shuffle(function: str) -> str:
    return f"{function}_sync(0xffffffff, *p, 1)"


def printed_cast() -> str:
    (subject,) = explain("Can I reinterpret_cast c10::Half to __half before __ldg?", Knowledge())
    first = "#ifdef USE_ROCM  // torch.utils.cpp_extension defines it for a torch of ROCm"
    return three_lines(subject.causes[0].fix, first)


def three_lines(fix: str, first: str) -> str:
    lines = fix.splitlines()
    at = lines.index(first)
    return "\n".join(lines[at : at + 3])


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
def test_what_is_refused(*, hip: bool) -> None:
    found = refused(hip=hip)
    # With HIP, only torch's overload for BFloat16 is visible.
    assert set(found["__ldg"]) == ({"c10::Half", COMPLEX} if hip else {COMPLEX})
    assert ("no matching function" if hip else "no instance of overloaded function") in found["__ldg"][COMPLEX]
    # torch's function, of the rule's page.
    assert set(found["doLdg"]) == (set() if hip else {"bool", COMPLEX})


@compilers
def test_other_overloads_are_explained(nothing: Knowledge, *, hip: bool) -> None:
    """The compiler's own message names the type, and notes of candidates name others."""
    kind = "c10::Half" if hip else COMPLEX
    (subject,) = explain(refused(hip=hip)["__ldg"][kind], nothing)
    cause = subject.causes[0]
    assert (subject.message, cause.cause) == ("no-overload-of-intrinsic", CauseId.HALF_INTRINSIC)
    assert kind in " ".join(cause.evidence)
    assert cause.fix.startswith("Replace `__ldg(p)` with `*p`")
    # The message if a project and torch overload `__ldg` for one class: with HIP, torch does not for Half.
    for name in ("Half", "BFloat16"):
        messages = refused(hip=hip)[name]
        assert set(messages) == (set() if hip and name == "Half" else {f"c10::{name}"})
        for message in messages.values():
            (subject,) = explain(message, nothing)
            assert subject.message == "ambiguous-load"
            assert subject.causes[0].confidence is Confidence.HIGH


@compilers
def test_what_is_advised_compiles(nothing: Knowledge, *, hip: bool) -> None:
    found = refused(hip=hip)
    reads = [
        Read("*p", (*OF_CUDA, "bool", COMPLEX)),
        Read("__ldg(p)", ("__half", "c10::BFloat16") if hip else OF_CUDA),
        Read("doLdg(p)", OF_CUDA, OF_TORCH),
        Read("__ldg(p)", OF_CUDA, overload("Half")),
        Read("__ldg(p)", OF_CUDA, printed_cast()),
    ]
    for function in WITH_A_CACHE_HINT:
        (subject,) = explain(found[function]["c10::Half"], nothing)
        fix = subject.causes[0].fix
        undeclared = hip and function in ("__ldcv", "__ldlu")
        assert subject.causes[0].cause == (CauseId.ROCM_NAMING if undeclared else CauseId.HALF_INTRINSIC)
        assert (f"Replace `{function}(p)` with `*p`" in fix) == (function in ("__ldca", "__ldcs", "__ldlu"))
        assert "compute in float" not in fix
        for_half = [line.partition("c10::Half: ")[2] for line in fix.splitlines() if "c10::Half: c10" in line]
        if for_half and not (hip and function == "__ldcg"):
            reads.append(Read(for_half[0], ("c10::Half",)))
    for function in SHUFFLES:
        above = ""
        if hip:
            (subject,) = explain(found[function]["float"], nothing)
            assert (subject.message, subject.causes[0].cause) == ("clang-no-warp-function", CauseId.ROCM_NAMING)
            above = three_lines(subject.causes[0].fix, "#ifdef __HIP__  // Clang's HIP alone")
        reads.append(Read(shuffle(function), (*SHUFFLED, "c10::Half" if hip else "__half"), above))
    if hip:
        (subject,) = explain(found["late"]["c10::Half"], Knowledge())
        assert subject.message == "load-declared-too-late"
        in_namespace = subject.causes[0].fix.partition("too: ")[2].partition("\n")[0]
        assert in_namespace.startswith("namespace c10 {")
        reads.append(Read("__ldg(p)", OF_CUDA, below=in_namespace))
    assert failures(*reads, hip=hip) == {read: {} for read in reads}
