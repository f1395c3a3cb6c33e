"""The tools of a build: a compiler that nvcc does not take, tools that are absent, flags of another compiler."""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.messages import toolchain_messages as said
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId


def host_compiler(mention: Mention) -> Candidates:
    """`#error -- unsupported GNU version! gcc versions later than 11 are not supported!`"""
    if mention.context:
        newer = (
            "the standard that it is asked for" if mention.text == "the standard" else f"the headers of {mention.text}"
        )
        old = (f"The words are those of an older nvcc than {newer}: it does not know what stands there.",)
        fix = (
            "nvcc --version; gcc --version; python -c 'import torch; print(torch.version.cuda)'  # the toolkit: of "
            "torch's CUDA\n"
            "Install a newer toolkit, or build in a system, or with a host compiler (CC, CXX, nvcc -ccbin), of its time"
        )
        yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.8, old, fix)
        return
    toolkit = f"The CUDA toolkit {mention.releases[0]}" if mention.releases else "The CUDA toolkit"
    newest = f": it knows {mention.text} up to {mention.version}" if mention.version is not None else ""
    evidence = (
        f"{toolkit} is older than the compiler of this machine{newest}.",
        "Each CUDA release takes host compilers up to one release (CUDA Installation Guide for Linux, Host Compiler "
        "Support Policy).",
    )
    if mention.text == "gcc" and mention.version is not None:
        major = mention.version.partition(".")[0]
        other = (
            f"CC=gcc-{major} CXX=g++-{major} NVCC_PREPEND_FLAGS='-ccbin g++-{major}' pip install ...  # an older one"
        )
    else:
        other = "an older host compiler: CC and CXX, and nvcc's -ccbin, name it"
    fix = (
        f"{other}\nor a newer toolkit, of the release that torch is built for: python -c 'import torch; "
        "print(torch.version.cuda)'\n"
        "-allow-unsupported-compiler turns the check off; whether what comes out is right nobody says."
    )
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.85, evidence, fix)


def toolchain(mention: Mention) -> Candidates:
    """A tool that is absent, or that is given what it does not take."""
    match mention.text:
        case said.NINJA:
            lacks = ("The build asks for ninja, with which torch.utils.cpp_extension compiles, and finds none.",)
            yield Candidate(
                CauseId.LIBRARY_MISSING, 0.85, lacks, "pip install ninja; ninja --version  # must be on PATH"
            )
        case said.HOST_COMPILER:
            yield _no_host_compiler(mention.version or "g++")
        case said.NVTX:
            gone = (
                "CMake files of older releases of torch ask for NVTX's library (libnvToolsExt), which newer "
                "toolkits bring no more: NVTX 3 is headers alone.",
            )
            fix = (
                "Build with a toolkit of the CUDA release that torch is for: python -c 'import torch; "
                "print(torch.version.cuda)'\nor with a newer torch\n"
                "or before find_package(Torch): add_library(CUDA::nvToolsExt INTERFACE IMPORTED)"
            )
            yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.8, gone, fix)
        case said.HIP:
            lacks = ("The compiler found no ROCm: what it needs to compile for HIP is not where it looks.",)
            fix = (
                "ls -d /opt/rocm*; export ROCM_PATH=/opt/rocm HIP_PATH=/opt/rocm  # where it is installed\n"
                "or install ROCm's packages for development, of the release in torch.version.hip"
            )
            yield Candidate(CauseId.LIBRARY_MISSING, 0.85, lacks, fix)
        case said.FLAGS_OF_NVCC:
            flag = fixes.word(mention.context, "FLAG")
            given = (
                f"Clang, as hipcc is, was given {mention.context}, a flag of nvcc: the build is written for CUDA.",
            )
            fix = (
                f"grep -rn -e {flag} setup.py CMakeLists.txt  # give it where torch.version.hip is None alone\n"
                "or build the project's release, or branch, for ROCm"
            )
            yield Candidate(CauseId.ROCM_NAMING, 0.8, given, fix)
        case said.NO_GPU_LIST:
            empty = (
                "torch.utils.cpp_extension compiles for the GPUs that it sees, where TORCH_CUDA_ARCH_LIST names no "
                "others: it saw none, as in a container that is being built.",
            )
            fix = (
                'export TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"  # the compute capabilities of the GPUs that shall run it\n'
                "or build where a GPU is visible: nvidia-smi"
            )
            yield Candidate(CauseId.GPU_ARCHITECTURE_MISMATCH, 0.85, empty, fix)


def _no_host_compiler(name: str) -> Candidate:
    if name == "g++":
        evidence = ("gcc is there, and its C++ compiler is not: g++ is a package of its own.",)
        return Candidate(
            CauseId.LIBRARY_MISSING, 0.85, evidence, "Debian: apt install g++; Fedora: dnf install gcc-c++"
        )
    evidence = ("The build needs Microsoft's compiler, cl.exe, as nvcc does too, and found none that it can use.",)
    fix = (
        "Install the build tools of Visual Studio with C++, of a version that this CUDA takes\n"
        "and start from the prompt that sets them up (x64 Native Tools Command Prompt): where cl.exe"
    )
    return Candidate(CauseId.LIBRARY_MISSING, 0.85, evidence, fix)
