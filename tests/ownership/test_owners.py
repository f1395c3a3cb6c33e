"""Owners of literal names. Expected values are from the public headers that declare them."""

from __future__ import annotations

import string
from pathlib import Path

import msgspec
import pytest

from abiscan.data import data_file
from abiscan.diagnosis import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.reference import Reference
from abiscan.elf import open_elf
from abiscan.model.facts import VersionNeed
from abiscan.model.imports import Owner
from abiscan.ownership import torch_names
from abiscan.ownership.names import OwnScopes, outer_scope, owner_of, owner_of_library
from abiscan.ownership.vendor_row import IndexedVendors
from abiscan.ownership.vendors import vendor_of, vendor_of_library
from abiscan.releases import open_index


@pytest.mark.parametrize(
    ("mangled", "scope"),
    [
        ("_ZNK2at10TensorBase8data_ptrIfEEPT_v", "at"),
        ("_ZTVN5torch8autograd4NodeE", "torch"),
        ("_ZTIN3c105ErrorE", "c10"),
        ("_ZTHN3c104impl26raw_local_dispatch_key_setE", "c10"),
        ("_ZThn16_N5torch3FooD1Ev", "torch"),
        ("_ZGVZN2at3fooEvE1x", "at"),
        ("_ZNKR2at6Tensor1fEv", "at"),
        ("_ZNSt6vectorIiSaIiEE9push_backEOi", "std"),
        ("_ZSt4cout", "std"),
        ("_ZNSolsEi", "std"),
        ("_Z6my_addN2at6TensorE", ""),
        ("_Znwm", ""),
        ("PyLong_FromLong", None),
    ],
)
def test_outer_scope(mangled: str, scope: str | None) -> None:
    assert outer_scope(mangled) == scope


@pytest.mark.parametrize(
    ("name", "version", "provider", "owner"),
    [
        ("_ZN3c106detail14torchCheckFailEPKcS2_jS2_", None, None, Owner.TORCH),
        ("_Z16THPVariable_WrapRKN2at10TensorBaseE", None, None, Owner.TORCH),
        ("aoti_torch_empty_strided", None, None, Owner.TORCH),
        ("torch_library_impl", None, None, Owner.TORCH),
        ("PyModule_Create2", None, None, Owner.PYTHON),
        ("_Py_NoneStruct", None, None, Owner.PYTHON),
        ("_PyThreadState_UncheckedGet", None, None, Owner.PYTHON),
        ("cudaLaunchKernel", ("libcudart.so.12", "libcudart.so.12"), None, Owner.CUDA),
        ("__cudaRegisterFatBinary", None, None, Owner.CUDA),
        ("cuMemAlloc_v2", None, None, Owner.CUDA),
        ("cublasSgemm_v2", None, None, Owner.CUDA),
        ("ncclAllReduce", None, None, Owner.CUDA),
        ("hipLaunchKernel", None, None, Owner.HIP),
        ("miopenCreate", None, None, Owner.HIP),
        ("_ZNSt6thread15_M_start_threadEv", ("libstdc++.so.6", "GLIBCXX_3.4.22"), None, Owner.CXX),
        ("__cxa_throw", ("libstdc++.so.6", "CXXABI_1.3"), None, Owner.CXX),
        ("_Znwm", None, None, Owner.CXX),
        ("_ZdlPvm", None, None, Owner.CXX),
        ("__gxx_personality_v0", None, None, Owner.CXX),
        ("memcpy", ("libc.so.6", "GLIBC_2.14"), "libc.so.6", Owner.LIBC),
        ("__cxa_finalize", ("libc.so.6", "GLIBC_2.2.5"), "libc.so.6", Owner.LIBC),
        ("__gmon_start__", None, None, Owner.LIBC),
        ("omp_get_max_threads", None, None, Owner.OPENMP),
        ("GOMP_parallel", ("libgomp.so.1", "GOMP_4.0"), None, Owner.OPENMP),
        ("__kmpc_fork_call", None, None, Owner.OPENMP),
        ("jpeg_read_header", ("libjpeg.so.8", "LIBJPEG_8.0"), "libjpeg.so.8", Owner.OTHER),
        ("custom_c_function", None, None, Owner.OTHER),
        # Names that `scan` and `explain` once treated differently, with the reason for the answer.
        ("_ZN10onnx_torch5ModelE", None, None, Owner.TORCH),  # namespace that torch's build gives onnx
        ("_ZN4c10d4WorkC1Ev", None, None, Owner.TORCH),
        ("THDGenerator_new", None, None, Owner.TORCH),  # C names of releases before 1.5
        ("initModule", None, None, Owner.TORCH),  # the entry point of libtorch_python
        ("FLAGS_caffe2_log_level", None, None, Owner.TORCH),  # c10/util/Flags.h
        ("_Z16torch_roi_kernelv", None, None, Owner.SELF),  # torch's names of that prefix are C
        ("_Z12cudaMyKernelv", None, None, Owner.SELF),  # CUDA's are C: no C++ name of the global namespace is one
        ("cuda_my_kernel", None, None, Owner.OTHER),  # nor one without a capital letter after the prefix
        ("__nvJitLinkComplete_12_4", None, None, Owner.CUDA),
        ("private_f", ("libcublasLt.so.12", "libcublasLt.so.12"), None, Owner.CUDA),  # the reference has the library
        ("rocfft_plan_create", None, None, Owner.HIP),
        ("hsa_init", None, None, Owner.HIP),
        ("__cxa_throw", None, None, Owner.CXX),
        ("_Unwind_Resume", None, None, Owner.CXX),
        ("__cxa_thread_atexit_impl", None, None, Owner.LIBC),  # glibc's, despite its prefix
        ("at_quick_exit", None, None, Owner.LIBC),  # C11, not at::
        ("dlopen", None, None, Owner.LIBC),
        ("PyInit__C", None, None, Owner.SELF),  # a module defines its own init function
        ("PyInit__io", None, "libpython3.11.so.1.0", Owner.PYTHON),
        ("_ZN8pybind116detail1fEv", None, None, Owner.SELF),  # header-only
        ("_ZNSt6vectorIN2at6TensorESaIS1_EE9push_backEOS1_", None, "libtorch_cpu.so", Owner.CXX),
        ("_ZN4gloo7ContextC1Ev", None, "libtorch_cpu.so", Owner.TORCH),
        ("cblas_sgemm", None, "libtorch_cpu.so", Owner.TORCH),
        ("cblas_sgemm", None, None, Owner.OTHER),
        ("curl_easy_init", None, "libcurl.so.4", Owner.OTHER),  # not CUDA's, although it begins with libcu
    ],
)
def test_owner(name: str, version: tuple[str, str] | None, provider: str | None, owner: Owner) -> None:
    reference = None if version is None else VersionNeed(*version, False)
    assert owner_of(name, reference, provider) is owner


