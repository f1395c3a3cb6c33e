"""Libraries of CUDA that a loader did not find, by file name: which release they are of, and what has it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from abiscan.diagnosis.fixes import extension_fixes, torch_fixes
from abiscan.diagnosis.fixes.cuda_library_packages import (
    LAST_WITH_MINOR,
    SHOWS_CUDA,
    CudaLibrary,
    extension_for_cuda,
    install_for_torch,
    install_itself,
    is_of_other_minor,
    release_of_cudatoolkit,
)
from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.wheel_rows import cuda_major
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.diagnosis.text.gpu_vendors import NO_GPU
from abiscan.model.cause import CauseId
from abiscan.model.versions import order
from abiscan.ownership.vendor_row import Vendor
from abiscan.ownership.vendors import cuda_distribution, distributions_beside, other_version_provided, vendor_of_library

# NVRTC opens this file by its plain name. Wheels and archives of torch for CUDA 11 have it under another name
# (pytorch/pytorch issues 58101, 93134 and 99781; wenet-e2e/wenet issue 1335).
_BUILTINS = "libnvrtc-builtins.so"
# Libraries of cuDNN 8 open this name, which wheels do not have (facefusion/facefusion-docker issue 9).
_NVRTC = "libnvrtc.so"
_FIRST_OF_PACKAGES = 12  # wheels for later CUDA require NVIDIA's packages
# cuDNN 8 and 9: libcudnn.so.N opens these by name when a function of theirs is first called (cuDNN API reference:
# a shim layer, https://docs.nvidia.com/deeplearning/cudnn/archives/cudnn-897/api/index.html).
_PART_OF_CUDNN = r"libcudnn_\w{1,64}\.so\.([89])"
# Of the libraries that cuDNN opens, not of the one that an extension is linked with.
_RELEASE_OF_CUDNN = r"libcudnn_\w{1,64}\.so\.([89])\b|64_([89])\.dll"
# The score of another release, if nothing shows which one is here.
_UNKNOWN_RELEASE = 0.8
SONAME = r"lib([\w+-]+?)(?:-[0-9a-f]{6,})?\.so(?:\.(\d{1,9})(?!\d)(?:\.(\d+))?)?"
"""Stem, first and second number of a shared library."""

_DLL_ON_PATH = "then put its folder on PATH, the one with the DLL: where /r %VIRTUAL_ENV% *64_*.dll"


def causes_for_cuda(
    name: str, vendor: Vendor, missing: MissingName, search: tuple[str, ...], here: str | None, *, by_torch: bool
) -> Iterable[Candidate]:
    """Causes for a library of CUDA, by its file name.

    Args:
        search: sentences about the search.
        here: where it is installed, outside of the search path.
        by_torch: torch itself was imported, not an extension.
    """
    found = re.search(SONAME, name)
    major = found[2] if found is not None else None
    others = _installed_others(vendor, major, missing)
    library = CudaLibrary(name, vendor, missing, major, _cuda_releases(name, vendor, major), others, here)
    if by_torch and vendor.library != "cuda":
        yield from _needed_by_torch(library, search)
    yield from _opened_by_other_name(library)
    evidence = (*search, *_facts(library))
    if missing.log.is_image_build and not by_torch and vendor.library != "cuda" and vendor.with_torch:
        commands = {"itself": install_itself(library)}
        yield from row_causes("cuda-library-not-in-image", missing, evidence=evidence, commands=commands, library=name)
    target = missing.target
    if target is not None and target.variant == "cpu" and _is_for_cuda_of_torch(library) is None:
        text = f"{missing.target_label} is a CPU build and does not install the CUDA libraries."
        if missing.variant_is_assumed:
            text = f"Or torch is a CPU build, as {missing.target_label}, and does not install the CUDA libraries."
        install = partial(torch_fixes.gpu_build, missing, cuda=max(library.releases, default=""))
        score = 0.7 if missing.variant_is_assumed else 0.82
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, score, (*evidence, text), install)
    if gpu_vendor_of(missing) == NO_GPU and missing.knowledge.target_from_source:
        text = "torch was built from source without CUDA: an extension that was built for CUDA does not fit it."
        fix = "\n".join((extension_fixes.rebuild(missing), *extension_fixes.check_others(missing)))
        yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.96, (text, *evidence), fix)
    elif vendor.library == "cuda":
        yield from row_causes(
            "driver-library-missing",
            missing,
            evidence=evidence,
            unversioned=name.endswith(".so"),
            wsl=missing.log.is_wsl,
            jetson=missing.log.is_jetson,
            image_build=missing.log.is_image_build,
            nixos=missing.log.system == "nixos",
            apptainer=missing.log.is_apptainer,
        )
    else:
        yield from _of_toolkit(library, evidence, by_torch)


def _installed_others(vendor: Vendor, major: str | None, missing: MissingName) -> tuple[str, ...]:
    """Files of the same library with another number that are installed."""
    known = {*missing.environment.libraries, *missing.log.library_files}
    return tuple(sorted(s for s in known if vendor_of_library(s) is vendor and _is_other(s, major)))


def _cuda_releases(name: str, vendor: Vendor, major: str | None) -> tuple[str, ...]:
    """The releases of CUDA that have a file; empty if unknown."""
    if major is None:
        return ()
    if int(major) <= LAST_WITH_MINOR and re.search(r"\.so\.\d{1,2}\.\d$", name) is not None:
        return (major,)  # up to CUDA 10.0 the names have the numbers of the toolkit
    return dict(vendor.cuda_releases).get(major, (major,) if vendor.numbered_as_cuda else ())


def _is_for_cuda_of_torch(library: CudaLibrary) -> bool | None:
    """Whether a library is of the CUDA release of torch; None if one of them is unknown."""
    missing, releases = library.missing, library.releases
    if not missing.target_cuda or not releases:
        return None
    return missing.target_cuda_major in releases and not is_of_other_minor(library.name, missing.target_cuda)


def _facts(library: CudaLibrary) -> Iterable[str]:
    """What the library is, what is installed instead, and the CUDA of torch."""
    missing, major = library.missing, library.major
    # The soname of cuSPARSELt has been 0 so far.
    release = f", version {major}." if major and major != "0" else "."
    yield f"{library.name} is part of {library.vendor.product}{release}"
    if library.others:
        yield f"Installed instead: {', '.join(library.others)}."
    fits = _is_for_cuda_of_torch(library)
    if fits is not None and missing.target is not None:
        same = ", the same CUDA release" if fits else ""
        yield f"{missing.target_label} is built for CUDA {missing.target.cuda}{same}."


def _is_of_cuda_11(library: CudaLibrary) -> bool:
    """Whether a library may be of CUDA 11 or earlier, by its number."""
    return library.major is None or int(library.major) < _FIRST_OF_PACKAGES


def _has_renamed_builtins(library: CudaLibrary) -> bool:
    """Whether torch may have this library of NVRTC under another name."""
    return library.name.startswith(_BUILTINS) and library.here is None and not library.missing.reference.bare


def _opened_by_other_name(library: CudaLibrary) -> Iterable[Candidate]:
    """A library of NVRTC that wheels have under another name."""
    missing = library.missing
    if _has_renamed_builtins(library):
        score = 0.79 if _is_of_cuda_11(library) else 0.65
        yield from row_causes("builtins-of-nvrtc-renamed", missing, score=score, library=library.name)
    if library.name == _NVRTC and library.here is None and missing.file.facts is None and not missing.reference.bare:
        yield from row_causes("nvrtc-without-number", missing)


def _scores(library: CudaLibrary) -> tuple[float, float]:
    """The scores of a library of another release, and of one that is not installed."""
    fits = _is_for_cuda_of_torch(library)
    if fits is not None:
        return (0.7, 0.75) if fits else (0.95, 0.6)
    if library.others:
        return 0.95, 0.6
    return (0.7, 0.6) if _has_renamed_builtins(library) and _is_of_cuda_11(library) else (_UNKNOWN_RELEASE, 0.6)


def _of_toolkit(library: CudaLibrary, evidence: tuple[str, ...], by_torch: bool) -> Iterable[Candidate]:
    """Causes for a library of the toolkit, not of the driver: first, that it is in another folder."""
    missing = library.missing
    score, absent = _scores(library)
    if library.here is not None:
        commands = {"folder": safe(library.here.rsplit("/", 1)[0], "DIRECTORY")}
        yield from row_causes("cuda-library-elsewhere", missing, evidence=evidence, commands=commands)
        score -= 0.15
    elif package := _installed_beside(library):
        yield from _of_pip_elsewhere(library, package, evidence)
        score, absent = min(score, 0.75), 0.6
    elif (major := _part_of_cudnn(library)) is not None:
        commands = {"itself": install_itself(library), "library": safe(library.name, "FILE"), "major": major}
        yield from row_causes(
            "part-of-cudnn-elsewhere",
            missing,
            evidence=evidence,
            commands=commands,
            part=library.name,
            wsl=missing.log.is_wsl,
            ctranslate2=major if missing.log.names_ctranslate2 else "",
        )
        score = min(score, 0.7)
    yield from _absent_or_other(library, evidence, score, absent, by_torch)


def _of_pip_elsewhere(library: CudaLibrary, package: str, evidence: tuple[str, ...]) -> Iterable[Candidate]:
    """A library in an installed package of NVIDIA, which no search path names."""
    commands = {
        "module": f"nvidia.{re.sub('-cu1[12]$', '', package.removeprefix('nvidia-')).replace('-', '_')}",
        "product": library.vendor.product,
    }
    yield from row_causes(
        "cuda-library-of-pip-elsewhere",
        library.missing,
        evidence=evidence,
        commands=commands,
        package=package,
        library=library.name,
    )


def _part_of_cudnn(library: CudaLibrary) -> str | None:
    """The release of cuDNN of a library that cuDNN itself opens; None if the file is none, or may be absent."""
    missing = library.missing
    part = re.match(_PART_OF_CUDNN, library.name)
    if part is None or library.others or missing.file.facts or _of_other_cudnn(library) is not None:
        return None
    return part[1]


def _absent_or_other(
    library: CudaLibrary, evidence: tuple[str, ...], score: float, absent: float, by_torch: bool
) -> Iterable[Candidate]:
    """Causes by the kind of the library: it is not installed, or another release of it is.

    Args:
        score: of another release.
        absent: of one that is not installed.
    """
    vendor, missing, others = library.vendor, library.missing, library.others
    if not vendor.with_torch and library.here is None and not others and score < 0.9:
        text = f"torch does not install {vendor.product}: the package of the file or the user must install it."
        yield Candidate(CauseId.LIBRARY_MISSING, 0.86, (*evidence, text), install_itself(library))
    elif not by_torch and (major := _of_other_cudnn(library)) is not None:
        yield from _cudnn_of_other_release(library, major, evidence)
    elif library.name.lower().endswith(".dll") and not others:
        yield from _cudnn_dll(library, evidence) if vendor.library == "cudnn" else _dll(library, evidence, score)
    elif vendor.every_cuda and not others and missing.file.facts is None:
        itself = install_itself(library)
        if "\nor: pip install" in itself:
            itself = f"{SHOWS_CUDA}  # chooses the package\n{itself}"
        yield Candidate(CauseId.LIBRARY_MISSING, 0.8, evidence, itself)
        yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.6, evidence, partial(install_for_torch, library))
    elif missing.file.facts is not None and not others and not _is_other_provided(library):
        # For a file, other versions were searched and not found.
        yield Candidate(CauseId.LIBRARY_MISSING, score, evidence, partial(install_for_torch, library))
    else:
        yield from _of_other_release(library, evidence, score, absent, by_torch)


def _is_other_provided(library: CudaLibrary) -> bool:
    """Whether torch provides another version of a library."""
    exports = library.missing.knowledge.exports
    return exports is not None and other_version_provided(library.name, exports.provided_libraries) is not None


def _dll(library: CudaLibrary, evidence: tuple[str, ...], score: float) -> Iterable[Candidate]:
    """The name has the release, `cublas64_11.dll`: Windows searches no other."""
    text = "torch wheels for Windows contain these DLLs for their own CUDA release in torch\\lib."
    bin_folder = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\vX.Y\bin"
    way = (
        f"where {safe(library.name, 'DLL')}  # no output: it is not on PATH\n"
        f"import torch  # first, if its CUDA release is the same\nor: put its folder on PATH ({bin_folder})"
    )
    package = _package_of_dll(library)
    itself = f"{package}\n{_DLL_ON_PATH}" if package else ""
    yield Candidate(
        CauseId.LIBRARY_MISSING, min(score, 0.8) - 0.05, (*evidence, text), f"{way}\nor: {itself}" if itself else way
    )
    other = extension_for_cuda(library.missing)
    fix = f"{other}\nor, for a program that needs this release whatever torch has: {itself}" if itself else other
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, min(score, 0.78), evidence, fix)


def _package_of_dll(library: CudaLibrary) -> str:
    """The command that installs NVIDIA's package with a DLL of CUDA; empty if its name does not show the release."""
    release = re.search(r"64_(\d\d)", library.name)
    package = None if release is None else cuda_distribution(library.vendor, int(release[1]))
    return "" if package is None else f'pip install "{package}"'


