"""Messages about the tools of a build: compilers of the host, nvcc, hipcc, ninja, and PyTorch's own build helper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_text import Hit

# What is absent, as an answer calls it.
NINJA: Final = "ninja"
NVTX: Final = "NVTX"
HOST_COMPILER: Final = "a host compiler"
HIP: Final = "HIP"
FLAGS_OF_NVCC: Final = "a flag of nvcc"
NO_GPU_LIST: Final = "no GPU to build for"

_HOST = re.compile(r"! (gcc|clang) versions later than (\d{1,2}(?:\.\d{1,2})?) ")
_TOOLKIT_FOLDER = re.compile(r"cuda-(\d{1,2}\.\d)[/\\]")


def host_compiler(hit: Hit) -> Iterator[Mention]:
    """crt/host_config.h: `#error -- unsupported GNU version! gcc versions later than 11 are not supported!`,
    `unsupported Microsoft Visual Studio version! Only the versions between 2017 and 2022 (inclusive) are supported!`"""
    newest = _HOST.search(hit.line)
    toolkit = _TOOLKIT_FOLDER.search(hit.before[-256:])
    releases = (toolkit[1],) if toolkit is not None else ()
    name = (
        newest[1] if newest is not None else "Microsoft Visual Studio" if "Microsoft" in hit.line else "host compiler"
    )
    version = newest[2] if newest is not None else None
    yield Mention(Complaint.HOST_COMPILER, name, hit.at, version=version, releases=releases)


# What an older nvcc says of headers that are newer than it: of GCC 11 and later, of pybind11 beside GCC, of glibc 2.26
# and later, of glibc 2.41; and of a standard that it does not know.
_NEWER_HEADERS = (
    ("std_function.h", "gcc"),
    ("pybind11", "gcc"),
    ("floatn", "glibc"),
    ("mathcalls.h", "glibc"),
    ("math_functions.h", "glibc"),
    ("'c++", "the standard"),
)


def older_than_headers(hit: Hit) -> Iterator[Mention]:
    """`/usr/include/c++/11/bits/std_function.h:435:145: error: parameter packs not expanded with '...'`,
    `mathcalls.h(79): error: exception specification is incompatible with that of previous function "cospi"`, `Value
    'c++17' is not defined for option 'std'`"""
    newer = next((name for word, name in _NEWER_HEADERS if word in hit.before[-512:]), None)
    if newer is not None:
        yield Mention(Complaint.HOST_COMPILER, newer, hit.at, context=hit.word)


def no_nvtx(hit: Hit) -> Iterator[Mention]:
    """CMake: `The link interface of target "torch::nvtoolsext" contains: CUDA::nvToolsExt but the target was not
    found.`"""
    yield Mention(Complaint.TOOLCHAIN, NVTX, hit.at)


def no_visual_cxx(hit: Hit) -> Iterator[Mention]:
    """setuptools: `error: Microsoft Visual C++ 14.0 or greater is required`; torch: `Command '['where', 'cl']' returned
    non-zero exit status 1.`"""
    yield Mention(Complaint.TOOLCHAIN, HOST_COMPILER, hit.at, version="cl.exe")


def no_openmp(hit: Hit) -> Iterator[Mention]:
    """Apple's Clang: `clang: error: unsupported option '-fopenmp'`"""
    yield Mention(Complaint.LIBRARY, "libomp.dylib", hit.at, by_linker=True)


def no_ninja(hit: Hit) -> Iterator[Mention]:
    """torch.utils.cpp_extension: `RuntimeError: Ninja is required to load C++ extensions`"""
    yield Mention(Complaint.TOOLCHAIN, NINJA, hit.at)


def no_host_compiler(hit: Hit) -> Iterator[Mention]:
    """nvcc: `Cannot find compiler 'cl.exe' in PATH`, `Could not set up the environment for Microsoft Visual Studio`;
    gcc: `fatal error: cannot execute 'cc1plus'`; torch: `Error checking compiler version for cl`"""
    name = "cl.exe" if "cc1plus" not in hit.line else "g++"
    if "nvcc" in hit.before or "cc1plus" in hit.line or "for cl" in hit.word:
        yield Mention(Complaint.TOOLCHAIN, HOST_COMPILER, hit.at, version=name)


def no_hip(hit: Hit) -> Iterator[Mention]:
    """Clang: `error: cannot find HIP runtime; provide its path via '--rocm-path'`, `cannot find ROCm device library`"""
    yield Mention(Complaint.TOOLCHAIN, HIP, hit.at)


_OF_NVCC = re.compile(
    r" ?:? ?'?-{1,2}(use_fast_math|extended-lambda|expt-relaxed-constexpr|expt-extended-lambda|ptxas-options|threads|"
    r"generate-line-info|gencode|resource-usage|Xptxas|Xcudafe|diag-suppress|default-stream)"
)


def flag_of_nvcc(hit: Hit) -> Iterator[Mention]:
    """Clang: `error: unknown argument: '--use_fast_math'`; where it stands for nvcc, it is hipcc."""
    found = _OF_NVCC.match(hit.rest)
    if found is not None:
        yield Mention(Complaint.TOOLCHAIN, FLAGS_OF_NVCC, hit.at, context=f"--{found[1]}")


def no_gpu_list(hit: Hit) -> Iterator[Mention]:
    """torch.utils.cpp_extension: `arch_list[-1] += '+PTX'`, then `IndexError: list index out of range`"""
    if "IndexError" in hit.following():
        yield Mention(Complaint.TOOLCHAIN, NO_GPU_LIST, hit.at)
