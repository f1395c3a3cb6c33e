"""Symbols of the C++ runtime: what compilers generate calls to, std::filesystem, libc++ and other C++ libraries."""

from __future__ import annotations

from typing import Final

from abiscan.diagnosis import fixes
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId
from abiscan.ownership.names import STANDARD_SCOPES
from abiscan.ownership.vendors import library_of_namespace

# Functions of the Itanium C++ ABI (sections 2 and 3) that every C++ runtime has.
_CXX_ABI = frozenset(
    (
        *("__gxx_personality_v0", "__cxa_throw", "__cxa_rethrow", "__cxa_begin_catch", "__cxa_end_catch"),
        *("__cxa_allocate_exception", "__cxa_free_exception", "__cxa_get_exception_ptr", "__cxa_pure_virtual"),
        *("__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort", "__cxa_bad_cast", "__cxa_bad_typeid"),
        *("__cxa_demangle", "__cxa_vec_new", "__cxa_vec_ctor", "__cxa_vec_dtor", "__cxa_current_exception_type"),
    )
)
NEWER_MACOS: Final = (
    "sw_vers; otool -l FILE | grep -A4 -E 'LC_BUILD_VERSION|LC_VERSION_MIN'  # this macOS, and the oldest one that the "
    "file is for (minos)\nUpdate macOS, or install a release of the package whose wheel has a tag for this macOS "
    "(macosx_11_0_...), or build it here: export MACOSX_DEPLOYMENT_TARGET=11.0"
)
FOR_NEWER_MACOS: Final = "The file was built for a newer macOS than this one."


def cxx_abi_causes(missing: MissingName) -> Candidates:
    """Functions of the C++ runtime that compilers generate calls to."""
    evidence = f"{missing.name} is a function of the C++ runtime (libstdc++) that compiled code calls."
    everywhere = missing.name in _CXX_ABI
    older = (
        "The loaded libstdc++ is older than the compiler of the file."
        if not everywhere
        else "Every libstdc++ release exports it."
    )
    linked = "A file that was linked with gcc or ld instead of g++ does not list libstdc++ as needed."
    yield Candidate(CauseId.LIBSTDCXX_TOO_OLD, 0.4 if everywhere else 0.72, (evidence, older), _newer_runtime())
    yield Candidate(
        CauseId.LIBRARY_NOT_LINKED,
        0.7 if everywhere else 0.55,
        (evidence, linked),
        f"Link it: -lstdc++, or link with g++, then {fixes.rebuild(missing)}",
    )


def cxx_runtime_causes(missing: MissingName) -> Candidates:
    """std::filesystem of GCC 8, which was a separate library (GCC 8 release notes); symbols of other C++ libraries."""
    cxx = missing.cxx
    assert cxx is not None
    if cxx.scope[:3] == ("std", "experimental", "filesystem"):
        evidence = [f"{missing.shown} is in libstdc++fs.a, not in the shared libstdc++."]
        yield Candidate(CauseId.LIBRARY_NOT_LINKED, 0.8, tuple(evidence), "Link it: -lstdc++fs.")
        return
    if cxx.scope[:2] == ("std", "filesystem"):
        evidence = [f"libstdc++ contains {missing.shown} since GCC 9; with GCC 8 it is in libstdc++fs.a."]
        yield Candidate(
            CauseId.LIBRARY_NOT_LINKED, 0.8, tuple(evidence), "Link it: -lstdc++fs, or build with GCC 9 or later."
        )
        yield Candidate(CauseId.LIBSTDCXX_TOO_OLD, 0.5, tuple(evidence), _newer_runtime())
        return
    if is_of_dyld(missing) and "std::__1::" in missing.shown:
        evidence = [
            f"{missing.shown} is a symbol of libc++, which belongs to macOS: the one of this macOS does not export it.",
            FOR_NEWER_MACOS,
        ]
        if cxx.namespace in STANDARD_SCOPES and not missing.is_torch_name:
            yield Candidate(CauseId.LIBRARY_VERSION_MISMATCH, 0.7, tuple(evidence), NEWER_MACOS)
            return
    if "std::__1::" in missing.shown and cxx.namespace in STANDARD_SCOPES and not missing.is_torch_name:
        evidence = [f"{missing.shown} is a symbol of libc++ (LLVM, macOS), not of libstdc++."]
        fix = "Link with the C++ compiler or -lc++. On macOS, build for the oldest system that must run it: "
        yield Candidate(CauseId.LIBRARY_NOT_LINKED, 0.65, tuple(evidence), f"{fix}MACOSX_DEPLOYMENT_TARGET.")
        return
    if cxx.namespace in STANDARD_SCOPES and not missing.is_torch_name:
        evidence = [f"{missing.shown} is a symbol of the C++ standard library."]
        yield Candidate(CauseId.LIBSTDCXX_TOO_OLD, 0.65, tuple(evidence), _newer_runtime())
        return
    library = library_of_namespace(cxx.namespace)
    if library is not None:
        evidence = [f"{missing.shown} is in namespace {cxx.namespace} of {library}."]
        fix = f"Link {library}, in the version of its headers."
        if missing.file.path and not missing.reference.link_time and library.isidentifier():
            fix += f"\nor: LD_PRELOAD=lib{library}.so python ...  # without a rebuild; add the folder if needed"
        yield Candidate(
            CauseId.LIBRARY_NOT_LINKED,
            0.6,
            tuple(evidence),
            fix,
        )


def is_of_dyld(missing: MissingName) -> bool:
    """Whether the loader of macOS reported the symbol."""
    return missing.macho and not missing.reference.link_time and not missing.reference.bare


def _newer_runtime() -> str:
    return (
        "Load the libstdc++ of the compiler that built the file: conda install -c conda-forge libstdcxx-ng, "
        "or LD_PRELOAD the newer copy."
    )
