"""cuda-library-mismatch, library-not-linked: C symbols of NVIDIA, AMD, compilers, MPI and the C++ runtime."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from abiscan.diagnosis.causes.library_versions import is_installed_in_link
from abiscan.diagnosis.fixes import torch_fixes
from abiscan.diagnosis.fixes.system_packages import library_of_file
from abiscan.diagnosis.fixes.wheel_rows import is_on_windows
from abiscan.diagnosis.libraries.cxx_runtime_names import cxx_abi_causes, cxx_runtime_causes, is_of_dyld
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.model.cause import CauseId
from abiscan.model.imports import Owner, Status
from abiscan.ownership.names import STANDARD_SCOPES
from abiscan.ownership.vendor_row import Vendor
from abiscan.ownership.vendors import cuda_in_name, vendor_of, vendor_of_library

# nvcc generates calls to it: registration of device code.
_LINKED_BINARY = "__cudaRegisterLinkedBinary"
_OF_MKL = "iJIT_"
# Of torch's libraries for ROCm: libtorch_hip.so, libc10_hip.so.
_OF_HIP = "_hip."
# Adapters of the SYCL runtime.
_OF_LEVEL_ZERO = ("libur_adapter_level_zero", "libpi_level_zero")


def causes(missing: MissingName) -> Candidates:
    """For a C symbol of a known library, any symbol with a versioned reference to one, and std::filesystem."""
    if missing.cxx is not None and missing.reference.library is None:
        of_product = not missing.is_torch_name and missing.namespace not in STANDARD_SCOPES
        if of_product and missing.file.facts is None and _is_of_cuda(missing):
            yield from _part_of_cuda(missing)
        elif missing.reference.version is None:
            yield from cxx_runtime_causes(missing)
        return
    if missing.is_torch_name:
        return
    # Most missing symbols are of torch.
    from abiscan.diagnosis.causes.system_libraries import is_symbol_version

    if is_symbol_version(missing.name):
        return
    if (
        missing.file.facts is None
        and missing.reference.library is None
        and missing.name.startswith(("__cxa_", "__gxx_"))
    ):
        yield from cxx_abi_causes(missing)
        return
    vendor = vendor_of_library(missing.reference.library) if missing.reference.library is not None else None
    vendor = vendor or missing.vendor or _vendor_despite_lost_underscore(missing)
    if vendor is None or missing.name.startswith(_LINKED_BINARY):
        return
    if vendor.library == "nccl" and missing.file.facts is None and _OF_HIP in missing.file.base_name:
        file, path = missing.file.base_name, missing.file.path
        yield from row_causes("rccl-lacks-symbol", missing, symbol=missing.name, file=file, path=path)
    elif (
        vendor.library == "ze_loader"
        and missing.file.facts is None
        and missing.file.base_name.startswith(_OF_LEVEL_ZERO)
    ):
        yield from row_causes(
            "level-zero-loader-lacks-symbol", missing, symbol=missing.name, file=missing.file.base_name
        )
    elif missing.reference.version is None and is_installed_in_link(missing):
        yield from _not_linked(missing, vendor, 0.5)
    elif vendor.cuda:
        yield from _cuda(missing, vendor)
    elif missing.reference.version is None or missing.file.facts is not None:
        yield from _of_other_vendor(missing, vendor)


def _of_other_vendor(missing: MissingName, vendor: Vendor) -> Candidates:
    """The causes of a symbol of another vendor than NVIDIA, by the file that needs it."""
    file, product, is_read = missing.file, vendor.product, missing.file.facts is not None
    of_plugin = file.base_name.startswith("libtorch") and not file.is_torch_itself
    if missing.name.startswith(_OF_MKL) and (file.is_torch_itself or not file.path):
        yield from row_causes("torch-of-conda-with-newer-mkl", missing, symbol=missing.name, product=product)
    elif not is_read and of_plugin and vendor.has_plugin:
        # Plug-ins link the libraries that they call: another release is installed.
        yield from _other_copy(missing, vendor, 0.85)
        yield from _not_linked(missing, vendor, 0.5)
    elif not is_read and not missing.reference.link_time and _is_of_another_release(missing, vendor):
        yield from _other_release(missing, vendor)
        yield from _not_linked(missing, vendor, 0.5)
    elif (_is_built_elsewhere(missing) and not file.base_name.startswith("libmkl_")) or _is_linked_by_torch(
        missing, vendor
    ):
        yield from row_causes(
            "library-of-vendor-lacks-symbol",
            missing,
            owner_text=_owner_text(missing, vendor),
            file=file.base_name,
            path=file.path,
            vendor_library=vendor.library,
            torch_library=file.is_torch_itself,
        )
        yield from _not_linked(missing, vendor, 0.5)
    elif is_of_dyld(missing) and vendor.owner is Owner.LIBC:
        yield from row_causes("symbol-of-libsystem-missing", missing)
    elif _is_openmp_of_macos(missing, vendor):
        yield from _other_copy(missing, vendor, 0.6)
        yield from _not_linked(missing, vendor, 0.5)
    else:
        # Without the file that needs it, a copy of another release may lack the symbol as well.
        yield from _not_linked(missing, vendor, 0.8 if is_read or file.path or missing.reference.link_time else 0.75)
        if not is_read and not (vendor.framework and missing.reference.link_time):
            yield from _other_copy(missing, vendor, 0.45)


def _is_of_another_release(missing: MissingName, vendor: Vendor) -> bool:
    """Whether the file links the library for certain: hipcc links the HIP runtime, and a product its own libraries."""
    if vendor.library == "amdhip64":
        return not missing.file.is_torch_itself
    if vendor.library == _MKL:
        return missing.file.base_name.startswith("libmkl_")
    return vendor_of_library(missing.file.file_name) is vendor


_MKL: Final = "mkl_rt"
_BLAS: Final = ("blas", "lapack", "openblas")
# hipamd, include/hip/hip_runtime_api.h: names of ROCm 6 with another structure (hipDeviceProp_tR0600).
_OF_ROCM = r"R0([6-9])00$"


def _other_release(missing: MissingName, vendor: Vendor) -> Candidates:
    """The library is there in another release, which lacks the symbol."""
    of_hip = vendor.owner is Owner.HIP
    release = re.search(_OF_ROCM, missing.name) if of_hip else None
    yield from row_causes(
        "vendor-library-of-other-release",
        missing,
        owner_text=_owner_text(missing, vendor),
        kind="hip" if of_hip else "mkl" if vendor.library == _MKL else "other",
        release="" if release is None else release[1],
        path=missing.file.path,
        vendor_library=vendor.library,
        torch_library=False,
    )


def _is_built_elsewhere(missing: MissingName) -> bool:
    """Whether the file of a message is a library of a vendor or of the system, which users do not build from source."""
    of_file = missing.file.base_name
    is_known = of_file.startswith("libmkl_") or vendor_of_library(of_file) is not None
    return missing.file.facts is None and (is_known or library_of_file(missing.file.file_name) is not None)


def _is_linked_by_torch(missing: MissingName, vendor: Vendor) -> bool:
    """Whether a loader's message is about a library of torch that was linked with the vendor's; not so BLAS, without
    which torch builds, too."""
    is_loaded = missing.file.facts is None and not missing.reference.link_time
    return missing.file.is_torch_itself and is_loaded and vendor.owner is Owner.OTHER and vendor.library not in _BLAS


def _vendor_despite_lost_underscore(missing: MissingName) -> Vendor | None:
    """The vendor of a name with a CUDA release that lost an underscore to Markdown or typing."""
    if missing.file.facts is not None or not cuda_in_name(missing.name):
        return None
    return vendor_of(f"__{missing.name.lstrip('_')}")


def _cuda(missing: MissingName, vendor: Vendor) -> Candidates:
    from abiscan.diagnosis.fixes.cuda_library_fixes import replace_cuda_library

    score, unversioned, *evidence = _evidence_on_cuda(missing, vendor)
    needed = _needs_vendor(missing, vendor)
    yield Candidate(
        CauseId.CUDA_LIBRARY_MISMATCH, score, tuple(evidence), partial(replace_cuda_library, missing, vendor)
    )
    if not needed and not _is_of_cuda(missing):
        # A linker has the library of the same headers: what all releases export is missing because it was not linked.
        # Objects and toolkit are of one release where a linker runs.
        not_given = missing.reference.link_time
        not_linked = 0.78 if not_given or unversioned else 0.7 if vendor.linked_by_user else 0.55
        if needed is not None:
            not_linked = 0.88
        elif missing.reference.library is not None:
            not_linked = 0.2
        yield from _not_linked(missing, vendor, not_linked)
    if missing.target_variant == "cpu" and vendor.with_torch and not needed:
        text = (
            f"{missing.target_label} is a CPU build: it does not load lib{vendor.library} into the process, "
            f"as a CUDA build does."
        )
        fix = torch_fixes.gpu_build(missing)
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.85, (evidence[0], text), fix)


def _part_of_cuda(missing: MissingName) -> Candidates:
    """A C++ symbol that a library of CUDA needs: only another library of the same product has it."""
    from abiscan.diagnosis.fixes.cuda_library_fixes import replace_cuda_library

    vendor = vendor_of_library(missing.file.file_name)
    assert vendor is not None
    text = (
        f"{missing.file.file_name} is part of {vendor.product}. It needs {missing.shown}, which a library of the same "
        f"release defines: the copy of that library that is loaded is of another release."
    )
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.85, (text,), partial(replace_cuda_library, missing, vendor))


def _evidence_on_cuda(missing: MissingName, vendor: Vendor) -> tuple[float, bool, *tuple[str, ...]]:
    """The score of another release of the library, whether the file was not linked against it, and the evidence."""
    from abiscan.diagnosis.fixes.cuda_library_fixes import release_evidence

    evidence = [f"{_owner_text(missing, vendor)} (lib{vendor.library})."]
    releases = release_evidence(missing, vendor)
    score = 0.72
    if releases is not None:
        evidence.append(releases[0])
        score = releases[1] or score
    # For a file, only a missing symbol counts: an undecided one may come from a library that was not found.
    looked = missing.file.facts is None or missing.reference.status in (None, Status.MISSING)
    if missing.reference.library is not None and looked:
        score = 0.95
        evidence.append(
            f"The file imports it from {missing.reference.library}, which was found but does not export it: it is "
            f"another release of {vendor.product}."
        )
    needed = _needs_vendor(missing, vendor)
    release = cuda_in_name(missing.name)
    if release and looked and needed != "":
        score = max(score, 0.9)
        evidence.append(f"The symbol is from CUDA {release}: the loaded library is older.")
    evidence += _installed(missing, vendor)
    if needed and looked:
        score = max(score, 0.88)
        evidence.append(f"The file lists {needed} as needed: another version of it was found.")
    elif needed is not None:
        score -= 0.3
        evidence.append(f"Against it: the file does not list lib{vendor.library} as needed.")
    if missing.file.is_torch_itself and not vendor.linked_by_user:
        score = max(score, 0.8)
        evidence.append("The file is part of torch and built for one version of it.")
    if vendor.linked_by_user and not missing.reference.library:
        score -= 0.15
    unversioned = _is_unversioned(missing, vendor) and releases is not None and releases[1] is None
    if unversioned:
        evidence.append(f"Not linked against it: a symbol of lib{vendor.library} then has a version in the message.")
        score = min(score, 0.6)
    return score, unversioned, *evidence


# What nvcc generates calls to, which links the runtime; and functions that CUDA 10 and 11 added.
_OF_NVCC_OR_LATER = r"__cuda|cuda\w{0,64}(?:Async|MemPool|Graph|Ex)"


def _is_unversioned(missing: MissingName, vendor: Vendor) -> bool:
    """Whether a loader's message has no version for a symbol of a library with versions: the file was not linked
    against the library."""
    reference = missing.reference
    return (
        vendor.has_versions
        and re.match(_OF_NVCC_OR_LATER, missing.name) is None
        and missing.file.facts is None
        and reference.version is None
        and reference.library is None
        and not reference.link_time
        and not missing.file.is_torch_itself
        and not _is_of_cuda(missing)
    )


def _is_of_cuda(missing: MissingName) -> bool:
    """Whether the file itself belongs to CUDA, which only NVIDIA links."""
    of_file = vendor_of_library(missing.file.file_name)
    return of_file is not None and of_file.cuda


def _owner_text(missing: MissingName, vendor: Vendor) -> str:
    """The functions of a library are not recorded: a symbol that is in no known message may be mistyped."""
    if not missing.file.path and missing.reference.library is None:
        return f"{missing.name} is named like the symbols of {vendor.product}"
    return f"{missing.name} belongs to {vendor.product}"


def _needs_vendor(missing: MissingName, vendor: Vendor) -> str | None:
    """The vendor's library among the needed ones; "" if missing, None if the file was not read."""
    if missing.file.facts is None:
        return None
    return next((soname for soname in missing.file.needed if vendor_of_library(soname) is vendor), "")


