"""Whose C names, libraries and namespaces are that are neither torch's nor Python's: NVIDIA's, AMD's, a compiler's.

Each of these libraries gives its public functions a prefix. Sources: the API references of the CUDA toolkit, cuDNN,
NCCL and ROCm; for compilers' runtimes, the names that GCC, Clang and nvcc emit calls to.
"""

from __future__ import annotations

import functools

from msgspec import Struct

from abiscan.model.binding import Owner


class Vendor(Struct, frozen=True, kw_only=True):
    """A library that others are linked to.

    Attributes:
        library: what its file is called, without `lib`, `.so` and version.
        product: in a sentence.
        owner: of its names.
        starts: how its C names begin.
        capital: how they begin where a capital letter follows (`cudaMalloc`, not `cudalib_init`).
        names: C names in full.
        distribution: the wheel that carries it, up to the CUDA suffix; empty where there is none.
        linked_by_user: who calls it must link it, as torch does not do it for them (nvtx, curand, OpenMP, MPI).
        with_torch: `import torch` loads it in CUDA builds.
    """

    library: str
    product: str
    owner: Owner
    starts: tuple[str, ...] = ()
    capital: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    distribution: str = ""
    linked_by_user: bool = False
    with_torch: bool = True

    @property
    def cuda(self) -> bool:
        """Whether it is part of CUDA or versioned with it."""
        return self.owner is Owner.CUDA


def _cuda(
    library: str,
    product: str,
    distribution: str = "",
    *,
    starts: tuple[str, ...] = (),
    capital: tuple[str, ...] = (),
    linked_by_user: bool = False,
    with_torch: bool = True,
) -> Vendor:
    return Vendor(
        library=library,
        product=product,
        owner=Owner.CUDA,
        starts=starts,
        capital=capital,
        distribution=distribution,
        linked_by_user=linked_by_user,
        with_torch=with_torch,
    )


def _rocm(library: str, product: str, *, starts: tuple[str, ...] = (), capital: tuple[str, ...] = ()) -> Vendor:
    return Vendor(
        library=library, product=product, owner=Owner.HIP, starts=starts, capital=capital, linked_by_user=True
    )


def _other(
    library: str,
    product: str,
    *,
    owner: Owner = Owner.OTHER,
    starts: tuple[str, ...] = (),
    capital: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    distribution: str = "",
) -> Vendor:
    return Vendor(
        library=library,
        product=product,
        owner=owner,
        starts=starts,
        capital=capital,
        names=names,
        distribution=distribution,
        linked_by_user=True,
        with_torch=False,
    )


_FETCHED = ("add", "sub", "and", "or", "xor", "nand")
_ATOMIC = (
    *("__atomic_load", "__atomic_store", "__atomic_exchange", "__atomic_compare_exchange"),
    *(f"__atomic_fetch_{operation}" for operation in _FETCHED),
    *(f"__atomic_{operation}_fetch" for operation in _FETCHED),
    *("__sync_bool_compare_and_swap", "__sync_val_compare_and_swap", "__sync_lock_test_and_set"),
    *(f"__sync_fetch_and_{operation}" for operation in _FETCHED),
    *(f"__sync_{operation}_and_fetch" for operation in _FETCHED),
)

