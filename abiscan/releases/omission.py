"""Which exported names of a torch build are not torch's own, and which of those the index leaves out.

The rule reads the mangled name alone, so that a query can tell "never exported" (absent, and the index would have it)
from "not recorded" (absent because of this rule). Maker and reader share it; a change here needs a rebuilt index and
another `RULE_VERSION`, which the index file carries.
"""

from __future__ import annotations

import enum
import functools
import re

from abiscan.model.limits import KEPT_NAMES

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
_C_NAMES = (
    *("aoti_", "torch_", "_torch_", "_pytorch_", "DisableTorch", "PyInit_", "initModule"),
    *("c10_", "caffe2_", "at_", "FLAGS_", "cpuinfo_"),
)
_VECTOR = r"_ZGV[a-zA-Z][MN](?:\d+|x)[vlRULsu\d]*_"
_CUDA = ("__nv_hdl_", "__nv_dl_", "__nv_static_", "__device_stub__", "__cudart_", "__cudaRegister", "__fatbin")
# A template or kernel in the global namespace (<source-name> directly behind _Z): torch declares none of those without
# a type of its own in the signature.
_CUDA_MATH = (
    r"_Z(?:T[VIS]|GV)?Z*(?:"
    r"N[KVRO]*\d+(?:cusparse|cusolver|cublas|magma_|fmha_|FMHA_)"
    r"|\d+(?=\w*(?:kernel|magma|lapack|gem[mv]|_batched|cusparse|cusolver|cublas|fmha_))"
    r")"
    r"|.*(?:\d+(?:cusolverDn|cusparse|cublas)(?:Context|MatDescr|LtContext)|\d+magma_)"
)
_STANDARD = (
    r"_Z(?:T[VISTHWAv](?:h?n?\d+_)*|Th?n?\d+_|GV|GR|GT[tn])*Z*(?:N[rVKRO]*)?(?:St|S[absiod]|9__gnu_cxx|10__cxxabiv1)"
    # <operator-name> new, new[], delete, delete[] without a scope; Itanium C++ ABI 5.1.3.
    r"|_Z(?:nw|na|dl|da)"
    # Typeinfo of builtin types is libsupc++'s; that of pointer and function types is emitted by any file that uses it.
    r"|_ZT[IS](?:[a-zFPKORVMA]|D[a-z])"
)
_GLOBAL_NAME = r"_ZZ*(\d{1,4})"
# A length and a name, as <source-name> of the Itanium C++ ABI writes an identifier.
_TORCH_SCOPES = ("2at", "3c10", "5torch", "4c10d", "6caffe2")


# Names of these kinds are made anew in each build, or by each compiler for itself: no other file can ask for them.
_UNRECORDED = frozenset({Omission.ANONYMOUS_NAMESPACE, Omission.CUDA_GENERATED, Omission.VECTOR_FUNCTION})


def recorded(name: str) -> bool:
    """Whether the index records this mangled name if a build exports it, be it torch's own or another project's."""
    return omission(name) not in _UNRECORDED


@functools.lru_cache(maxsize=KEPT_NAMES)
def omission(name: str) -> Omission | None:
    """Why the index does not record this mangled name; None where it does, if any build exports it."""
    if not name.startswith("_Z"):
        if name.startswith("?"):
            return _of_visual_cxx(name)
        return None if _is_torchs_c_name(name) else Omission.C_LIBRARY
    if name.startswith("_ZGV") and re.match(_VECTOR, name):
        return Omission.VECTOR_FUNCTION
    if "_GLOBAL__N_" in name:
        return Omission.ANONYMOUS_NAMESPACE
    if "__" in name and any(mark in name for mark in _CUDA):
        return Omission.CUDA_GENERATED
    if _has_torch_scope(name):
        return None
    standard, cuda_math, global_name = _foreign_patterns()
    if standard.match(name):
        return Omission.STANDARD_LIBRARY
    if cuda_math.match(name):
        return Omission.CUDA_MATH
    found = global_name.match(name)
    # `_Z<length><identifier>I...`: a template instantiation in the global namespace.
    if found is not None and name[found.end() + int(found[1]) :][:1] == "I":
        return Omission.CUDA_MATH
    return None


@functools.cache
def _foreign_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    # Most imports are torch's own, and a file that has no others pays for no pattern.
    return re.compile(_STANDARD), re.compile(_CUDA_MATH), re.compile(_GLOBAL_NAME)


# Scopes of Visual C++'s names stand innermost first, each ended by @, the outermost by another one.
_TORCH_SCOPES_OF_WINDOWS = tuple(f"@{scope}@@" for scope in ("at", "c10", "torch", "c10d", "caffe2"))


def _of_visual_cxx(name: str) -> Omission | None:
    """The same of a name that Visual C++ mangled."""
    if "?A0x" in name:
        return Omission.ANONYMOUS_NAMESPACE
    if "__" in name and any(mark in name for mark in _CUDA):
        return Omission.CUDA_GENERATED
    if any(scope in name for scope in _TORCH_SCOPES_OF_WINDOWS):
        return None
    # ??2, ??3, ??_U, ??_V: operators new and delete.
    is_standard = "@std@@" in name or name.startswith(("??2@", "??3@", "??_U@", "??_V@", "??_7type_info"))
    return Omission.STANDARD_LIBRARY if is_standard else None


def _is_torchs_c_name(name: str) -> bool:
    # THPVariable_Wrap; THCState_getCurrentStream, _THArgCheck and __THCudaCheck of TH and THC, up to 1.10.
    plain = name.lstrip("_")
    of_binding = plain.startswith("TH") and "A" <= plain[2:3] <= "Z"
    return of_binding or name.startswith(_C_NAMES) or name == "ParameterClass"


def _has_torch_scope(name: str) -> bool:
    """Whether a torch namespace stands in the name as a <source-name>: no digit before its length."""
    for scope in _TORCH_SCOPES:
        at = name.find(scope)
        while at >= 0:
            if not name[at - 1].isdecimal():
                return True
            at = name.find(scope, at + 1)
    return False