def _of_other_release(
    library: CudaLibrary, evidence: tuple[str, ...], score: float, absent: float, by_torch: bool
) -> Iterable[Candidate]:
    """The file was built for another release of CUDA; without an installed one, also that the library is absent."""
    name, missing = library.name, library.missing
    if name.endswith(".so") and missing.file.facts is None:
        text = "A program opened it by a name without a version. CUDA toolkits provide that name; wheels provide only "
        evidence = (*evidence, f"{text}lib{library.vendor.library}.so.N.")
        score, absent = min(score, 0.6), 0.82
    # Only another installed release, or the CUDA of torch, shows that the release is what does not fit.
    form = "" if missing.file.facts is not None or library.others or score > _UNKNOWN_RELEASE else "not-found"
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, score, evidence, partial(install_for_torch, library), form)
    if library.others:
        return
    if missing.file.facts is None:
        evidence = (f"{name} may be installed in a directory outside the search path.", *evidence)
    itself = install_itself(library)
    if missing.target_cuda and not by_torch:
        itself += f"\nor: {extension_for_cuda(missing)}"
    yield Candidate(CauseId.LIBRARY_MISSING, absent, evidence, itself)


def _of_other_cudnn(library: CudaLibrary) -> int | None:
    """The release of a library of cuDNN 8 or 9, if the other one is here."""
    missing = library.missing
    found = re.search(_RELEASE_OF_CUDNN, library.name.lower())
    if library.vendor.library != "cudnn" or found is None or library.others or missing.file.facts is not None:
        return None
    release, here = found[1] or found[2], _cudnn_here(missing)
    return None if here in ("", release) else int(release)


