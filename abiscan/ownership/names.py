"""The owner of an import or library: from its spelling, the version of the reference, or the provider.

Only the outermost scope of the mangled name is read, which suffices for the owner and takes a microsecond; `mangling`
parses whole names. Demangled text is not used, because return types come first in it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

from abiscan.model.facts import VersionNeed
from abiscan.model.imports import Owner
from abiscan.model.limits import KEPT_NAMES
from abiscan.ownership import torch_names
from abiscan.ownership.vendors import library_stem, vendor_of, vendor_of_library

STANDARD_SCOPES = frozenset(("std", "__gnu_cxx", "__cxxabiv1"))
"""Outermost scopes of the C++ standard library and its ABI."""

# <special-name> except thunks, which contain the offset by which they move a pointer.
_SPECIAL = ("TV", "TT", "TI", "TS", "TH", "TW", "TA", "TC", "GV", "GR", "GTt", "GTn")
_THUNK = r"Th[n0-9_]+|Tv[n0-9_]+|Tc(?:[hv][n0-9_]+){2}"
_IN_TORCH = r"_Z(?:T[VIST]|G[VR])?Z*N[rVK]*[RO]?(?:3c10|2at|5torch)(?=\d)"
# Abbreviations of std.
_STD = ("St", "Sa", "Sb", "Ss", "Si", "So", "Sd")
# Maximum number of digits of a length.
_LONGEST_LENGTH = 4

# Functions that the C++ code of GCC and Clang calls (Itanium C++ ABI, part 2 and 3), and of transactional memory.
_CXX_RUNTIME = ("__cxa_", "__gxx_", "__dynamic_cast", "_Unwind_", "__gcc_personality", "__cxxabiv1", "_ITM_")
# Operators new and delete of the global namespace.
_ALLOCATION = ("_Znw", "_Zna", "_Zdl", "_Zda")
# C library symbols, if the reference has no version.
_LIBC_NAMES = frozenset(
    (
        *("__cxa_finalize", "__cxa_atexit", "__cxa_at_quick_exit", "__cxa_thread_atexit_impl", "at_quick_exit"),
        *("__gmon_start__", "__tls_get_addr", "__stack_chk_fail", "errno", "environ"),
        *("_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "_Jv_RegisterClasses"),
    )
)
_LIBC = frozenset(("c", "m", "dl", "pthread", "rt", "util", "resolv", "anl", "mvec"))
_CXX_LIBRARIES = ("stdc++", "gcc_s", "c++")
_OPENMP_LIBRARIES = ("gomp", "omp", "iomp")
# Besides those of `vendors.toml`: parts of CUDA libraries (cusolverMg, cufftw, nvrtc-builtins), of TensorRT, of ROCm.
_CUDA_LIBRARIES = (
    *("cuda", "cublas", "cudnn", "cudss", "cufft", "cufile", "cupti", "curand", "cusolver", "cusparse", "cutensor"),
    *("nccl", "npp", "nv"),
)
_HIP_LIBRARIES = ("amdhip64", "hip", "roc", "MIOpen", "rccl", "hsa-")


def outer_scope(mangled: str) -> str | None:
    """The outermost namespace or class of a C++ name; `std` for its abbreviations; empty for a name in the global
    namespace; None for a name that is not C++.

    >>> outer_scope("_ZNK2at10TensorBase8data_ptrIfEEPT_v")
    'at'
    """
    if not mangled.startswith("_Z"):
        return None
    at = 2
    while mangled.startswith(("T", "G"), at):
        behind = _behind_special(mangled, at)
        if behind == at:
            break
        at = behind
    while mangled.startswith("Z", at):
        at += 1  # a local name: the enclosing function
    nested = mangled.startswith("N", at)
    if nested:
        # <nested-name> begins with N, cv-qualifiers and a ref-qualifier.
        at += 1
        while mangled.startswith(("r", "V", "K"), at):
            at += 1
        if mangled.startswith(("R", "O"), at):
            at += 1
    if mangled.startswith(_STD, at):
        return "std"
    return _source_name(mangled, at) or "" if nested else ""


def _behind_special(mangled: str, at: int) -> int:
    if mangled.startswith(_SPECIAL, at):
        return at + (3 if mangled.startswith("GT", at) else 2)
    thunk = re.match(_THUNK, mangled[at:])
    return at if thunk is None else at + thunk.end()


def _source_name(mangled: str, at: int) -> str | None:
    """The identifier after its length; None if there is no length."""
    start = at
    while start < at + _LONGEST_LENGTH and mangled[start : start + 1].isdecimal():
        start += 1
    return None if start == at else mangled[start : start + int(mangled[at:start])]


def base_name(mangled: str) -> str:
    """The name of a C++ function or class in the global namespace, or the C name itself."""
    if not mangled.startswith("_Z"):
        return mangled
    # Symbols of a class: its vtable, VTT, typeinfo and typeinfo name.
    name = _source_name(mangled, 4 if mangled.startswith(("TV", "TT", "TI", "TS"), 2) else 2)
    return mangled if name is None else name


def owner_of(
    name: str,
    reference: VersionNeed | None = None,
    provider: str | None = None,
    defines_in: Callable[[str], bool] = lambda _scope: False,
    backends: frozenset[str] = frozenset(),
) -> Owner:
    """Find the owner of an import.

    Args:
        name: as in the ELF file.
        reference: the version and library of the reference; None if it has none.
        provider: soname of the library that exports it; None if none does.
        defines_in: whether the importing file itself defines names in an outermost scope (`OwnScopes`).
        backends: those of plugins that the importing file needs (`plugin_backends`).
    """
    scope, spelled = _spelled(name)
    if backends and spelled is Owner.TORCH and _backend(name) in backends:
        return Owner.OTHER if provider is None else owner_of_library(provider)
    if spelled is not None:
        return spelled
    if scope == "pybind11":
        # Header-only: its symbols should be defined by the file's own objects.
        return Owner.SELF if provider is None else Owner.OTHER
    if reference is not None:
        versioned = owner_of_version(reference.name, reference.library)
        if versioned is not None:
            return versioned
    if provider is not None:
        return owner_of_library(provider)
    if scope is None:
        # An extension defines its own init function, or nothing does.
        return Owner.SELF if name.startswith("PyInit_") else Owner.OTHER
    # A C++ name in the global namespace that no library exports is most likely the file's own.
    return Owner.SELF if not scope or defines_in(scope) else Owner.OTHER


@functools.lru_cache(maxsize=KEPT_NAMES)
def _spelled(name: str) -> tuple[str | None, Owner | None]:
    """Return the outer scope of a name, and its owner if the spelling determines it."""
    scope = _outer_scope_of_visual_cxx(name) if name.startswith("?") else outer_scope(name)
    if scope is None:
        return None, _of_c_name(name)
    if scope in torch_names.NAMESPACES or (not scope and torch_names.is_torch_function(base_name(name))):
        return scope, Owner.TORCH
    return scope, Owner.CXX if scope in STANDARD_SCOPES or name.startswith(_ALLOCATION) else None


def _backend(mangled: str) -> str | None:
    """The namespace inside torch's outermost one: `supa` for a name in `c10::supa`."""
    found = re.match(_IN_TORCH, mangled)
    return None if found is None else _source_name(mangled, found.end())


