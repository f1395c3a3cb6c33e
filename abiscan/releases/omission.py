"""Which exported names of a torch build are not torch's own, and which of those the index leaves out.

The rule reads the mangled name alone, so that a query can tell "never exported" (absent, and the index would have it)
from "not recorded" (absent because of this rule). Maker and reader share it; a change here needs a rebuilt index and
another `RULE_VERSION`, which the index file carries.
"""

from __future__ import annotations

import enum
import re

RULE_VERSION = 3


class Omission(enum.StrEnum):
    """Why a name is not recorded."""

    C_LIBRARY = "c-library"
    """No mangled name, and none of torch's C prefixes: bundled MKL, OpenBLAS, MAGMA, XNNPACK, SLEEF, libuv, miniz, and
    every name of libc or CPython that is asked for."""
    VECTOR_FUNCTION = "vector-function"
    """`_ZGV<isa><mask><lanes>..._name`: vector variants of SLEEF (x86_64 and AArch64 vector function ABI)."""
    ANONYMOUS_NAMESPACE = "anonymous-namespace"
    """Inside an unnamed namespace, or what nvcc makes of one: no other translation unit can name it."""
    CUDA_GENERATED = "cuda-generated"
    """Made by nvcc's front end: extended lambda wrappers (`__nv_hdl_wrapper_t`), stubs (`__device_stub__`)."""
    CUDA_MATH = "cuda-math"
    """Kernels of MAGMA, cuBLAS, cuSOLVER, cuSPARSE linked into a build: scopes and types of those libraries, and every
    template or kernel of the global namespace, in each case without a type of torch."""
    STANDARD_LIBRARY = "standard-library"
    """Of libstdc++, wherever a build leaks it: scope std, __gnu_cxx or __cxxabiv1, global operator new and delete,
    typeinfo of types that are no classes; in each case without a type of torch."""


# C names that torch itself defines: C shims (aoti_torch_, torch_), C names of the Python binding (THP, THC, ...), entry
# points of modules, gflags-like variables (FLAGS_caffe2_...); and cpuinfo, which libc10 carries and fbgemm
# takes from it.
_C_NAMES = re.compile(
    r"(?:aoti_|_?torch_|_pytorch_|DisableTorch|TH[A-Z]|PyInit_|initModule|c10_|caffe2_|at_|FLAGS_|cpuinfo_"
    r"|ParameterClass$)"
)
_VECTOR = re.compile(r"_ZGV[a-zA-Z][MN](?:\d+|x)[vlRULsu\d]*_")
_CUDA = re.compile(r"__nv_(?:hdl|dl|static)_|__device_stub__|__cudart_|__cudaRegister|__fatbin")
# A template or kernel in the global namespace (<source-name> directly behind _Z): torch declares none of those without
# a type of its own in the signature.
_CUDA_MATH = re.compile(
    r"_Z(?:T[VIS]|GV)?Z*(?:"
    r"N[KVRO]*\d+(?:cusparse|cusolver|cublas|magma_|fmha_|FMHA_)"
    r"|\d+(?=\w*(?:kernel|magma|lapack|gem[mv]|_batched|cusparse|cusolver|cublas|fmha_))"
    r")"
    r"|.*(?:\d+(?:cusolverDn|cusparse|cublas)(?:Context|MatDescr|LtContext)|\d+magma_)"
)
_STANDARD = re.compile(
    r"_Z(?:T[VISTHWAv](?:h?n?\d+_)*|Th?n?\d+_|GV|GR|GT[tn])*Z*(?:N[rVKRO]*)?(?:St|S[absiod]|9__gnu_cxx|10__cxxabiv1)"
    # <operator-name> new, new[], delete, delete[] without a scope; Itanium C++ ABI 5.1.3.
    r"|_Z(?:nw|na|dl|da)"
    # Typeinfo of builtin types is libsupc++'s; that of pointer and function types is emitted by any file that uses it.
    r"|_ZT[IS](?:[a-zFPKORVMA]|D[a-z])"
)
_GLOBAL_NAME = re.compile(r"_ZZ*(\d{1,4})")
# A length and a name, as <source-name> of the Itanium C++ ABI writes an identifier.
_TORCH_SCOPE = re.compile(r"(?<!\d)(?:2at|3c10|5torch|4c10d|6caffe2)")


# Names of these kinds are made anew in each build, or by each compiler for itself: no other file can ask for them.
_UNRECORDED = frozenset({Omission.ANONYMOUS_NAMESPACE, Omission.CUDA_GENERATED, Omission.VECTOR_FUNCTION})


def recorded(name: str) -> bool:
    """Whether the index records this mangled name if a build exports it, be it torch's own or another project's."""
    return omission(name) not in _UNRECORDED


def omission(name: str) -> Omission | None:
    """Why the index does not record this mangled name; None where it does, if any build exports it."""
    if not name.startswith("_Z"):
        return None if _C_NAMES.match(name) else Omission.C_LIBRARY
    if _VECTOR.match(name):
        return Omission.VECTOR_FUNCTION
    if "_GLOBAL__N_" in name:
        return Omission.ANONYMOUS_NAMESPACE
    if _CUDA.search(name):
        return Omission.CUDA_GENERATED
    if _TORCH_SCOPE.search(name):
        return None
    if _STANDARD.match(name):
        return Omission.STANDARD_LIBRARY
    if _CUDA_MATH.match(name) or _is_global_template(name):
        return Omission.CUDA_MATH
    return None


def _is_global_template(name: str) -> bool:
    """`_Z<length><identifier>I...`: a template instantiation in the global namespace."""
    found = _GLOBAL_NAME.match(name)
    return found is not None and name[found.end() + int(found[1]) :][:1] == "I"