def _cudnn_of_other_release(library: CudaLibrary, major: int, evidence: tuple[str, ...]) -> Iterable[Candidate]:
    """A program that was built for cuDNN 8 beside a torch with cuDNN 9, or the other way round."""
    missing = library.missing
    yield from row_causes(
        "cudnn-of-other-release",
        missing,
        evidence=evidence[:1],
        commands={
            "major": str(major),
            "next_major": str(major + 1),
            "cuda": cuda_major(missing.target_variant) or "12",
        },
        library=library.name,
        torch=missing.target_version,
        needed=str(major),
        package=_listed_cudnn(missing),
        contained=_cudnn_here(missing),
        windows="yes" if library.name.lower().endswith(".dll") else "",
    )


def _cudnn_here(missing: MissingName) -> str:
    """The release of cuDNN of the listed package, else of the known torch: 9 from 2.4 on; empty if unknown."""
    if listed := _listed_cudnn(missing):
        return listed.partition(" ")[2].partition(".")[0]
    torch = order(missing.target_version)
    return "" if torch is None else "9" if torch >= (2, 4) else "8"


def _listed_cudnn(missing: MissingName) -> str:
    """NVIDIA's package of cuDNN with its version (`nvidia-cudnn-cu12 9.1.0.70`); empty if none is listed."""
    listed = (each for each in missing.environment.packages.items() if re.fullmatch(r"nvidia-cudnn-cu1[123]", each[0]))
    return next((" ".join(each) for each in listed if order(each[1]) is not None), "")


