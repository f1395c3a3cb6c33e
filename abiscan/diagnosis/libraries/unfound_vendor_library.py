"""Libraries of NVIDIA, AMD, compilers and others that a loader or linker did not find, by file name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from abiscan.diagnosis.catalogue.load_packages import package_of_file
from abiscan.diagnosis.catalogue.package_row import SystemLibrary
from abiscan.diagnosis.fixes import extension_fixes, package_commands
from abiscan.diagnosis.fixes.hip_sources import is_for_cuda, rocm_of
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.system_packages import install_file, install_headers, library_of_file
from abiscan.diagnosis.libraries.unfound_cuda_library import SONAME, causes_for_cuda
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.reference import ANDROID_APP
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.model.cause import CauseId
from abiscan.model.imports import Owner
from abiscan.ownership.vendor_row import Vendor
from abiscan.ownership.vendors import other_version_provided, vendor_of_library


def explain_library(name: str, missing: MissingName, *, by_torch: bool = False) -> Iterable[Candidate]:
    """Causes for a missing library, by its file name.

    Args:
        by_torch: torch itself was imported, not an extension.
    """
    vendor = vendor_of_library(name)
    if missing.reference.link_time and name.endswith((".so", ".dylib")):
        # A name with a version is needed by a linked library, and belongs in its directory.
        yield from causes_at_link_time(name, vendor, missing)
        return
    if missing.file.facts is None and re.fullmatch(_HASHED, name):
        yield from row_causes("library-with-hash-missing", missing, library=name)
        return
    here = missing.environment.libraries.get(name) or missing.log.library_files.get(name)
    evidence: list[str] = [_not_found(name, missing)]
    if here is not None:
        evidence.append(f"It is installed at {here}, which is not in the search path of this file.")
    if vendor is not None and vendor.cuda:
        yield from causes_for_cuda(name, vendor, missing, tuple(evidence), here, by_torch=by_torch)
        return
    if missing.file.path.startswith(ANDROID_APP):
        yield from row_causes("library-of-android-app-missing", missing, library=name)
    elif vendor is not None and vendor.owner is Owner.HIP and not _of_system(name, vendor):
        if is_for_cuda(missing):
            commands = {"install": "\n".join(extension_fixes.reinstall(missing))}
            yield from row_causes("rocm-library-on-cuda", missing, commands=commands, library=name)
            return
        evidence.append(f"It is part of {vendor.product}.")
        versioned, stem = not name.endswith(".so"), _stem(name)
        if its := _other_rocm(name, missing):
            yield from row_causes(
                "library-of-other-rocm", missing, library=name, stem=stem, its=its, here=rocm_of(missing)
            )
            return
        yield from row_causes(
            "library-of-rocm-missing",
            missing,
            evidence=evidence,
            library=name,
            stem=stem,
            versioned=versioned,
            pip_rocm=missing.log.has_pip_rocm,
        )
    else:
        product, fix = _of_package(name, vendor, missing)
        if here is not None:
            fix = f"export LD_LIBRARY_PATH={safe(here.rsplit('/', 1)[0], 'DIRECTORY')}:$LD_LIBRARY_PATH"
        # Of a library that no catalogue has, neither the package nor the release is known that should provide it.
        known = product or here is not None or missing.file.facts is not None
        yield Candidate(CauseId.LIBRARY_MISSING, 0.85 if known else 0.75, (*evidence, *product), fix)


def _other_rocm(name: str, missing: MissingName) -> str:
    """The major release of ROCm that has a library, if torch or the system has another; else empty. The number of the
    HIP runtime is that of its ROCm."""
    found = re.fullmatch(r"libamdhip64\.so\.(\d{1,2})", name)
    here = rocm_of(missing).partition(".")[0]
    return found[1] if found is not None and here.isdigit() and here != found[1] else ""


def _stem(name: str) -> str:
    return safe(name.split(".so", maxsplit=1)[0], "NAME")


def _of_system(name: str, vendor: Vendor | None) -> SystemLibrary | None:
    """The library of the catalogue that packages of the system have; None for one that conda-forge has in releases."""
    return library_of_file(name) if safe(name, "") and not (vendor is not None and vendor.conda) else None


def _install(name: str, missing: MissingName) -> tuple[str, ...]:
    return install_file(name, jetson=missing.log.is_jetson, system=missing.log.system)


def _of_package(name: str, vendor: Vendor | None, missing: MissingName) -> tuple[tuple[str, ...], str]:
    """What the library is part of, as a sentence if that is known, and how to install it."""
    shows = "; `otool -L FILE` prints the path that the file expects." if name.endswith(".dylib") else ""
    if not shows and (not name.startswith("lib") or ".so" not in name):
        shows = ", and put its folder on PATH."
    fix = f"Install the package that provides {safe(name, 'it')}{shows}"
    if (system := _of_system(name, vendor)) is not None:
        installs = _install(name, missing)
        if system.pip and missing.file.is_program and ".so" in name:
            find = f"find / -name '{_stem(name)}.so*' 2>/dev/null"
            installs = (
                *installs,
                f"export LD_LIBRARY_PATH=DIRECTORY:$LD_LIBRARY_PATH  # DIRECTORY: its folder: {find}",
            )
        return (f"It is part of {system.product}.",), "\n".join(installs)
    if vendor is not None:
        of_vendor = f"pip install {vendor.distribution}" if vendor.distribution else ""
        return (f"It is part of {vendor.product}.",), of_vendor or (_of_conda(name, vendor) if vendor.conda else fix)
    if (opencv := re.search(_OPENCV, name)) is not None:
        release = f"{opencv[1]}.{int(opencv[2])}"
        return (f"{name} is part of OpenCV {release}.",), f'conda install -c conda-forge "libopencv={release}"'
    if missing.file.is_torch_itself and name.endswith(".dylib") and not library_of_file(name):
        bundled = "A file of torch needs it; the wheel of another torch release bundles it or does not need it."
        return (bundled,), "pip install --upgrade --force-reinstall torch  # installs a complete wheel"
    if (package := package_of_file(name)) is not None:
        product = f"{name} is part of {package.name}. Not every release and build of it has this file."
        ways = "\n".join(package_commands.install(package, missing)) or fix
        if package.modules and missing.file.facts is None:
            loads = "before the module that needs it, where this import loads it"
            ways += f"\nor, where {package.name} is installed: import {package.modules[0]}  # {loads}"
        return (product,), ways
    if safe(name, "") and (search := _install(name, missing)):
        stem = _stem(name)
        ways = "\n".join(search)
        fix = f"{ways}\nldconfig -p | grep {stem}; find / -name '{stem}.so*' 2>/dev/null  # where it is, if it is"
    return (), fix


# As auditwheel and the archives of libtorch name what they bundle: `libgomp-7c85b1e2.so.1`.
_HASHED = r"lib[\w+.-]+-[0-9a-f]{8}\.so(?:\.\d+){0,4}"
# Major and two digits of the minor release (cmake/OpenCVVersion.cmake).
_OPENCV = r"libopencv_\w+\.so\.(\d)(\d\d)$"
# Major versions of the libraries of FFmpeg 4; one more in each later major release
# (https://ffmpeg.org/download.html#releases, read 2026-11-25).
_FFMPEG_4 = {"avutil": 56, "avcodec": 58, "avformat": 58, "avdevice": 58, "avfilter": 7, "swscale": 5, "swresample": 3}


def _of_conda(name: str, vendor: Vendor) -> str:
    """Install the release of a library that has the file, from conda-forge."""
    if name.endswith(".dylib"):
        return f"brew install {vendor.conda}  # or: conda install -c conda-forge {vendor.conda}"
    found = re.search(SONAME, name)
    first = None if found is None else _FFMPEG_4.get(found[1])
    release = "" if found is None or first is None or not found[2] else str(int(found[2]) - first + 4)
    wanted = f'"{vendor.conda}={release}"' if release.isdecimal() and int(release) >= 4 else vendor.conda
    how = f"conda install -c conda-forge {wanted}"
    if found is None or not found[2]:
        return how
    apt = next((f"\nor: {way.removeprefix('or: ')}" for way in install_file(name) if "apt-get" in way), "")
    if "apt-file" in apt:
        apt = ""
    return (
        f"{how}  # contains {safe(name, 'it')}{apt}\nor: export LD_LIBRARY_PATH=DIRECTORY:$LD_LIBRARY_PATH  # if it "
        f"is installed (ldconfig -p | grep lib{found[1]})"
    )


def _not_found(name: str, missing: MissingName) -> str:
    """What searched for a library: the loader of a message or of this machine; nothing for a released build or a name
    without a message."""
    if missing.reference.bare:
        return f"A file that needs {name} loads only if the loader finds it."
    if missing.file.facts is None or missing.knowledge.environment is not None:
        return f"The loader did not find {name}."
    exports = missing.knowledge.exports
    other = None if exports is None else other_version_provided(name, exports.provided_libraries)
    provides = "" if other is None else f"; provided: {other}"
    own = name in (needed.rpartition("/")[2] for needed in missing.file.needed)
    who = "The file needs" if own else "A library that the file needs imports from"
    return f"{who} {name}, which neither its package nor {missing.target_label} provides{provides}."


# Libraries of CUDA that are not in its toolkit.
_OF_NO_TOOLKIT = frozenset(("cudnn", "nccl", "cusparseLt"))


def causes_at_link_time(name: str, vendor: Vendor | None, missing: MissingName) -> Candidates:
    """Causes for a library without a version in its name, which only packages for development have."""
    system = None if name.endswith(".dylib") else library_of_file(name)
    product = system.product if system is not None else "" if vendor is None else vendor.product
    yield from row_causes(
        "library-not-found-by-linker",
        missing,
        commands={
            "flag": f"-l{safe(name.removeprefix('lib').split('.', 1)[0], 'NAME')}",
            "install": "" if system is None else "\n".join(install_headers(system)),
            "product": product,
            "brief": product.split(" (")[0],
        },
        library=name,
        vendor_library="" if vendor is None else vendor.library,
        kind=_kind(name, vendor, system),
        wsl=missing.log.is_wsl,
        conda=missing.log.is_conda,
    )


def _kind(name: str, vendor: Vendor | None, system: SystemLibrary | None) -> str:
    if system is not None:
        return "system"
    if vendor is None:
        return "unknown"
    if name.endswith(".dylib"):
        return "macos"
    if vendor.library == "cuda":
        return "driver"
    if not vendor.cuda:
        return "other"
    return "development" if vendor.library in _OF_NO_TOOLKIT else "toolkit"
