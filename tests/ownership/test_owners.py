"""Whose name an import is, on names typed in. What they are is said by the public headers that declare them."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.model.binding import Owner
from abiscan.model.facts import (
    Import,
    SymbolBinding,
    SymbolType,
    VersionNeed,
    Visibility,
)
from abiscan.ownership.names import OwnScopes, outer_scope, owner_of


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


def _import(name: str, version: tuple[str, str] | None = None) -> Import:
    need = None if version is None else VersionNeed(version[0], version[1], False)
    return Import(name, SymbolBinding.GLOBAL, SymbolType.NOTYPE, Visibility.DEFAULT, need, True, 1)


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
    ],
)
def test_owner(
    fixtures_dir: Path, name: str, version: tuple[str, str] | None, provider: str | None, owner: Owner
) -> None:
    scopes = OwnScopes(open_elf(str(fixtures_dir / "good-extension.so")))
    assert owner_of(_import(name, version), provider, scopes) is owner


def test_a_name_of_the_files_own_namespace(fixtures_dir: Path) -> None:
    elf = open_elf(str(fixtures_dir / "extension-source-not-built.so"))
    scopes = OwnScopes(elf)
    owners = {i.name: owner_of(i, None, scopes) for i in elf.imports if outer_scope(i.name) not in ("std", None)}
    assert Owner.SELF in owners.values()
