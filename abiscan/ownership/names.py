"""Whose name an import is: by its own spelling, by the library its version names, by who provides it.

This reads the outermost scope of a mangled name and no more, which is enough to tell the owner and costs a microsecond;
`names` reads them in full. It looks at the mangled name, never at demangled text, where return types come first.
"""

from __future__ import annotations

import re

from abiscan.binary import Binary
from abiscan.model.binding import Owner
from abiscan.model.facts import Import
from abiscan.ownership.libraries import is_torch_library

# Namespaces that are declared in torch's public headers.
TORCH_NAMESPACES = frozenset(("at", "c10", "torch", "caffe2", "c10d", "onnx_torch"))
_SPECIAL = re.compile(r"(?:T[VTISHWAC]|GV|GR|GTt|GTn|Th[n0-9_]+|Tv[n0-9_]+|Tc(?:[hv][n0-9_]+){2})")
# <nested-name> begins with N, cv-qualifiers and a ref-qualifier.
_NESTED = re.compile(r"N[rVK]*[RO]?")
_SOURCE_NAME = re.compile(r"(\d{1,4})")
# Abbreviations of std: St, Sa, Sb, Ss, Si, So, Sd.
_STD = re.compile(r"S[tabsiod]")

_TORCH_C = re.compile(r"aoti_torch_|torch_|THP|THC|THD|THManaged|_?at_|c10_|AOTI|initModule$")
_PYTHON = re.compile(r"_?Py[A-Z_]|_Py")
_CUDA = re.compile(
    r"_?_?cuda[A-Z_]|cu[A-Z][a-z]|cublas|cudnn|cufft|curand|cusparse|cusolver|cufile|nccl|nvrtc|nvJitLink|nvml|nvtx|"
    r"cupti|__cudaRegister|__cudaUnregister|__cudaPushCall|__cudaPopCall|nvshmem|nvcomp|nvjpeg"
)
_HIP = re.compile(
    r"_?_?hip[A-Z]|__hipRegister|__hipUnregister|__hipPushCall|roc(blas|fft|rand|sparse|solver|m_)|hip(blas|fft|rand|sparse|solver)"
    r"|miopen|hsa_|rccl|rsmi_|roctx|roctracer"
)
_CXX = re.compile(
    r"__cxa_(?!finalize$|atexit$|at_quick_exit$|thread_atexit_impl$)|__gxx_|__dynamic_cast|_Unwind_|__gcc_personality|"
    r"__cxxabiv1|_ITM_(?!.*register)"
)
_OPENMP = re.compile(r"omp_|GOMP_|GOACC_|goacc_|acc_|__kmpc_|kmp_|ompc_|ompt_")
# Sanitizers and the C library that define no version.
_LIBC_PLAIN = frozenset(
    (
        *("__cxa_finalize", "__cxa_atexit", "__gmon_start__", "__tls_get_addr", "__stack_chk_fail", "errno", "environ"),
        *("_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "_Jv_RegisterClasses"),
    )
)
_LIBC_LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt|libutil|libresolv|libanl|libmvec|ld-linux.*|ld64)\.so")


def outer_scope(mangled: str) -> str | None:
    """The outermost namespace or class of a C++ name; `std` for its abbreviations; an empty string for a name in the
    global namespace; None for what is no C++ name.

    >>> outer_scope("_ZNK2at10TensorBase8data_ptrIfEEPT_v")
    'at'
    """
    if not mangled.startswith("_Z"):
        return None
    at = 2
    special = _SPECIAL.match(mangled, at)
    while special is not None:
        at = special.end()
        special = _SPECIAL.match(mangled, at)
    while mangled.startswith("Z", at):
        at += 1  # a local name: the function it is in
    nested = _NESTED.match(mangled, at)
    if nested is not None:
        at = nested.end()
    if _STD.match(mangled, at):
        return "std"
    number = _SOURCE_NAME.match(mangled, at)
    if number is None:
        return ""
    if nested is None:
        return ""
    start = number.end()
    return mangled[start : start + int(number[1])]