def _installed_beside(library: CudaLibrary) -> str:
    """NVIDIA's package with a library, if the text lists it; empty otherwise."""
    vendor, major, packages = library.vendor, library.major, library.missing.environment.packages
    is_other = vendor.library == "cudnn" and _cudnn_here(library.missing) not in ("", major)
    if major is None or is_other:
        return ""
    known = (cuda_distribution(vendor, int(major)), *distributions_beside(vendor, int(major)).values())
    wanted = {re.split(r"[<>=]", each)[0] for each in known if each}
    return next((each for each in packages if each in wanted and re.search(r"-cu1[12]$", each)), "")


def _needed_by_torch(library: CudaLibrary, evidence: tuple[str, ...]) -> Iterable[Candidate]:
    """A library that torch's own wheels contain or require."""
    yield from row_causes(
        "cuda-library-of-torch-missing",
        library.missing,
        evidence=evidence,
        commands={"itself": install_itself(library)},
        library=library.name,
        release=release_of_cudatoolkit(library.name) if library.missing.log.is_conda else "",
        jetson=library.missing.log.is_jetson,
        image_build=library.missing.log.is_image_build,
    )


def _is_other(soname: str, major: str | None) -> bool:
    """Whether a library's name has another major version than required."""
    found = re.search(SONAME, soname)
    return found is not None and found[2] not in (None, major)


def _cudnn_dll(library: CudaLibrary, evidence: tuple[str, ...]) -> Iterable[Candidate]:
    """How another library than torch finds cuDNN on Windows."""
    missing = library.missing
    in_name = re.search(r"64_(\d)", library.name)
    major = int(in_name[1]) if in_name is not None else 9
    # Builds of torch 2.4 and later contain cuDNN 9.
    torch, index = ("torch", "cu126") if major > 8 else ('"torch<2.4"', "cu121")
    way = f"pip install --force-reinstall {torch} --index-url https://download.pytorch.org/whl/{index}"
    if missing.target is not None:
        way = torch_fixes.gpu_build(missing).partition("\n")[0]
    with_cuda = "yes" if missing.target is not None and missing.target.cuda else ""
    commands = {"install": way, "major": str(major), "next_major": str(major + 1)}
    yield from row_causes("cudnn-dll-missing", missing, evidence=evidence, commands=commands, with_cuda=with_cuda)
