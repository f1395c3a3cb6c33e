"""Messages of CUDA, HIP, torch and device compilers about the GPU, its driver, and builds without code for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.diagnosis.messages.name_tokens import first_quoted

# As cudaGetErrorString spells them (https://docs.nvidia.com/cuda/cuda-runtime-api, cudaError).
NO_KERNEL_IMAGE: Final = "no kernel image is available for execution on the device"
INVALID_FUNCTION: Final = "invalid device function"
INVALID_IMAGE: Final = "device kernel image is invalid"
NO_DEVICE_SYMBOL: Final = "named symbol not found"
NOT_COMPATIBLE: Final = "is not compatible with the current PyTorch installation"
UNSUPPORTED_PTX: Final = "the provided PTX was compiled with an unsupported toolchain"
INSUFFICIENT_DRIVER: Final = "CUDA driver version is insufficient for CUDA runtime version"
NO_FORWARD_COMPATIBILITY: Final = "forward compatibility was attempted on non supported HW"
DRIVER_COMBINATION: Final = "system has unsupported display driver / cuda driver combination"
NO_TENSILE: Final = "rocBLAS has no kernels for the GPU"
NOT_IN_LIBRARY: Final = "a library has no code for the GPU"
NEWER_ONLY: Final = "GPUs of a newer generation alone are supported"
NEWER_FEATURE: Final = "the GPU lacks what the kernel uses"
CONTAINER: Final = "the image asks for a newer driver"
NO_DRIVER: Final = "Found no NVIDIA driver on your system"
TOO_OLD: Final = "The NVIDIA driver on your system is too old"

_GPU = re.compile(r"\b(?:CUDA capability (sm_\d{2,3})|cuda capability (\d{1,2}\.\d)|(gfx[0-9a-f]{3,5}))\b")
_SUPPORTED = re.compile(r"CUDA capabilities ((?:(?:sm|compute)_\d{2,3}[af]?[ ,]{0,2}){1,40})")
_LINES = 3


def no_kernel_image(hit: Hit) -> Iterator[Mention]:
    """`RuntimeError: CUDA error: no kernel image is available for execution on the device`; also by the names of the
    runtime's, the driver's and HIP's codes."""
    yield _device_code(hit, NO_KERNEL_IMAGE)


def invalid_function(hit: Hit) -> Iterator[Mention]:
    """`RuntimeError: HIP error: invalid device function`"""
    if _is_message(hit):
        yield _device_code(hit, INVALID_FUNCTION)


def invalid_image(hit: Hit) -> Iterator[Mention]:
    """`RuntimeError: Triton Error [CUDA]: device kernel image is invalid`"""
    yield _device_code(hit, INVALID_IMAGE)


def no_device_symbol(hit: Hit) -> Iterator[Mention]:
    """`RuntimeError: CUDA error: named symbol not found`"""
    if _is_message(hit):
        yield _device_code(hit, NO_DEVICE_SYMBOL)


def not_compatible(hit: Hit) -> Iterator[Mention]:
    """torch: `... with CUDA capability sm_120 is not compatible with the current PyTorch installation. The current
    PyTorch install supports CUDA capabilities sm_50 ... sm_90.`, and, of GPUs that are too old, `PyTorch no longer
    supports this GPU`."""
    around = hit.preceding(_LINES) + hit.line + hit.following(_LINES)
    supported = _SUPPORTED.search(around)
    images = tuple(supported[1].replace(",", " ").split()) if supported is not None else ()
    gpu = _gpu_in(hit.line) or _gpu_in(around)
    yield Mention(Complaint.DEVICE_CODE, NOT_COMPATIBLE, hit.at, version=gpu, releases=images, context=around)


def _is_message(hit: Hit) -> bool:
    """Whether words that prose has too are a program's: alone, quoted, or behind a colon or an error's name."""
    before = hit.before.rstrip()
    return not before or not before[-1].isalnum() or "rror" in before[-48:]


def _device_code(hit: Hit, said: str) -> Mention:
    around = hit.preceding(_LINES) + hit.line + hit.following(_LINES)
    return Mention(Complaint.DEVICE_CODE, said, hit.at, version=_gpu_in(around), context=around)


def _gpu_in(text: str) -> str | None:
    found = _GPU.search(text)
    if found is None:
        return None
    return found[1] or found[3] or f"sm_{found[2].replace('.', '')}"


