"""cuda-library-mismatch, library-not-linked, library-missing: names and libraries of NVIDIA, AMD, compilers and MPI."""

from __future__ import annotations

import re
from collections.abc import Iterable

from abiscan.diagnosis import fixes
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model import versions
from abiscan.model.binding import Status
from abiscan.model.cause import CauseId
from abiscan.model.versions import Windows
from abiscan.ownership.names import STANDARD_SCOPES
from abiscan.ownership.vendors import (
    NAMESPACE_LIBRARIES,
    Vendor,
    brought_otherwise,
    cuda_distribution,
    vendor_of,
    vendor_of_library,
)

# Whose number behind `.so` is that of the CUDA release, from 11 on (cufft, curand and cusolver count otherwise).
_NUMBERED_AS_CUDA = frozenset(("cudart", "cublas", "cublasLt", "cusparse"))
# Functions of the Itanium C++ ABI (sections 2 and 3), which every C++ runtime has.
_CXX_ABI = frozenset(
    (
        *("__gxx_personality_v0", "__cxa_throw", "__cxa_rethrow", "__cxa_begin_catch", "__cxa_end_catch"),
        *("__cxa_allocate_exception", "__cxa_free_exception", "__cxa_get_exception_ptr", "__cxa_pure_virtual"),
        *("__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort", "__cxa_bad_cast", "__cxa_bad_typeid"),
        *("__cxa_demangle", "__cxa_vec_new", "__cxa_vec_ctor", "__cxa_vec_dtor", "__cxa_current_exception_type"),
    )
)
# Names that nvcc itself emits calls to: registration of device code, launches.
_LINKED_BINARY = re.compile(r"__cudaRegisterLinkedBinary")
# `__nvJitLinkComplete_12_4`: nvJitLink puts the CUDA release into its names.
_RELEASE_IN_NAME = re.compile(r"_(\d{2})_(\d{1,2})$")
_SONAME = re.compile(r"lib([\w+-]+?)(?:-[0-9a-f]{6,})?\.so(?:\.(\d+)(?:\.(\d+))?)?")


def causes(missing: MissingName) -> Candidates:
    """For a C name of a known library, or any name that a versioned reference ties to one; and for std::filesystem."""
    if missing.cxx is not None and missing.library is None:
        yield from _cxx_runtime(missing)
        return
    if missing.is_torch_name:
        return
    if missing.file is None and missing.library is None and missing.name.startswith(("__cxa_", "__gxx_")):
        yield from _cxx_abi(missing)
        return
    vendor = vendor_of_library(missing.library) if missing.library is not None else None
    vendor = vendor or vendor_of(missing.name) or _with_lost_underscore(missing)
    if vendor is None or _LINKED_BINARY.match(missing.name):
        return
    if vendor.cuda:
        yield from _cuda(missing, vendor)
    else:
        yield _not_linked(missing, vendor, 0.8)
        if missing.file is None:
            yield _missing(vendor)


def _with_lost_underscore(missing: MissingName) -> Vendor | None:
    """The vendor of a name with a CUDA release in it of which Markdown, or who typed it, lost an underscore."""
    if missing.file is not None or _RELEASE_IN_NAME.search(missing.name) is None:
        return None
    return vendor_of(f"__{missing.name.lstrip('_')}")