def _outer_scope_of_visual_cxx(name: str) -> str:
    """The same as `outer_scope` for a name of Visual C++: the scope before the first `@@`, which ends the innermost
    qualified name. In a template instance that may be the scope of an argument."""
    qualified, end, _signature = name.partition("@@")
    scope = qualified.rpartition("@")[2] if end and "@" in qualified else ""
    return scope if scope.isidentifier() else ""


def is_python_name(name: str) -> bool:
    """Whether a name is spelled like CPython's C API (`PyList_New`, `_Py_NoneStruct`)."""
    rest = name.removeprefix("_").removeprefix("_")
    return rest.startswith("Py") and (rest[2:3] == "_" or "A" <= rest[2:3] <= "Z") and not rest.startswith("PyInit_")


def _of_c_name(name: str) -> Owner | None:
    if name in _LIBC_NAMES:
        return Owner.LIBC
    if torch_names.is_torch_name(name):
        return Owner.TORCH
    if is_python_name(name):
        return Owner.PYTHON
    vendor = vendor_of(name)
    if vendor is not None and vendor.owner is not Owner.OTHER:
        return vendor.owner
    return Owner.CXX if name.startswith(_CXX_RUNTIME) else None


def owner_of_version(version: str, library: str) -> Owner | None:
    """The owner of a versioned reference: from the family of the version, or from a library with versions of its
    own."""
    if version.startswith(("GLIBCXX_", "CXXABI_", "GCC_")):
        return Owner.CXX
    if version.startswith("GLIBC_"):
        return Owner.LIBC
    if "omp" in library and version.startswith(("GOMP_", "OMP_", "GOACC_", "OACC_", "VERSION")):
        return Owner.OPENMP
    vendor = vendor_of_library(library)
    return vendor.owner if vendor is not None and vendor.owner in (Owner.CUDA, Owner.HIP) else None


@functools.lru_cache(maxsize=1024)
def owner_of_library(library: str) -> Owner:
    """The owner of a library, from its file name or path."""
    if torch_names.is_torch_library(library):
        return Owner.TORCH
    base = library.rpartition("/")[2]
    if base.startswith(("ld-linux", "ld64.so")):
        return Owner.LIBC
    if base.startswith(("libpython", "python")):
        return Owner.PYTHON
    stem = library_stem(base)
    if ".so" not in base:
        from abiscan.ownership.operating_system_libraries import system_owner

        of_system = system_owner(library)
        if of_system is not None:
            return of_system
        if base in ("Python", "Python3"):  # of Python.framework on macOS
            return Owner.PYTHON
    if stem is None:
        return Owner.OTHER
    if stem in _LIBC:
        return Owner.LIBC
    if stem.startswith(_CXX_LIBRARIES):
        return Owner.CXX
    if stem.startswith(_OPENMP_LIBRARIES):
        return Owner.OPENMP
    if stem.startswith(_CUDA_LIBRARIES):
        return Owner.CUDA
    return Owner.HIP if stem.startswith(_HIP_LIBRARIES) else Owner.OTHER


class OwnScopes:
    """Whether a file itself defines names in a namespace.

    A name that nothing exports belongs to the file if the file exports others with the same outermost scope.
    """

    def __init__(self, names_with_prefix: Callable[[str, int], Sequence[str]]) -> None:
        """Take the search of a file for its exports by prefix, with a maximum number of results."""
        self._names_with_prefix = names_with_prefix
        self._known: dict[str, bool] = {}

    def __call__(self, scope: str) -> bool:
        """Whether the file defines names in an outermost scope."""
        known = self._known.get(scope)
        if known is None:
            length = f"{len(scope)}{scope}"
            known = self._known[scope] = any(
                self._names_with_prefix(f"_Z{kind}{length}", 1) for kind in ("N", "NK", "TVN", "TIN", "TSN")
            )
        return known