def unknown_gpu(hit: Hit) -> Iterator[Mention]:
    """`nvcc fatal : Unsupported gpu architecture 'compute_86'`; `ptxas fatal : Value 'sm_120a' is not defined for
    option 'gpu-name'`; Clang: `invalid target ID 'gfx1201'`, `unsupported HIP gpu architecture: gfx1151`"""
    if hit.word.endswith("'gpu-name'") or hit.word.endswith("'gpu-architecture'"):
        quoted = first_quoted(hit.before.rpartition("Value")[2])
    elif hit.word.endswith("'"):
        quoted = hit.rest[:16].partition("'")[0]
    else:
        quoted = first_quoted(hit.rest) or hit.rest[:32].strip(" :").partition(" ")[0]
    if quoted and re.fullmatch(r"(?:sm|compute)_\d{2,3}[af]?|gfx[0-9a-f]{3,5}", quoted):
        yield Mention(
            Complaint.UNKNOWN_GPU, quoted, hit.at, context=hit.preceding(_LINES) + hit.line + hit.following(_LINES)
        )


def unknown_processor(hit: Hit) -> Iterator[Mention]:
    """LLVM: `'sm_120' is not a recognized processor for this target (ignoring processor)`"""
    quoted = re.search(r"'((?:sm_\d{2,3}[af]?)|gfx[0-9a-f]{3,5})' $", hit.before[-32:])
    if quoted is not None:
        around = hit.preceding(_LINES) + hit.line + hit.following(_LINES)
        yield Mention(Complaint.UNKNOWN_GPU, quoted[1], hit.at, context=around)


_ARCH = re.compile(r" \((\d{1,2}\.\d)(?:\+PTX)?\) or GPU not supported")


def unknown_arch(hit: Hit) -> Iterator[Mention]:
    """torch.utils.cpp_extension: `ValueError: Unknown CUDA arch (12.0) or GPU not supported`"""
    found = _ARCH.match(hit.rest)
    if found is not None:
        yield Mention(Complaint.UNKNOWN_GPU, f"sm_{found[1].replace('.', '')}", hit.at, library="torch")


_NAME_OF_CMAKE = re.compile(r" ?'?(\d{1,2}\.\d)[af]?(?:\+PTX)?\b")


def unknown_architecture_of_cmake(hit: Hit) -> Iterator[Mention]:
    """torch's CMake files: `Unknown CUDA Architecture Name 9.0a in CUDA_SELECT_NVCC_ARCH_FLAGS`"""
    found = _NAME_OF_CMAKE.match(hit.rest)
    if found is not None:
        yield Mention(Complaint.UNKNOWN_GPU, f"sm_{found[1].replace('.', '')}", hit.at, library="torch")


_FEATURE = re.compile(r"Feature '([^'\n]{1,64})' $")
_TARGET = re.compile(r" (sm_\d{2,3}[af]?)")


def feature_of_newer_gpu(hit: Hit) -> Iterator[Mention]:
    """ptxas: `Feature '.bf16' requires .target sm_80 or higher`"""
    feature, target = _FEATURE.search(hit.before[-96:]), _TARGET.match(hit.rest)
    if feature is not None and target is not None:
        yield Mention(Complaint.UNKNOWN_GPU, target[1], hit.at, version=feature[1])


_TYPE = re.compile(r"(fp8\w{2,8})(?: is)? $|type (fp8\w{2,8}) $")


def type_of_newer_gpu(hit: Hit) -> Iterator[Mention]:
    """Triton: `type fp8e4nv not supported in this architecture`, `fp8e4nv data type is not supported on CUDA arch <
    89`"""
    found = _TYPE.search(hit.before[-32:] + ("" if hit.before.endswith(" ") else " "))
    if found is not None:
        yield Mention(Complaint.DEVICE_CODE, NEWER_FEATURE, hit.at, needed_by=f"the type {found[1] or found[2]}")


_INSTRUCTION = re.compile(r"Instruction '([\w.:]{1,64})' $")
_INTRINSIC = re.compile(r"\.([\w.]{1,64})")