def test_explain_gives_the_owner_that_binding_gives(fixtures_dir: Path) -> None:
    """For every import without an answer in the file's own names."""
    for fixture in ("good-extension.so", "extension-source-not-built.so", "cuda-build-required.so"):
        for symbol in open_elf(str(fixtures_dir / fixture)).imports:
            need = symbol.version
            library, version = (None, None) if need is None else (need.library, need.name)
            missing = MissingName(Reference(symbol.name, library, version), Knowledge())
            assert missing.owner is owner_of(symbol.name, need)


@pytest.mark.parametrize(
    ("library", "owner"),
    [
        ("libtorch_cpu.so", Owner.TORCH),
        ("/v/torch/lib/libc10.so", Owner.TORCH),
        ("libtorch_cpu.dylib", Owner.TORCH),
        ("torch_python.dll", Owner.TORCH),
        ("libc10d_cuda_test.so", Owner.TORCH),
        # Extensions: of rebel, torch_npu, torchaudio, torchvision, torch_tensorrt, and a copy in a repaired wheel.
        ("libc10d_rbln.so", Owner.OTHER),
        ("libtorch_npu.so", Owner.OTHER),
        ("libtorchaudio.so", Owner.OTHER),
        ("libtorchvision.so", Owner.OTHER),
        ("libtorchtrt.so", Owner.OTHER),
        ("libtorch_cpu-0a1b2c3d.so", Owner.OTHER),
        ("libc.so.6", Owner.LIBC),
        ("libm.so.6", Owner.LIBC),
        ("ld-linux-x86-64.so.2", Owner.LIBC),
        ("libstdc++.so.6", Owner.CXX),
        ("libgcc_s.so.1", Owner.CXX),
        ("libc++abi.so.1", Owner.CXX),
        ("libgomp-a34b3233.so.1", Owner.OPENMP),
        ("libiomp5.so", Owner.OPENMP),
        ("libcudart-e409450e.so.11.0", Owner.CUDA),
        ("libcusolverMg.so.11", Owner.CUDA),
        ("libnvrtc-builtins.so.12.4", Owner.CUDA),
        ("libcuda.so.1", Owner.CUDA),
        ("libcurl.so.4", Owner.OTHER),
        ("libcups.so.2", Owner.OTHER),
        ("libamdhip64.so.6", Owner.HIP),
        ("librocblas.so.4", Owner.HIP),
        ("libpython3.11.so.1.0", Owner.PYTHON),
        ("libjpeg.so.8", Owner.OTHER),
    ],
)
def test_owner_of_a_library(library: str, owner: Owner) -> None:
    assert owner_of_library(library) is owner


