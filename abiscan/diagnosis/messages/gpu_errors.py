"""gpu-architecture-mismatch, driver-mismatch, and builds without code for a GPU: what loads, and fails when it runs."""

from __future__ import annotations

import re

from abiscan.diagnosis import fixes
from abiscan.diagnosis.messages import gpu_messages as said
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId
from abiscan.releases import companions

_WHICH = "python -c 'import torch; print(torch.cuda.get_device_capability(), torch.cuda.get_arch_list())'"
_DRIVER = "nvidia-smi  # `CUDA Version` is the newest that the driver serves"
_UPDATE = f"Update the NVIDIA driver: {_DRIVER}"


def device_code(mention: Mention, missing: MissingName) -> Candidates:
    """A kernel that was not found for the GPU (CUDA C++ Programming Guide, "Binary Compatibility"; what each code
    means: https://docs.nvidia.com/cuda/cuda-runtime-api, cudaError)."""
    if mention.text == said.NOT_COMPATIBLE:
        yield _torch_without(mention)
        return
    if mention.text == said.NEWER_ONLY:
        text = (
            f"The message says it itself: {mention.needed_by} has code for {mention.releases[0]} GPUs and newer alone."
        )
        yield Candidate(
            CauseId.GPU_ARCHITECTURE_MISMATCH,
            0.92,
            (text,),
            f"{_WHICH}  # the first is the GPU\nUse another implementation on this GPU (torch's "
            "scaled_dot_product_attention "
            "for attention), or an older release of "
            f"{fixes.word(mention.needed_by or '', 'the package')} that supports it.",
        )
        return
    if mention.text == said.NEWER_FEATURE:
        text = f"The kernel uses {mention.needed_by}, which the GPU that it is compiled for does not have."
        fix = (
            f"{_WHICH}  # the first is the GPU\nUse another type, or another implementation, on it; a newer Triton or "
            "torch may choose one for it."
        )
        yield Candidate(CauseId.GPU_ARCHITECTURE_MISMATCH, 0.85, (text,), fix)
        return
    if mention.text == said.NOT_IN_LIBRARY:
        text = f"The message says it itself: the {mention.needed_by} that was loaded does not know this GPU."
        fix = (
            f"{_WHICH}\nInstall a torch whose list has the GPU: its wheel brings the libraries of one "
            "CUDA release; a GPU "
            "that is too old for that release needs an older one."
        )
        yield Candidate(CauseId.GPU_ARCHITECTURE_MISMATCH, 0.85, (text,), fix)
        return
    if mention.text == said.NO_TENSILE:
        named = mention.version or "this GPU"
        text = f"rocBLAS was built without kernels for {named}: the file that the message names is not there."
        yield Candidate(
            CauseId.GPU_ARCHITECTURE_MISMATCH,
            0.92,
            (text,),
            "Use a GPU, or a build of ROCm and torch, whose list has "
            f"{fixes.word(mention.version or '', 'the GPU')}: {_WHICH}\n"
            "A GPU whose instructions are those of a supported one can be run as it: HSA_OVERRIDE_GFX_VERSION.",
        )
        return
    hip = "HIP" in mention.context or "hip" in mention.context or "gfx" in (mention.version or "")
    score, evidence = {
        said.NO_KERNEL_IMAGE: (
            0.92,
            "The file whose kernel was launched, an extension's or torch's, has code for other GPUs than this one.",
        ),
        said.INVALID_FUNCTION: (
            0.75,
            "The device has no such function: most often the file whose kernel was launched has no code for this GPU.",
        ),
        said.INVALID_IMAGE: (
            0.6,
            "The driver does not take the device code: it is for another GPU, or made by a newer toolkit.",
        ),
        said.NO_DEVICE_SYMBOL: (
            0.55,
            "The device code that was loaded has not the function or variable: it is for another GPU, or of another "
            "build.",
        ),
    }[mention.text]
    gpu = f"The GPU is {mention.version}." if mention.version else None
    facts = tuple(line for line in (evidence, "Kernels are launched after loading: no symbol is missing.", gpu) if line)
    yield Candidate(CauseId.GPU_ARCHITECTURE_MISMATCH, score, facts, _fix(mention, missing, hip=hip))
    if hip:
        return
    if mention.text in (said.INVALID_IMAGE, said.NO_DEVICE_SYMBOL):
        yield Candidate(
            CauseId.DRIVER_MISMATCH,
            0.52,
            ("A driver that is older than the toolkit answers so too, where the device code is newer than it.",),
            _UPDATE,
        )