def _cuda(missing: MissingName, vendor: Vendor) -> Candidates:
    evidence = [f"{missing.name} belongs to {vendor.product} (lib{vendor.library})."]
    score = 0.72
    # Of a file, only a name that is certainly missing says so: an open one may be of a library that is not there.
    looked = missing.file is None or missing.status is Status.MISSING
    if missing.library is not None and looked:
        score = 0.95
        evidence.append(
            f"The reference asks {missing.library} for it, which was found and does not have it: it is of another "
            f"release of {vendor.product}."
        )
    needed = _needs_vendor(missing, vendor)
    release = _RELEASE_IN_NAME.search(missing.name)
    if release is not None and looked and needed != "":
        score = max(score, 0.9)
        evidence.append(f"The name is of CUDA {release[1]}.{release[2]}: what was loaded is older.")
    evidence += _installed(missing, vendor)
    if needed and looked:
        score = max(score, 0.88)
        evidence.append(f"The file lists {needed} as needed, so it was found, in another version.")
    elif needed is not None:
        score -= 0.3
        evidence.append(f"Against it: the file does not list lib{vendor.library} as needed.")
    if missing.is_torch_itself and not vendor.linked_by_user:
        score = max(score, 0.8)
        evidence.append("The file is torch's own, built for one version of it.")
    if vendor.linked_by_user and not missing.library:
        score -= 0.15
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, score, tuple(evidence), _cuda_fix(missing, vendor))
    if needed is None or not needed:
        not_linked = 0.7 if vendor.linked_by_user else 0.55
        if needed is not None:
            not_linked = 0.88
        elif missing.library is not None:
            not_linked = 0.2
        yield _not_linked(missing, vendor, not_linked)
    if missing.target is not None and missing.target.variant == "cpu" and vendor.with_torch and not needed:
        text = (
            f"{missing.target_label} is a CPU build: it does not bring lib{vendor.library} into the process, "
            f"as a CUDA build does."
        )
        fix = (
            "Install a CUDA build of torch (the wheel index of its variant, such as cu126), or the CPU build "
            "of the extension."
        )
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.85, (evidence[0], text), fix)


def _needs_vendor(missing: MissingName, vendor: Vendor) -> str | None:
    """The vendor's library among the needed ones; "" where it is not there, None where the file was not read."""
    if missing.file is None:
        return None
    return next((soname for soname in missing.file.needed if vendor_of_library(soname) is vendor), "")


def _installed(missing: MissingName, vendor: Vendor) -> list[str]:
    environment = missing.environment
    if environment is None:
        return []
    found = [
        f"{name} {version}"
        for name, version in sorted(environment.packages.items())
        if vendor.distribution and name.startswith(vendor.distribution)
    ]
    files = [path for soname, path in sorted(environment.libraries.items()) if vendor_of_library(soname) is vendor]
    found_here = []
    if found:
        found_here.append("Installed: " + ", ".join(found) + ".")
    if files:
        found_here.append("On this machine: " + ", ".join(files[:4]) + ".")
    return found_here


def _cuda_fix(missing: MissingName, vendor: Vendor) -> str:
    if vendor.library == "cuda":
        return "Update the NVIDIA driver (nvidia-smi shows which CUDA it serves); take stubs/ out of LD_LIBRARY_PATH."
    line = f"unset LD_LIBRARY_PATH  # torch then finds its own lib{vendor.library} first"
    if not vendor.distribution:
        return line
    target = missing.target
    torch = f'"torch=={target.torch}"' if target is not None and versions.is_release(target.torch) else "torch"
    return f"{line}\nor: pip install --force-reinstall {torch}  # brings lib{vendor.library} of its own CUDA release"


def _not_linked(missing: MissingName, vendor: Vendor, score: float) -> Candidate:
    evidence = [f"{missing.name} belongs to {vendor.product}."]
    if missing.file is not None:
        evidence.append(f"The file's needed libraries are: {', '.join(missing.file.needed)}.")
    else:
        evidence.append("What the file lists as needed would decide (`readelf -d FILE`).")
    fix = f"Link it: -l{vendor.library}, then {fixes.rebuild(missing)}"
    return Candidate(CauseId.LIBRARY_NOT_LINKED, score, tuple(evidence), fix)


def _missing(vendor: Vendor) -> Candidate:
    return Candidate(
        CauseId.LIBRARY_MISSING,
        0.45,
        (f"The name belongs to {vendor.product}; a copy of another version or make may be found in its place.",),
        f"Install the {vendor.product.split(' (')[0]} that the file was built with; `ldd FILE` shows which "
        f"one is found.",
    )