def test_torchs_libraries_are_those_that_its_builds_ship() -> None:
    """The index lists the libraries of each build; names of others' libraries there do not begin like torch's."""
    shipped = {library for build in open_index().builds() for library in build.libraries}
    begin_so = {
        name for name in shipped if name.startswith(("libtorch", "libc10", "libshm", "libcaffe2", "libnvfuser"))
    }
    assert len(begin_so) > 10
    assert all(torch_names.is_torch_library(name) for name in begin_so)
    assert {name for name in begin_so if not torch_names.is_of_torch_folder(name)} == {"libtorchbind_test.so"}
    others = {name for name in shipped if name.startswith(("libgomp", "libcu", "libnvT", "libopenblas", "libarm"))}
    assert others
    assert not any(torch_names.is_torch_library(name) or torch_names.is_of_torch_folder(name) for name in others)


def test_torchs_c_names_are_those_that_its_builds_export() -> None:
    """All C names in the index except cpuinfo's, which libc10 exports, and options with the names of glog and
    others."""
    index = open_index()
    names = [
        history.name
        for letter in string.ascii_letters + "_"
        for history in index.prefix(letter, limit=200_000)
        if outer_scope(history.name) is None
    ]
    assert len(names) > 2_000
    assert [n for n in names if not n.startswith(("cpuinfo_", "FLAGS_")) and owner_of(n) is not Owner.TORCH] == []


def test_the_module_of_torch() -> None:
    assert torch_names.is_torch_module("/e/site-packages/torch/_C.cpython-311-x86_64-linux-gnu.so")
    assert torch_names.is_torch_module("torch\\_C.pyd")
    assert not torch_names.is_torch_module("/e/site-packages/torchvision/_C.so")
    assert not torch_names.is_torch_module("/e/site-packages/torch/_C_flatbuffer.so")


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("cublasLtMatmul", "cublasLt"),
        ("cublasSgemm_v2", "cublas"),
        ("cudaMalloc", "cudart"),
        ("__cudaRegisterFatBinary", "cudart"),
        ("cuMemAlloc_v2", "cuda"),
        ("cuFileOpen", "cufile"),
        ("pncclAllReduce", "nccl"),
        ("nppiAdd_8u", "nppc"),
        ("nppGetLibVersion", "nppc"),
        ("omp_get_max_threads", "gomp"),
        ("__atomic_load_16", "atomic"),
        ("crc32", "z"),
        ("crc32_mine", None),
        ("customer", None),
        ("cudalib_init", None),
        ("c", None),
        ("", None),
    ],
)
def test_vendor_of(name: str, library: str | None) -> None:
    vendor = vendor_of(name)
    assert (vendor.library if vendor is not None else None) == library


def test_every_row_can_be_found() -> None:
    for vendor in msgspec.json.decode(Path(data_file("vendors.json")).read_bytes(), type=IndexedVendors).vendors:
        for name in (*vendor.starts, *(f"{prefix}X" for prefix in vendor.capital), *vendor.names):
            assert vendor_of(name) == vendor
        found = vendor_of_library(f"lib{vendor.library}.so.1")
        assert found is not None
        assert found.library == vendor.library


def test_a_name_of_the_files_own_namespace(fixtures_dir: Path) -> None:
    elf = open_elf(str(fixtures_dir / "extension-source-not-built.so"))
    scopes = OwnScopes(elf.names_with_prefix)
    owners = [
        owner_of(i.name, i.version, None, scopes) for i in elf.imports if outer_scope(i.name) not in ("std", None)
    ]
    assert Owner.SELF in owners
    assert scopes("mylib_nowhere") is False