def instruction_of_other_gpu(hit: Hit) -> Iterator[Mention]:
    """ptxas: `Instruction 'tcgen05.alloc' not supported on .target 'sm_120a'`; LLVM: `Cannot select: intrinsic
    %llvm.nvvm.tcgen05.wait.st`"""
    found = _INSTRUCTION.search(hit.before[-96:]) or _INTRINSIC.match(hit.rest)
    if found is not None:
        yield Mention(Complaint.DEVICE_CODE, NEWER_FEATURE, hit.at, needed_by=f"the instruction {found[1]}")


def no_tensile(hit: Hit) -> Iterator[Mention]:
    """rocBLAS: `Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: ... for GPU arch : gfx1032`"""
    gpu = _GPU.search(hit.rest[:256])
    if gpu is not None and gpu[3]:
        yield Mention(Complaint.DEVICE_CODE, NO_TENSILE, hit.at, version=gpu[3], context="HIP")
    elif "Cannot read" in hit.before[-512:]:
        yield Mention(Complaint.DEVICE_CODE, NO_TENSILE, hit.at, context="HIP")


def library_without_gpu(hit: Hit) -> Iterator[Mention]:
    """`CUBLAS_STATUS_ARCH_MISMATCH`, `CUDNN_STATUS_ARCH_MISMATCH`; NVRTC: `invalid value for
    --gpu-architecture (-arch)`"""
    name = {"UBL": "cuBLAS", "UDN": "cuDNN", "inv": "NVRTC"}[hit.word[:3]]
    yield Mention(Complaint.DEVICE_CODE, NOT_IN_LIBRARY, hit.at, needed_by=name)


_CAPABILITY = re.compile(r"compute capability\s{1,16}less than CUDA device capability: (\d{2,3})\b")


def kernel_not_compiled(hit: Hit) -> Iterator[Mention]:
    """vLLM (`scaled_mm_entry.cu` and others): `No compiled cutlass_scaled_mm for a compute capability less than CUDA
    device capability: 121`"""
    found = _CAPABILITY.search((hit.rest + hit.following(1))[:320])
    if found is not None:
        yield Mention(Complaint.DEVICE_CODE, NO_KERNEL_IMAGE, hit.at, version=f"sm_{found[1]}", context=hit.line)


def jit_compiler(hit: Hit) -> Iterator[Mention]:
    """`CUDA driver error: PTX JIT compiler library not found`; `a PTX JIT compilation failed`"""
    if hit.rest.startswith("er library not found"):
        yield Mention(Complaint.LIBRARY, "libnvidia-ptxjitcompiler.so.1", hit.at)
    elif hit.rest.startswith("ation failed"):
        yield Mention(Complaint.DRIVER, UNSUPPORTED_PTX, hit.at)


_IMPLEMENTED = re.compile(r"(\w{1,96}?)(?:_impl)?: $")


def implementation_of_device(hit: Hit) -> Iterator[Mention]:
    """MMCV: `RuntimeError: nms_impl: implementation for device cuda:0 not found.`"""
    found = _IMPLEMENTED.search(hit.before[-128:])
    if found is not None and " not found" in hit.rest[:16]:
        yield Mention(Complaint.WITHOUT_GPU, f"{found[1]} has no implementation for CUDA", hit.at)


_GENERATION = re.compile(r"(\w{1,64}) only supports (\w{1,16}) $")


def newer_gpu_only(hit: Hit) -> Iterator[Mention]:
    """flash-attn: `RuntimeError: FlashAttention only supports Ampere GPUs or newer.`"""
    found = _GENERATION.search(hit.before[-96:])
    if found is not None:
        yield Mention(Complaint.DEVICE_CODE, NEWER_ONLY, hit.at, needed_by=found[1], releases=(found[2],))


# --- the driver -----------------------------------------------------------------------------------------------------

_FOUND_VERSION = re.compile(r"\(found version (\d{4,5})\)")


def unsupported_ptx(hit: Hit) -> Iterator[Mention]:
    """`RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.`"""
    yield Mention(Complaint.DRIVER, UNSUPPORTED_PTX, hit.at)


def insufficient_driver(hit: Hit) -> Iterator[Mention]:
    """`CUDA driver version is insufficient for CUDA runtime version`"""
    yield Mention(Complaint.DRIVER, INSUFFICIENT_DRIVER, hit.at)