def _cxx_abi(missing: MissingName) -> Candidates:
    """What compilers emit calls to, of the C++ runtime."""
    evidence = f"{missing.name} is a function of the C++ runtime (libstdc++), to which compilers emit calls."
    everywhere = missing.name in _CXX_ABI
    older = "The one that is loaded is older than the file's compiler." if not everywhere else "Every release has it."
    linked = "A file that gcc linked, or ld alone, does not list libstdc++ as needed: g++ does."
    yield Candidate(CauseId.LIBSTDCXX_TOO_OLD, 0.4 if everywhere else 0.72, (evidence, older), _newer_runtime())
    yield Candidate(
        CauseId.LIBRARY_NOT_LINKED,
        0.7 if everywhere else 0.55,
        (evidence, linked),
        f"Link it: -lstdc++, or link with g++, then {fixes.rebuild(missing)}",
    )


def _cxx_runtime(missing: MissingName) -> Candidates:
    """std::filesystem of GCC 8 lay in a library of its own (GCC 8 release notes); names of other C++ libraries."""
    cxx = missing.cxx
    assert cxx is not None
    if cxx.scope[:3] == ("std", "experimental", "filesystem"):
        evidence = [f"{missing.shown} is in libstdc++fs.a, and in no shared libstdc++."]
        yield Candidate(CauseId.LIBRARY_NOT_LINKED, 0.8, tuple(evidence), "Link it: -lstdc++fs.")
        return
    if cxx.scope[:2] == ("std", "filesystem"):
        evidence = [f"{missing.shown} is in libstdc++ only from GCC 9 on; GCC 8 has it in libstdc++fs.a."]
        yield Candidate(
            CauseId.LIBRARY_NOT_LINKED, 0.8, tuple(evidence), "Link it: -lstdc++fs, or build with GCC 9 or later."
        )
        yield Candidate(CauseId.LIBSTDCXX_TOO_OLD, 0.5, tuple(evidence), _newer_runtime())
        return
    if cxx.namespace in STANDARD_SCOPES and not missing.is_torch_name:
        evidence = [f"{missing.shown} is a name of the C++ standard library."]
        yield Candidate(CauseId.LIBSTDCXX_TOO_OLD, 0.65, tuple(evidence), _newer_runtime())
        return
    library = NAMESPACE_LIBRARIES.get(cxx.namespace or "")
    if library is not None:
        evidence = [f"{missing.shown} is of namespace {cxx.namespace}, of {library}."]
        yield Candidate(
            CauseId.LIBRARY_NOT_LINKED,
            0.6,
            tuple(evidence),
            f"Link the library that the headers are of ({library}), in the same version.",
        )


def _newer_runtime() -> str:
    return (
        "Load the libstdc++ of the compiler that built the file: conda install -c conda-forge libstdcxx-ng, "
        "or LD_PRELOAD the newer copy."
    )


def explain_library(name: str, missing: MissingName) -> Iterable[Candidate]:
    """A needed library that was not found, by its file name."""
    vendor = vendor_of_library(name)
    environment = missing.environment
    here = None if environment is None else environment.libraries.get(name)
    evidence: list[str] = [_not_found(name, missing)]
    if here is not None:
        evidence.append(f"It is on this machine at {here}, where the loader does not look for this file.")
    if vendor is not None and vendor.cuda:
        yield from _cuda_library(name, vendor, missing, evidence, here)
        return
    stem = fixes.word(name.split(".so", maxsplit=1)[0], "NAME")
    fix = f"Install what has {fixes.word(name, 'it')}; `ldconfig -p | grep {stem}` shows whether the loader knows one."
    if vendor is not None:
        evidence.append(f"It is of {vendor.product}.")
        if vendor.distribution:
            fix = f"pip install {vendor.distribution}"
    if here is not None:
        fix = f"export LD_LIBRARY_PATH={fixes.word(here.rsplit('/', 1)[0], 'DIRECTORY')}:$LD_LIBRARY_PATH"
    yield Candidate(CauseId.LIBRARY_MISSING, 0.85, tuple(evidence), fix)