def _fix(mention: Mention, missing: MissingName, *, hip: bool) -> str:
    gpu = mention.version or "here"
    if "riton" in mention.context:
        return _OF_TRITON
    look = f"abiscan --gpu {fixes.word(gpu, 'here')} FILE.so  # for which GPUs the extension's code is"
    if hip:
        target = fixes.word(mention.version or "", "gfxNNN")
        return (
            f"{look}\nBuild for this GPU: PYTORCH_ROCM_ARCH={target} {fixes.rebuild(missing)}\n"
            "or, where torch has none: install the torch whose list has it (python -c 'import torch; "
            "print(torch.cuda.get_arch_list())')"
        )
    return (
        f"{look}\n{_WHICH}  # the GPU, and the list of torch\n"
        f'Build the extension for it: TORCH_CUDA_ARCH_LIST="{_capability(mention.version)}" {fixes.rebuild(missing)}\n'
        "or, where torch's own list lacks it: install a torch of a CUDA variant that has it"
    )


# Triton compiles for the GPU that it finds, with a ptxas of its own.
_OF_TRITON = (
    "pip install --upgrade triton  # the release that this torch requires is the one to have: pip show torch\n"
    "or: export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas  # of a CUDA release that knows the GPU"
)


def _capability(gpu: str | None) -> str:
    digits = (gpu or "").removeprefix("sm_")
    return f"{digits[:-1]}.{digits[-1]}" if digits.isdigit() and len(digits) > 1 else "X.Y"


def _torch_without(mention: Mention) -> Candidate:
    """torch says itself that it has no code for the GPU; where it lists what it has, which way to go follows."""
    gpu, images = mention.version, mention.releases
    shown = gpu or "the GPU"
    evidence = [f"The message says it itself: this torch has no code for {shown}."]
    fix = f"Install a torch of a CUDA variant that has code for {shown}: {_WHICH}"
    if images:
        evidence.append(f"It has code for {', '.join(images)}.")
    numbers = [_number(image) for image in images]
    at = _number(gpu or "")
    if at and numbers and at > max(numbers):
        evidence.append("The GPU is newer than all of these.")
        fix = f"Install a newer torch, of a newer CUDA: {_WHICH}"
    elif (at and numbers and at < min(numbers)) or "no longer supports" in mention.context:
        evidence.append("The GPU is older than all that it has code for.")
        fix = f"Install an older torch, of an older CUDA, or build torch from source for it: {_WHICH}"
    return Candidate(CauseId.GPU_ARCHITECTURE_MISMATCH, 0.95, tuple(evidence), fix)


def _number(name: str) -> int:
    found = re.search(r"\d+", name)
    return int(found[0]) if found is not None else 0


def unknown_gpu(mention: Mention) -> Candidates:
    """`Unsupported gpu architecture 'compute_86'`"""
    if mention.version is not None:
        feature = (
            f"{mention.version} needs a GPU of {mention.text} or newer, and the code is compiled for an older one too.",
        )
        fix = (
            f'Leave the older GPUs out: TORCH_CUDA_ARCH_LIST="{_capability(mention.text)}"\n'
            "or put the code under #if __CUDA_ARCH__ >= N00"
        )
        yield Candidate(CauseId.GPU_ARCHITECTURE_MISMATCH, 0.85, feature, fix)
        return
    if mention.library == "torch":
        wanted = _capability(mention.text)
        known = (
            "The build files of this torch (torch.utils.cpp_extension, its CMake package) know no GPU of compute "
            f"capability {wanted}.",
        )
        fix = (
            "Install a newer torch, which knows it\n"
            f'or leave {wanted} out of the list of GPUs: TORCH_CUDA_ARCH_LIST="X.Y+PTX"'
        )
        yield Candidate(CauseId.GPU_ARCHITECTURE_MISMATCH, 0.88, known, fix)
        return
    evidence = (
        f"The compiler of device code that was found does not know {mention.text}: its CUDA release is older than that "
        "GPU, or so new that it has dropped it.",
    )
    if "riton" in mention.context:
        yield Candidate(CauseId.GPU_ARCHITECTURE_MISMATCH, 0.85, evidence, _OF_TRITON)
        return
    gpu = mention.text.removeprefix("compute_").removeprefix("sm_").rstrip("af")
    fix = (
        "nvcc --version; python -c 'import torch; print(torch.version.cuda)'  # the toolkit should be of torch's CUDA\n"
        "export CUDA_HOME=/usr/local/cuda-X.Y  # one that knows the GPU\n"
        f'or leave {_capability(f"sm_{gpu}")} out of the list of GPUs: TORCH_CUDA_ARCH_LIST="X.Y+PTX" (PTX of an older '
        "one runs on a newer GPU)"
    )
    yield Candidate(CauseId.GPU_ARCHITECTURE_MISMATCH, 0.85, evidence, fix)
    if not mention.text.startswith("gfx"):
        other = "Often it is not the toolkit of torch's CUDA release, which knows the GPU, but one before it in PATH."
        yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.6, (evidence[0], other), fix)


