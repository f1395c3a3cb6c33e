"""Owners of C names, libraries and namespaces besides torch and Python: NVIDIA, AMD, compilers and others.

Each of these libraries has a prefix for its public functions. Sources: the API references of the CUDA toolkit, cuDNN,
NCCL and ROCm; for compiler runtimes, the functions that code of GCC, Clang and nvcc calls.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from msgspec import Struct

from abiscan.model.imports import Owner
from abiscan.ownership.cuda_distributions import CUDA_DISTRIBUTIONS


class Vendor(Struct, frozen=True):
    """A library that other files are linked to.

    Attributes:
        library: file name without `lib`, `.so` and version.
        files: names of its other files, in the same form.
        product: name for messages.
        owner: owner of its names.
        distribution: the wheel that contains it, without the CUDA suffix; empty if there is none.
        conda: its package of conda-forge, if no wheel contains it.
        starts: prefixes of its C names.
        capital: prefixes that a capital letter must follow (`cudaMalloc`, not `cudalib_init`).
        names: complete C names.
        linked_by_user: whether it is a CUDA library that callers must link themselves, as torch does not (nvtx,
            curand).
        with_torch: whether `import torch` loads it in CUDA builds, if it is a CUDA library.
    """

    library: str
    product: str
    owner: Owner
    distribution: str = ""
    conda: str = ""
    files: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    capital: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    linked_by_user: bool = False
    with_torch: bool = True

    @property
    def cuda(self) -> bool:
        """Whether it is part of CUDA or versioned with it."""
        return self.owner is Owner.CUDA


_FETCHED = ("add", "sub", "and", "or", "xor", "nand")
_ATOMIC = (
    *("__atomic_load", "__atomic_store", "__atomic_exchange", "__atomic_compare_exchange"),
    *(f"__atomic_fetch_{operation}" for operation in _FETCHED),
    *(f"__atomic_{operation}_fetch" for operation in _FETCHED),
    *("__sync_bool_compare_and_swap", "__sync_val_compare_and_swap", "__sync_lock_test_and_set"),
    *(f"__sync_fetch_and_{operation}" for operation in _FETCHED),
    *(f"__sync_{operation}_and_fetch" for operation in _FETCHED),
)

# The longest prefix wins: cublasLt before cublas, cuda before cu. Of two rows for one library the first is used.
# <math.h> of C99, 7.12, whose functions have the variants f and l.
_MATH = tuple(
    f"{name}{kind}"
    for name in (
        *("acos", "asin", "atan", "atan2", "cos", "sin", "tan", "acosh", "asinh", "atanh", "cosh", "sinh", "tanh"),
        *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "logb", "scalbn", "cbrt", "hypot", "pow", "sqrt"),
        *("erf", "erfc", "lgamma", "tgamma", "ceil", "floor", "nearbyint", "rint", "lrint", "round", "lround", "trunc"),
        *("fmod", "remainder", "nextafter", "fdim", "fma"),
    )
    for kind in ("", "f", "l")
)

# Routines of the reference BLAS and LAPACK (https://www.netlib.org/lapack), as Fortran spells them for C.
_FORTRAN = tuple(
    f"{kind}{routine}_"
    for routine in (
        "gemm",
        "gemv",
        "axpy",
        "dot",
        "scal",
        "copy",
        "nrm2",
        "trsm",
        "syrk",
        "symm",
        "potrf",
        "getrf",
        "gesv",
    )
    for kind in "sdcz"
)

VENDORS = (
    Vendor("nvJitLink", "nvJitLink", Owner.CUDA, "nvidia-nvjitlink", starts=("__nvJitLink", "nvJitLink")),
    Vendor("cublasLt", "cuBLASLt", Owner.CUDA, "nvidia-cublas", starts=("cublasLt",)),
    Vendor("cublas", "cuBLAS", Owner.CUDA, "nvidia-cublas", starts=("cublas",)),
    Vendor("cudnn", "cuDNN", Owner.CUDA, "nvidia-cudnn", conda="cudnn", starts=("cudnn",)),
    Vendor("nccl", "NCCL", Owner.CUDA, "nvidia-nccl", capital=("nccl", "pnccl")),
    Vendor("nvshmem_host", "NVSHMEM", Owner.CUDA, "nvidia-nvshmem", starts=("nvshmem",)),
    Vendor("cusparseLt", "cuSPARSELt", Owner.CUDA, "nvidia-cusparselt", starts=("cusparseLt",)),
    Vendor("cusparse", "cuSPARSE", Owner.CUDA, "nvidia-cusparse", starts=("cusparse",)),
    Vendor("cusolver", "cuSOLVER", Owner.CUDA, "nvidia-cusolver", starts=("cusolver",)),
    Vendor("cufft", "cuFFT", Owner.CUDA, "nvidia-cufft", starts=("cufft",)),
    Vendor("curand", "cuRAND", Owner.CUDA, "nvidia-curand", capital=("curand",), linked_by_user=True),
    Vendor("cupti", "CUPTI", Owner.CUDA, "nvidia-cuda-cupti", starts=("cupti",)),
    Vendor("cufile", "cuFile", Owner.CUDA, "nvidia-cufile", starts=("cuFile", "cufile")),
    Vendor("nvrtc", "NVRTC", Owner.CUDA, "nvidia-cuda-nvrtc", starts=("nvrtc",)),
    Vendor(
        "nvToolsExt",
        "NVTX (libnvToolsExt, header only since NVTX 3)",
        Owner.CUDA,
        "nvidia-nvtx",
        capital=("nvtx",),
        linked_by_user=True,
    ),
    Vendor("nvidia-ml", "NVML, of the driver", Owner.CUDA, capital=("nvml",), linked_by_user=True, with_torch=False),
    Vendor(
        "nppc",
        "NPP",
        Owner.CUDA,
        "nvidia-npp",
        files=(
            *(
                "nppial",
                "nppicc",
                "nppicom",
                "nppidei",
                "nppif",
                "nppig",
                "nppim",
                "nppist",
                "nppisu",
                "nppitc",
                "npps",
            ),
        ),
        starts=("nppi",),
        capital=("npp", "npps"),
        linked_by_user=True,
        with_torch=False,
    ),
    Vendor("nvjpeg", "nvJPEG", Owner.CUDA, "nvidia-nvjpeg", starts=("nvjpeg",), linked_by_user=True, with_torch=False),
    Vendor("nvcomp", "nvCOMP", Owner.CUDA, "nvidia-nvcomp", starts=("nvcomp",), linked_by_user=True, with_torch=False),
    Vendor("cudart", "the CUDA runtime", Owner.CUDA, "nvidia-cuda-runtime", starts=("__cuda",), capital=("cuda",)),
    Vendor("cuda", "the CUDA driver", Owner.CUDA, capital=("cu",)),
    Vendor("cutensor", "cuTENSOR", Owner.CUDA, "cutensor", starts=("cutensor",), linked_by_user=True, with_torch=False),
    Vendor("cudss", "cuDSS", Owner.CUDA, "nvidia-cudss", starts=("cudss",), linked_by_user=True, with_torch=False),
    Vendor("amd_smi", "AMD SMI", Owner.HIP, starts=("amdsmi_",)),
    Vendor("hipblaslt", "hipBLASLt", Owner.HIP, starts=("hipblasLt",)),
    Vendor("hipblas", "hipBLAS", Owner.HIP, starts=("hipblas",)),
    Vendor("rocblas", "rocBLAS", Owner.HIP, starts=("rocblas_",)),
    Vendor("hipsparse", "hipSPARSE", Owner.HIP, starts=("hipsparse",)),
    Vendor("rocsparse", "rocSPARSE", Owner.HIP, starts=("rocsparse_",)),
    Vendor("hipsolver", "hipSOLVER", Owner.HIP, starts=("hipsolver",)),
    Vendor("rocsolver", "rocSOLVER", Owner.HIP, starts=("rocsolver_",)),
    Vendor("hipfft", "hipFFT", Owner.HIP, starts=("hipfft",)),
    Vendor("rocfft", "rocFFT", Owner.HIP, starts=("rocfft_",)),
    Vendor("hiprand", "hipRAND", Owner.HIP, starts=("hiprand", "rocrand_")),
    Vendor("MIOpen", "MIOpen", Owner.HIP, starts=("miopen",)),
    Vendor("hiprtc", "HIPRTC", Owner.HIP, starts=("hiprtc",)),
    Vendor("amdhip64", "the HIP runtime", Owner.HIP, starts=("__hip",), capital=("hip", "_hip")),
    Vendor("rocm_smi64", "ROCm SMI", Owner.HIP, starts=("rsmi_",)),
    Vendor("hsa-runtime64", "the HSA runtime", Owner.HIP, starts=("hsa_",)),
    Vendor("roctx64", "ROCTX", Owner.HIP, starts=("roctx",)),
    Vendor("roctracer64", "ROC-tracer", Owner.HIP, starts=("roctracer",)),
    Vendor("rccl", "RCCL", Owner.HIP, starts=("rccl",)),
    Vendor(
        "omp", "LLVM's OpenMP runtime (libomp, libiomp5)", Owner.OPENMP, starts=("__kmpc_", "kmp_", "ompc_", "ompt_")
    ),
    Vendor("gomp", "GCC's OpenMP runtime", Owner.OPENMP, starts=("GOMP_", "GOACC_", "goacc_", "acc_")),
    Vendor("gomp", "an OpenMP runtime", Owner.OPENMP, starts=("omp_",)),
    Vendor(
        "mpi",
        "MPI (each implementation and major version has its own names)",
        Owner.OTHER,
        files=("mpi_cxx", "mpi_mpifh", "mpi_usempif08", "mpi_java", "oshmem", "open-rte", "open-pal"),
        starts=("mpi_mpi_", "ompi_", "MPI_", "PMPI_", "opal_", "orte_"),
    ),
    Vendor("ittnotify", "Intel's ITT notification library", Owner.OTHER, starts=("iJIT_", "__itt_")),
    Vendor("mkl_rt", "Intel MKL", Owner.OTHER, "mkl", starts=("mkl_", "MKL_", "Dfti"), capital=("vml", "vsl")),
    Vendor("openblas", "a BLAS (OpenBLAS, MKL)", Owner.OTHER, conda="openblas", starts=("cblas_", "LAPACKE_")),
    Vendor("blas", "a Fortran BLAS or LAPACK (OpenBLAS, MKL)", Owner.OTHER, names=_FORTRAN),
    Vendor(
        "nvinfer",
        "TensorRT",
        Owner.OTHER,
        starts=("createInferBuilder", "createInferRuntime", "createInferRefitter"),
        names=("getPluginRegistry", "getInferLibVersion", "initLibNvInferPlugins"),
    ),
    Vendor("dnnl", "oneDNN", Owner.OTHER, starts=("dnnl",)),
    Vendor(
        "avcodec",
        "FFmpeg",
        Owner.OTHER,
        conda="ffmpeg",
        files=("avutil", "avformat", "avfilter", "avdevice", "swscale", "swresample", "postproc"),
        starts=("av_", "avcodec_", "avformat_", "avfilter_", "avdevice_", "sws_", "swr_"),
    ),
    Vendor("ascendcl", "CANN, for Ascend NPUs", Owner.OTHER, starts=("aclrt", "aclnn", "aclop"), capital=("acl",)),
    Vendor("hccl", "CANN's HCCL, for Ascend NPUs", Owner.OTHER, capital=("Hccl",)),
    Vendor("msprofiler", "CANN's profiler, for Ascend NPUs", Owner.OTHER, capital=("Msprof", "aclprof")),
    Vendor("cnrt", "Cambricon's runtime", Owner.OTHER, capital=("cnrt",)),
    Vendor("cnnl", "Cambricon's CNNL", Owner.OTHER, capital=("cnnl", "cnnlv")),
    Vendor("musart", "the MUSA runtime of Moore Threads", Owner.OTHER, starts=("__musa",), capital=("musa",)),
    Vendor("Synapse", "SynapseAI, for Gaudi", Owner.OTHER, capital=("syn",)),
    Vendor("ze_loader", "oneAPI Level Zero", Owner.OTHER, capital=("ze", "zes", "zet")),
    Vendor("ur_loader", "oneAPI Unified Runtime", Owner.OTHER, capital=("ur",)),
    Vendor("sycl", "the SYCL runtime of oneAPI", Owner.OTHER, starts=("__sycl_",)),
    Vendor("ucp", "UCX", Owner.OTHER, starts=("ucp_", "uct_", "ucs_", "ucm_")),
    Vendor("fabric", "libfabric", Owner.OTHER, names=("fi_getinfo", "fi_freeinfo", "fi_dupinfo", "fi_fabric")),
    Vendor("jpeg", "libjpeg (or libjpeg-turbo)", Owner.OTHER, starts=("jpeg_", "tj3"), capital=("tj",)),
    Vendor("png16", "libpng", Owner.OTHER, starts=("png_",)),
    Vendor("webp", "libwebp", Owner.OTHER, capital=("WebP",)),
    Vendor("tiff", "libtiff", Owner.OTHER, capital=("TIFF",)),
    Vendor("sndfile", "libsndfile", Owner.OTHER, names=("sf_open", "sf_open_virtual", "sf_close", "sf_readf_float")),
    Vendor("sox", "SoX", Owner.OTHER, starts=("sox_", "lsx_")),
    Vendor("wavpack", "WavPack", Owner.OTHER, capital=("Wavpack",)),
    Vendor("FLAC", "libFLAC", Owner.OTHER, starts=("FLAC__",)),
    Vendor("vorbis", "libvorbis", Owner.OTHER, starts=("vorbis_",)),
    Vendor("mp3lame", "LAME", Owner.OTHER, starts=("lame_",)),
    Vendor("fftw3", "FFTW", Owner.OTHER, starts=("fftw_", "fftwf_")),
    Vendor("crypto", "OpenSSL", Owner.OTHER, starts=("SSL_", "EVP_", "CRYPTO_", "OPENSSL_", "X509_")),
    Vendor("sqlite3", "SQLite", Owner.OTHER, starts=("sqlite3_",)),
    Vendor("EGL", "EGL", Owner.OTHER, capital=("egl",)),
    Vendor("GLX", "GLX", Owner.OTHER, capital=("glX",)),
    Vendor("zstd", "Zstandard", Owner.OTHER, starts=("ZSTD_",)),
    Vendor("lz4", "LZ4", Owner.OTHER, starts=("LZ4_",)),
    Vendor("lzma", "liblzma", Owner.OTHER, starts=("lzma_",)),
    Vendor("bz2", "bzip2", Owner.OTHER, starts=("BZ2_bz",)),
    Vendor("numa", "libnuma", Owner.OTHER, starts=("numa_",), names=("mbind",)),
    Vendor("ibverbs", "libibverbs", Owner.OTHER, starts=("ibv_",)),
    Vendor("atomic", "GCC's libatomic", Owner.OTHER, names=tuple(f"{name}_16" for name in _ATOMIC)),
    Vendor("dl", "libdl", Owner.LIBC, names=("dlopen", "dlsym", "dlclose", "dlerror")),
    Vendor("m", "libm", Owner.LIBC, names=_MATH),
    Vendor("pthread", "libpthread", Owner.LIBC, starts=("pthread_",)),
    Vendor("rt", "librt", Owner.LIBC, names=("shm_open", "shm_unlink", "clock_gettime", "timer_create")),
    Vendor("z", "zlib", Owner.OTHER, starts=("deflate", "inflate", "zlibVersion"), names=("crc32",)),
)

NAMESPACE_LIBRARIES = {
    "cv": "opencv_core",
    "google": "protobuf or glog",
    "gflags": "gflags",
    "fmt": "fmt",
    "boost": "boost",
    "Eigen": "Eigen",
    "absl": "abseil",
    "grpc": "grpc++",
    "arrow": "arrow",
    "caffe": "caffe",
    "dnnl": "dnnl",
    "tbb": "tbb",
    "nvinfer1": "nvinfer",
    "nvcuda": "cuda",
    "cutlass": "CUTLASS",
    "cudnn_frontend": "cuDNN frontend",
    "tensorpipe": "tensorpipe",
    "gloo": "gloo",
    "sycl": "sycl",
    "Hccl": "hccl",
    "folly": "folly",
    "faiss": "faiss",
    "pcl": "pcl_common",
    "open3d": "Open3D",
    "Aws": "aws-cpp-sdk-core",
    "MPI": "mpi_cxx",
}
"""Top-level C++ namespaces whose library is neither torch's nor, by default, the extension's."""

# Prefix -> vendor, and whether a capital letter must follow.
_PREFIXES = {
    **{prefix: (vendor, False) for vendor in VENDORS for prefix in vendor.starts},
    **{prefix: (vendor, True) for vendor in VENDORS for prefix in vendor.capital},
}
_NAMES = {name: vendor for vendor in VENDORS for name in vendor.names}
# Rejects nearly all other names quickly.
_BEGINNINGS = frozenset(name[:2] for name in (*_PREFIXES, *_NAMES))
_LENGTHS = tuple(sorted({len(prefix) for prefix in _PREFIXES}, reverse=True))
_LIBRARIES = {
    **{file: vendor for vendor in VENDORS for file in vendor.files},
    **{vendor.library: vendor for vendor in reversed(VENDORS)},
}


def vendor_of(name: str) -> Vendor | None:
    """The library whose C names are spelled like this one; None if unknown."""
    if name[:2] not in _BEGINNINGS:
        return None
    for length in _LENGTHS:
        found = _PREFIXES.get(name[:length])
        if found is not None and (not found[1] or "A" <= name[length : length + 1] <= "Z"):
            return found[0]
    return _NAMES.get(name)


@functools.lru_cache(maxsize=1024)
def vendor_of_library(file_name: str) -> Vendor | None:
    """The vendor of a library file (`libcublasLt.so.12`, `libgomp-4dbbc2f2.so.1` of a repaired wheel)."""
    stem = library_stem(file_name)
    if stem is None:
        return None
    stem = stem.removesuffix("_static").removesuffix("-builtins")
    exact = _LIBRARIES.get("openblas" if stem.startswith("openblas") else stem)
    return exact or next((vendor for vendor in VENDORS if vendor.cuda and stem.startswith(f"{vendor.library}_")), None)


# The release of CUDA from which on NVIDIA's distributions have no suffix.
_NO_SUFFIX = 13


def cuda_distribution(vendor: Vendor, major: int) -> str | None:
    """The requirement that provides a CUDA toolkit library, by the major version in its soname
    (`nvidia-cuda-runtime-cu12`, `nvidia-cuda-runtime>=13,<14`); None if the soname does not contain the release, or no
    distribution has it."""
    text = f"{vendor.distribution}-cu{major}" if major < 13 else f"{vendor.distribution}>={major},<{major + 1}"
    return text if text in CUDA_DISTRIBUTIONS else None


def distributions_beside(vendor: Vendor, major: int) -> dict[int, str]:
    """Major CUDA release -> the requirement that provides a library with version numbers of its own
    (`nvidia-cudnn-cu12>=9,<10`), by the major version in its soname."""
    of_release = {cuda: f"{vendor.distribution}-cu{cuda}>={major},<{major + 1}" for cuda in (11, 12, 13)}
    found = {cuda: text for cuda, text in of_release.items() if text in CUDA_DISTRIBUTIONS}
    newest = f"{vendor.distribution}>={major},<{major + 1}"
    return {**found, _NO_SUFFIX: newest} if newest in CUDA_DISTRIBUTIONS else found


def other_version_provided(soname: str, provided: Iterable[str]) -> str | None:
    """The other version of a library that a torch build provides (`libcudart.so.13` for `libcudart.so.12`); None if it
    provides the same version, or none."""
    stem = library_stem(soname)
    same = [other for other in provided if stem is not None and library_stem(other) == stem]
    return None if soname in same or not same else max(same)


# `cudart64_12.dll`, `cudnn_ops64_9.dll`, `nvrtc64_120_0.dll`: bits and version.
_DLL_VERSION = r"64(?:_\d+)+$|64$"


def library_stem(file_name: str) -> str | None:
    """Return the base name of a library: `cublasLt` for `/x/libcublasLt.so.12` and `cublasLt64_12.dll`, `gomp` for
    `libgomp-4dbbc2f2.so.1`, `omp` for `libomp.dylib`; None for other files."""
    base = file_name.rpartition("/")[2]
    stem, suffix, _version = base.partition(".so")
    if not suffix:
        stem, suffix, _version = base.partition(".dylib")
        if not suffix and base[-4:].lower() == ".dll":
            return re.sub(_DLL_VERSION, "", base[:-4]).removeprefix("lib")
    if not suffix or not stem.startswith("lib"):
        return None
    name, _, tag = stem.removeprefix("lib").rpartition("-")
    return name if name and len(tag) >= 6 and not tag.strip("0123456789abcdef") else stem.removeprefix("lib")