def _not_found(name: str, missing: MissingName) -> str:
    """Who looked for a library: the loader of a message or of this machine, or nobody, against a released build."""
    if missing.file is None or missing.environment is not None:
        return f"The loader looked for {name} and found none."
    exports = missing.knowledge.exports
    other = None if exports is None else brought_otherwise(name, exports.brings)
    brings = "" if other is None else f": that brings {other}"
    own = name in (needed.rpartition("/")[2] for needed in missing.file.needed)
    who = "The file needs" if own else "A library that the file needs asks for"
    return f"{who} {name}, which neither its package nor {missing.target_label} has{brings}."


def _cuda_library(
    name: str, vendor: Vendor, missing: MissingName, evidence: list[str], here: str | None
) -> Iterable[Candidate]:
    found = _SONAME.search(name)
    major = found[2] if found is not None else None
    others: list[str] = []
    environment = missing.environment
    if environment is not None:
        others = sorted(s for s in environment.libraries if vendor_of_library(s) is vendor and _is_other(s, major))
    evidence.append(f"It is of {vendor.product}" + (f", version {major}." if major else "."))
    score, absent = 0.8, 0.6
    if others:
        score = 0.95
        evidence.append(f"Another version is here: {', '.join(others)}.")
    target = missing.target
    if target is not None:
        if target.cuda is not None and major is not None and vendor.library in _NUMBERED_AS_CUDA:
            if target.cuda.split(".")[0] != major:
                score = 0.95
                evidence.append(f"{missing.target_label} is built for CUDA {target.cuda}.")
            else:
                score = 0.7
                absent = 0.75
                evidence.append(f"{missing.target_label} is built for CUDA {target.cuda}, of which it is one.")
        elif target.variant == "cpu":
            text = f"{missing.target_label} is a CPU build, and does not install CUDA's libraries."
            fix = "Install a CUDA build of torch (the wheel index of its variant), or the CPU build of the extension."
            yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.82, (*evidence, text), fix)
    if vendor.library == "cuda":
        yield Candidate(
            CauseId.LIBRARY_MISSING,
            0.9,
            tuple(evidence),
            "Install the NVIDIA driver; in a container, start it with --gpus all (NVIDIA Container Toolkit).",
        )
        return
    if here is not None:
        fix = (
            f"import torch  # first: it loads the CUDA libraries of its wheels\nor: export "
            f"LD_LIBRARY_PATH={fixes.word(here.rsplit('/', 1)[0], 'DIRECTORY')}:$LD_LIBRARY_PATH"
        )
        yield Candidate(CauseId.IMPORT_TORCH_FIRST, 0.75, tuple(evidence), fix)
        score -= 0.15
    fix = _cuda_library_fix(vendor, major, missing)
    exports = missing.knowledge.exports
    brought = None if exports is None else brought_otherwise(name, exports.brings)
    if missing.file is not None and not others and brought is None:
        # Of a file it is known that no other version of it is there.
        yield Candidate(CauseId.LIBRARY_MISSING, score, tuple(evidence), fix)
        return
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, score, tuple(evidence), fix)
    if not others:
        yield Candidate(CauseId.LIBRARY_MISSING, absent, tuple(evidence), fix)


def _is_other(soname: str, major: str | None) -> bool:
    """Whether a library's name tells another major version than the wanted one."""
    found = _SONAME.search(soname)
    return found is not None and found[2] not in (None, major)


def _cuda_library_fix(vendor: Vendor, major: str | None, missing: MissingName) -> str:
    target = missing.target
    ways = []
    if target is not None and target.cuda is not None:
        major_here = target.cuda.partition(".")[0]
        ways.append(f"Install a build of the extension for CUDA {major_here}, which {missing.target_label} has.")
    else:
        ways.append("Install the build of the extension for the CUDA of the torch that is installed.")
    if (other := fixes.install_torch(missing, Windows())) is not None:
        ways.append(other)
    distribution = None if major is None else cuda_distribution(vendor, int(major))
    if distribution is not None and missing.environment is not None:
        ways.append(f'the library beside it: pip install "{distribution}"')
    return "\nor: ".join(ways)