def _installed(missing: MissingName, vendor: Vendor) -> list[str]:
    packages, libraries = missing.environment.packages, missing.environment.libraries
    found = [
        f"{name} {version}"
        for name, version in sorted(packages.items())
        if vendor.distribution and name.startswith(vendor.distribution)
    ]
    files = [path for soname, path in sorted(libraries.items()) if vendor_of_library(soname) is vendor]
    return [
        *([f"Installed: {', '.join(found)}."] if found else ()),
        *([f"On this machine: {', '.join(files[:4])}."] if files else ()),
    ]


# torch.utils.cpp_extension.load, as of the operators of DeepSpeed.
_OF_JIT: Final = "torch_extensions/"


def _not_linked(missing: MissingName, vendor: Vendor, score: float) -> Candidates:
    flags = f"-framework {vendor.library}" if vendor.framework else f"-l{vendor.library}"
    if missing.reference.macos and vendor.library in _BLAS and not missing.name.startswith("LAPACKE_"):
        flags = "-framework Accelerate"
    if missing.reference.link_time and is_on_windows(missing):
        flags = f"{vendor.library}.lib"
        if vendor.cuda:
            flags += ' with /LIBPATH:"%CUDA_PATH%\\lib\\x64"'
    # torch links a BLAS, or has its own: one that takes it from the system found another, or none.
    of_system = missing.file.is_torch_itself and vendor.library in _BLAS and missing.file.facts is None
    yield from row_causes(
        "vendor-library-not-linked",
        missing,
        score=score,
        form="system-blas" if of_system else "",
        commands={"flags": flags},
        owner_text=_owner_text(missing, vendor),
        needed=", ".join(missing.file.needed),
        by_loader=missing.file.facts is None and not missing.reference.link_time,
        macos=missing.reference.macos,
        of_vendor=missing.file.base_name if _is_built_elsewhere(missing) else "",
        torch_library=missing.file.is_torch_itself,
        of_blas=vendor.library in _BLAS,
        path=missing.file.path,
        vendor_library=vendor.library,
        by_jit=_OF_JIT in missing.file.path,
        by_linker=missing.reference.link_time,
        vendor_package="" if vendor.cuda else vendor.conda or vendor.distribution,
    )


def _other_copy(missing: MissingName, vendor: Vendor, score: float) -> Candidates:
    """The copy of the library that was found may be of another release."""
    product = vendor.product
    commands = {"product": product, "brief": product.split(" (")[0]}
    openmp = _is_openmp_of_macos(missing, vendor)
    yield from row_causes(
        "copy-of-other-release",
        missing,
        score=score,
        commands=commands,
        openmp_of_macos=openmp,
        framework=vendor.framework,
    )


def _is_openmp_of_macos(missing: MissingName, vendor: Vendor) -> bool:
    """Whether dyld did not find a newer function of libomp, which torch for macOS loads: an older release is there."""
    loaded = missing.file.facts is None and missing.reference.macos and not missing.reference.link_time
    return loaded and vendor.library == "omp" and re.fullmatch(_OF_NEWER_OPENMP, missing.name) is not None


# openmp/runtime/src/dllexports of LLVM: the functions of clang with the last ordinals (281 on), and the one after them.
_OF_NEWER_OPENMP: Final = (
    "__kmpc_(?:error|(?:end_)?masked|push_num_teams_51|taskloop_5|(?:end_)?scope|copyprivate_light"
    "|sections_init|next_section|end_sections|dispatch_deinit)"
)