# The longest prefix counts: cublasLt before cublas, cuda before cu. Of two rows of one library the first is it.
VENDORS = (
    _cuda("nvJitLink", "nvJitLink", "nvidia-nvjitlink", starts=("__nvJitLink", "nvJitLink")),
    _cuda("cublasLt", "cuBLASLt", "nvidia-cublas", starts=("cublasLt",)),
    _cuda("cublas", "cuBLAS", "nvidia-cublas", starts=("cublas",)),
    _cuda("cudnn", "cuDNN", "nvidia-cudnn", starts=("cudnn",)),
    _cuda("nccl", "NCCL", "nvidia-nccl", capital=("nccl", "pnccl")),
    _cuda("nvshmem_host", "NVSHMEM", "nvidia-nvshmem", starts=("nvshmem",)),
    _cuda("cusparseLt", "cuSPARSELt", "nvidia-cusparselt", starts=("cusparseLt",)),
    _cuda("cusparse", "cuSPARSE", "nvidia-cusparse", starts=("cusparse",)),
    _cuda("cusolver", "cuSOLVER", "nvidia-cusolver", starts=("cusolver",)),
    _cuda("cufft", "cuFFT", "nvidia-cufft", starts=("cufft",)),
    _cuda("curand", "cuRAND", "nvidia-curand", capital=("curand",), linked_by_user=True),
    _cuda("cupti", "CUPTI", "nvidia-cuda-cupti", starts=("cupti",)),
    _cuda("cufile", "cuFile", "nvidia-cufile", starts=("cuFile", "cufile")),
    _cuda("nvrtc", "NVRTC", "nvidia-cuda-nvrtc", starts=("nvrtc",)),
    _cuda(
        "nvToolsExt",
        "NVTX (libnvToolsExt, header only since NVTX 3)",
        "nvidia-nvtx",
        capital=("nvtx",),
        linked_by_user=True,
    ),
    _cuda("nvidia-ml", "NVML, of the driver", capital=("nvml",), linked_by_user=True, with_torch=False),
    _cuda(
        "nppc", "NPP", "nvidia-npp", starts=("nppi",), capital=("npp", "npps"), linked_by_user=True, with_torch=False
    ),
    _cuda("nvjpeg", "nvJPEG", "nvidia-nvjpeg", starts=("nvjpeg",), linked_by_user=True, with_torch=False),
    _cuda("nvcomp", "nvCOMP", "nvidia-nvcomp", starts=("nvcomp",), linked_by_user=True, with_torch=False),
    _cuda("cudart", "the CUDA runtime", "nvidia-cuda-runtime", starts=("__cuda",), capital=("cuda",)),
    _cuda("cuda", "the CUDA driver", capital=("cu",)),
    _rocm("hipblaslt", "hipBLASLt", starts=("hipblasLt",)),
    _rocm("hipblas", "hipBLAS", starts=("hipblas",)),
    _rocm("rocblas", "rocBLAS", starts=("rocblas_",)),
    _rocm("hipsparse", "hipSPARSE", starts=("hipsparse",)),
    _rocm("rocsparse", "rocSPARSE", starts=("rocsparse_",)),
    _rocm("hipsolver", "hipSOLVER", starts=("hipsolver",)),
    _rocm("rocsolver", "rocSOLVER", starts=("rocsolver_",)),
    _rocm("hipfft", "hipFFT", starts=("hipfft",)),
    _rocm("rocfft", "rocFFT", starts=("rocfft_",)),
    _rocm("hiprand", "hipRAND", starts=("hiprand", "rocrand_")),
    _rocm("MIOpen", "MIOpen", starts=("miopen",)),
    _rocm("hiprtc", "HIPRTC", starts=("hiprtc",)),
    _rocm("amdhip64", "the HIP runtime", starts=("__hip",), capital=("hip", "_hip")),
    _rocm("rocm_smi64", "ROCm SMI", starts=("rsmi_",)),
    _rocm("hsa-runtime64", "the HSA runtime", starts=("hsa_",)),
    _rocm("roctx64", "ROCTX", starts=("roctx",)),
    _rocm("roctracer64", "ROC-tracer", starts=("roctracer",)),
    _rocm("rccl", "RCCL", starts=("rccl",)),
    _other(
        "omp",
        "LLVM's OpenMP runtime (libomp, libiomp5)",
        owner=Owner.OPENMP,
        starts=("__kmpc_", "kmp_", "ompc_", "ompt_"),
    ),
    _other("gomp", "GCC's OpenMP runtime", owner=Owner.OPENMP, starts=("GOMP_", "GOACC_", "goacc_", "acc_")),
    _other("gomp", "an OpenMP runtime", owner=Owner.OPENMP, starts=("omp_",)),
    _other(
        "mpi",
        "MPI (each implementation and major version has its own names)",
        starts=("mpi_mpi_", "ompi_", "MPI_", "PMPI_", "opal_", "orte_"),
    ),
    _other("ittnotify", "Intel's ITT notification library", starts=("iJIT_", "__itt_")),
    _other("mkl_rt", "Intel MKL", starts=("mkl_", "MKL_", "Dfti"), capital=("vml", "vsl"), distribution="mkl"),
    _other("openblas", "a BLAS (OpenBLAS, MKL)", starts=("cblas_", "LAPACKE_")),
    _other("dnnl", "oneDNN", starts=("dnnl",)),
    _other(
        "avcodec",
        "FFmpeg",
        starts=("av_", "avcodec_", "avformat_", "avfilter_", "avdevice_", "sws_", "swr_"),
    ),
    _other("numa", "libnuma", starts=("numa_",), names=("mbind",)),
    _other("ibverbs", "libibverbs", starts=("ibv_",)),
    _other("atomic", "GCC's libatomic", names=tuple(f"{name}_16" for name in _ATOMIC)),
    _other("dl", "libdl", owner=Owner.LIBC, names=("dlopen", "dlsym", "dlclose", "dlerror")),
    _other("pthread", "libpthread", owner=Owner.LIBC, starts=("pthread_",)),
    _other("rt", "librt", owner=Owner.LIBC, names=("shm_open", "shm_unlink", "clock_gettime", "timer_create")),
    _other("z", "zlib", starts=("deflate", "inflate", "zlibVersion"), names=("crc32",)),
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
}
"""Top-level C++ namespaces whose library is neither torch's nor, by default, the extension's."""