def base_name(mangled: str) -> str:
    """The function name of a C++ function in the global namespace, or the C name itself."""
    if not mangled.startswith("_Z"):
        return mangled
    number = _SOURCE_NAME.match(mangled, 2)
    if number is None:
        return mangled
    return mangled[number.end() : number.end() + int(number[1])]


def owner_of(symbol: Import, provider: str | None, own_scopes: OwnScopes) -> Owner:
    """Whose name an import is.

    Args:
        provider: soname of the library that satisfies it, None where none does.
        own_scopes: of the file that imports it.
    """
    name = symbol.name
    scope = outer_scope(name)
    base = name if scope is None else base_name(name) if not scope else ""
    if scope in TORCH_NAMESPACES or (base and _TORCH_C.match(base) and not _python_word(base)):
        return Owner.TORCH
    if base:
        named = _by_prefix(base)
        if named is not None:
            return named
    if scope == "std" or scope in ("__gnu_cxx", "__cxxabiv1"):
        return Owner.CXX
    if scope == "" and re.match(r"_Z(?:n[wa]|d[la])[a-zA-Z]", name):
        return Owner.CXX
    if scope == "pybind11":
        # Header-only: what of it is imported, the file's own objects should have defined.
        return Owner.SELF if provider is None else Owner.OTHER
    versioned = _by_version(symbol)
    if versioned is not None:
        return versioned
    if name in _LIBC_PLAIN:
        return Owner.LIBC
    if provider is not None:
        return _by_provider(provider)
    return Owner.SELF if own_scopes.has(name, scope) else Owner.OTHER


def _python_word(base: str) -> bool:
    return base.startswith(("PyInit_", "Py_"))


def _by_prefix(base: str) -> Owner | None:
    for pattern, owner in (
        (_PYTHON, Owner.PYTHON),
        (_CUDA, Owner.CUDA),
        (_HIP, Owner.HIP),
        (_OPENMP, Owner.OPENMP),
        (_CXX, Owner.CXX),
    ):
        if pattern.match(base):
            return owner
    return None


def _by_version(symbol: Import) -> Owner | None:
    version = symbol.version
    if version is None:
        return None
    if version.name.startswith(("GLIBCXX_", "CXXABI_", "GCC_")):
        return Owner.CXX
    if version.name.startswith("GLIBC_"):
        return Owner.LIBC
    if version.name.startswith(("GOMP_", "OMP_", "GOACC_", "OACC_", "VERSION")) and "omp" in version.library:
        return Owner.OPENMP
    return None


def _by_provider(provider: str) -> Owner:
    if is_torch_library(provider):
        return Owner.TORCH
    if _LIBC_LIBRARIES.match(provider):
        return Owner.LIBC
    if provider.startswith(("libstdc++", "libgcc_s", "libc++")):
        return Owner.CXX
    if provider.startswith(("libgomp", "libomp", "libiomp")):
        return Owner.OPENMP
    if re.match(r"lib(cuda|cu[a-z]+|nccl|nv[A-Za-z]+)[-.\d]", provider):
        return Owner.CUDA
    if re.match(r"lib(amdhip64|hip\w+|roc\w+|MIOpen|rccl|hsa-)", provider):
        return Owner.HIP
    if re.match(r"(lib)?python\d", provider):
        return Owner.PYTHON
    return Owner.OTHER


class OwnScopes:
    """Which namespaces a file itself defines names in.

    A name that nothing provides belongs to the file if the file exports others of the same outermost scope.
    """

    def __init__(self, binary: Binary) -> None:
        self._binary = binary
        self._known: dict[str, bool] = {}

    def has(self, name: str, scope: str | None) -> bool:
        """Whether a name (with its `outer_scope`) is of a namespace of the file's own."""
        if scope is None:
            return False
        if not scope:
            # The global namespace is nobody's; a C++ name in it that no library has is most likely the file's own.
            return True
        if scope not in self._known:
            length = f"{len(scope)}{scope}"
            prefixes = (f"_ZN{length}", f"_ZNK{length}", f"_ZTVN{length}", f"_ZTIN{length}", f"_ZTSN{length}")
            self._known[scope] = any(self._binary.names_with_prefix(prefix, limit=1) for prefix in prefixes)
        return self._known[scope]