def no_forward_compatibility(hit: Hit) -> Iterator[Mention]:
    """`CUDA error: forward compatibility was attempted on non supported HW`"""
    yield Mention(Complaint.DRIVER, NO_FORWARD_COMPATIBILITY, hit.at)


def driver_combination(hit: Hit) -> Iterator[Mention]:
    """`system has unsupported display driver / cuda driver combination`"""
    yield Mention(Complaint.DRIVER, DRIVER_COMBINATION, hit.at)


def no_driver(hit: Hit) -> Iterator[Mention]:
    """torch: `RuntimeError: Found no NVIDIA driver on your system.`"""
    yield Mention(Complaint.DRIVER, NO_DRIVER, hit.at)


_WANTED = re.compile(r" ?(?:\d{1,2}\.\d{1,2} < image )?(\d{1,2}\.\d{1,2})")


def container_driver(hit: Hit) -> Iterator[Mention]:
    """nvidia-container-cli: `requirement error: unsatisfied condition: cuda>=12.4`; nvidia-docker: `unsupported CUDA
    version: driver 8.0 < image 9.0.176`"""
    found = _WANTED.match(hit.rest)
    if found is not None:
        yield Mention(Complaint.DRIVER, CONTAINER, hit.at, releases=(found[1],))


def driver_too_old(hit: Hit) -> Iterator[Mention]:
    """torch: `The NVIDIA driver on your system is too old (found version 11040).`"""
    found = _FOUND_VERSION.search(hit.rest[:64])
    yield Mention(Complaint.DRIVER, TOO_OLD, hit.at, releases=() if found is None else (_release(found[1]),))


def _release(number: str) -> str:
    """`11.4` of 11040 (cuDriverGetVersion: 1000 * major + 10 * minor)."""
    return f"{int(number) // 1000}.{int(number) % 1000 // 10}"


# --- builds without code for a GPU ----------------------------------------------------------------------------------

_OPERATOR = re.compile(r" '([A-Za-z_]\w{0,63}::\w[\w.]{0,127})' (?:with|from)")
_WITHOUT = re.compile(r"(\w[\w.]{0,63}) (?:is|was) n?$")


def torch_without_gpu(hit: Hit) -> Iterator[Mention]:
    """torch: `AssertionError: Torch not compiled with CUDA enabled`"""
    yield Mention(Complaint.WITHOUT_GPU, "Torch not compiled with CUDA enabled", hit.at, library="torch")


def extension_without_gpu(hit: Hit) -> Iterator[Mention]:
    """detectron2, MMCV, bitsandbytes: `Not compiled with GPU support`, `nms is not compiled with GPU support`;
    `xFormers wasn't build with CUDA support`"""
    if hit.word.startswith("wasn't"):
        name = hit.before.rstrip().rpartition(" ")[2]
        yield Mention(Complaint.WITHOUT_GPU, f"{name} {hit.word}", hit.at)
        return
    named = _WITHOUT.search(hit.before[-80:])
    text = "Not compiled with GPU support" if named is None else f"{named[1]} is not compiled with GPU support"
    yield Mention(Complaint.WITHOUT_GPU, text, hit.at)


_FUNCTION = re.compile(r"([a-z0-9]{1,32}_\w{1,64})'")


def library_is_none(hit: Hit) -> Iterator[Mention]:
    """bitsandbytes, whose library for CUDA did not load: `'NoneType' object has no attribute 'cget_managed_ptr'`"""
    found = _FUNCTION.match(hit.rest)
    if found is not None and "bitsandbytes" in hit.preceding(30) + hit.line + hit.following():
        yield Mention(Complaint.WITHOUT_GPU, f"c{found[1]}", hit.at, version="bitsandbytes")


def operator_without_backend(hit: Hit) -> Iterator[Mention]:
    """torch's dispatcher: `Could not run 'torchvision::nms' with arguments from the 'CUDA' backend.`"""
    found = _OPERATOR.match(hit.rest)
    if found is not None and "'Meta' backend" in hit.rest[:512]:
        yield Mention(Complaint.NO_FAKE, found[1], hit.at)
        return
    if found is not None and "'CUDA' backend" in hit.rest[:512] and not found[1].startswith(("aten::", "prim")):
        yield Mention(Complaint.WITHOUT_GPU, found[1], hit.at, needed_by=found[1].partition("::")[0])