def driver(mention: Mention, missing: MissingName) -> Candidates:
    """The driver does not serve what was built (https://docs.nvidia.com/deploy/cuda-compatibility)."""
    text = mention.text
    torch = "or install the torch of an older CUDA variant, which this driver serves"
    if text == said.CONTAINER:
        first = (
            f"The image is for CUDA {mention.releases[0]}, and asks for a driver that serves it: the one here does not."
        )
        fix = f"{_UPDATE}\nor take an image of an older CUDA release, which this driver serves"
        yield Candidate(CauseId.DRIVER_MISMATCH, 0.92, (first,), fix)
        return
    if text == said.UNSUPPORTED_PTX:
        first = "The driver must compile the file's PTX, which a newer CUDA toolkit made than the driver knows."
        yield Candidate(CauseId.DRIVER_MISMATCH, 0.88, (first,), f"{_UPDATE}\n{torch}")
        yield Candidate(
            CauseId.GPU_ARCHITECTURE_MISMATCH,
            0.6,
            ("PTX is compiled only where the file has no machine code for the GPU.",),
            f'Build the extension for it: TORCH_CUDA_ARCH_LIST="X.Y" {fixes.rebuild(missing)}\n'
            f"{_WHICH}  # X.Y is the first",
        )
        return
    if text == said.NO_FORWARD_COMPATIBILITY:
        first = (
            "The libcuda that was found is newer than the driver of the kernel, which works on GPUs of data centres "
            "alone."
        )
        fix = (
            "Reboot, where the driver was updated since; take the folder compat of CUDA out of LD_LIBRARY_PATH\n"
            f"or update the driver: {_DRIVER}"
        )
        yield Candidate(CauseId.DRIVER_MISMATCH, 0.85, (first,), fix)
        return
    if text == said.DRIVER_COMBINATION:
        first = "libcuda and the driver in the kernel are of different releases."
        fix = f"Reboot, where the driver was updated since; install both of one release: {_DRIVER}"
        yield Candidate(CauseId.DRIVER_MISMATCH, 0.85, (first,), fix)
        return
    if text == said.NO_DRIVER:
        yield Candidate(
            CauseId.LIBRARY_MISSING,
            0.8,
            ("The message says it itself: torch found no driver of NVIDIA, which brings libcuda.so.1.",),
            "nvidia-smi  # tells whether one is there\n"
            "Install the NVIDIA driver; in a container, start it with --gpus all (NVIDIA Container Toolkit).",
        )
        yield Candidate(
            CauseId.DRIVER_MISMATCH, 0.55, ("A driver that does not answer is taken for none.",), f"Reboot; {_UPDATE}"
        )
        return
    evidence = ["The driver is older than the CUDA release that torch, or the extension, was built with."]
    if mention.releases:
        evidence.append(f"The driver serves CUDA up to {mention.releases[0]}, as the message says.")
    if missing.target is not None and missing.target.cuda is not None:
        evidence.append(f"{missing.target_label} is built for CUDA {missing.target.cuda}.")
    yield Candidate(CauseId.DRIVER_MISMATCH, 0.92, tuple(evidence), f"{_UPDATE}\n{torch}")
    if text == said.INSUFFICIENT_DRIVER:
        yield Candidate(
            CauseId.LIBRARY_MISSING,
            0.5,
            ("Without any driver the runtime says the same.",),
            "Install the NVIDIA driver; in a container, start it with --gpus all (NVIDIA Container Toolkit).",
        )


def without_gpu(mention: Mention, missing: MissingName) -> Candidates:
    """A CPU build where one for the GPU is asked for."""
    if mention.library == "torch":
        evidence = ["The message says it itself: this torch is a build without CUDA."]
        fix = (
            "Install a CUDA build of torch, from the wheel index of its variant (such as cu126): "
            "python -c 'import torch; print(torch.__version__, torch.version.cuda)'  # None is a CPU build"
        )
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.95, tuple(evidence), fix)
        return
    if mention.version == "bitsandbytes":
        evidence = [
            f"{mention.text} is a function of bitsandbytes' library for CUDA, which was not loaded: "
            "it found no GPU, or "
            "no build of its own for this CUDA, and said so further up."
        ]
        fix = "python -m bitsandbytes  # which library it looked for; pip install --upgrade bitsandbytes has newer ones"
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.8, tuple(evidence), fix)
        yield Candidate(CauseId.LIBRARY_MISSING, 0.6, tuple(evidence), fix)
        return
    named = mention.needed_by
    if named is None:
        evidence = ["The extension was compiled without its device code, and says so."]
        fix = f"Build it where nvcc and a CUDA build of torch are: FORCE_CUDA=1 {fixes.rebuild(missing)}"
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.9, tuple(evidence), fix)
        return
    package = companions.registers(named)
    evidence = [
        f"{mention.text} is registered, and has no kernel for CUDA: most often the build that was loaded is one for "
        "CPU."
    ]
    if package is not None:
        fix = f"pip install --force-reinstall torch {package}  # both from the index of one CUDA variant"
    else:
        fix = f"Build it where nvcc and a CUDA build of torch are: {fixes.rebuild(missing, project=named)}"
    yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.88, tuple(evidence), fix)