# Prefix -> the vendor, and whether a capital letter must follow.
_PREFIXES = {
    **{prefix: (vendor, False) for vendor in VENDORS for prefix in vendor.starts},
    **{prefix: (vendor, True) for vendor in VENDORS for prefix in vendor.capital},
}
_NAMES = {name: vendor for vendor in VENDORS for name in vendor.names}
# Nearly every name of others fails here already.
_BEGINNINGS = frozenset(name[:2] for name in (*_PREFIXES, *_NAMES))
_LENGTHS = tuple(sorted({len(prefix) for prefix in _PREFIXES}, reverse=True))
_LIBRARIES = {vendor.library: vendor for vendor in reversed(VENDORS)}


def vendor_of(name: str) -> Vendor | None:
    """The library whose C names are spelt like this one."""
    if name[:2] not in _BEGINNINGS:
        return None
    for length in _LENGTHS:
        found = _PREFIXES.get(name[:length])
        if found is not None and (not found[1] or "A" <= name[length : length + 1] <= "Z"):
            return found[0]
    return _NAMES.get(name)


@functools.lru_cache(maxsize=1024)
def vendor_of_library(file_name: str) -> Vendor | None:
    """The vendor whose library a file name is (`libcublasLt.so.12`, `libgomp-4dbbc2f2.so.1` of a repaired wheel)."""
    stem = library_stem(file_name)
    if stem is None:
        return None
    stem = stem.removesuffix("_static")
    exact = _LIBRARIES.get(stem)
    return exact or next((vendor for vendor in VENDORS if vendor.cuda and stem.startswith(f"{vendor.library}_")), None)


def library_stem(file_name: str) -> str | None:
    """`cublasLt` of `/x/libcublasLt.so.12`, `gomp` of `libgomp-4dbbc2f2.so.1`; None for what is no lib*.so."""
    base = file_name.rpartition("/")[2]
    stem, suffix, _version = base.partition(".so")
    if not suffix or not stem.startswith("lib"):
        return None
    name, _, tag = stem.removeprefix("lib").rpartition("-")
    return name if name and len(tag) >= 6 and not tag.strip("0123456789abcdef") else stem.removeprefix("lib")
