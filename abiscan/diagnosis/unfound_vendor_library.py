"""Libraries of NVIDIA, AMD, compilers and others that a loader or linker did not find, by file name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from abiscan.diagnosis import fixes, package_commands, torch_commands
from abiscan.diagnosis.catalogue.load_packages import package_of_file, packages_by_name
from abiscan.diagnosis.messages.message_paths import ANDROID_APP
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate
from abiscan.diagnosis.system_packages import install_file, install_headers, library_of_file
from abiscan.model.cause import CauseId
from abiscan.model.imports import Owner
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.vendor_row import Vendor
from abiscan.ownership.vendors import (
    cuda_distribution,
    distributions_beside,
    other_version_provided,
    vendor_of_library,
)

# Libraries whose number after `.so` is the CUDA release since 11 (cufft, curand and cusolver have other numbers), and
# CUDA releases of other numbers.
_NUMBERED_AS_CUDA = frozenset(("cudart", "cublas", "cublasLt", "nppc", "nvjpeg", "nvJitLink"))
_CUDA_OF = {
    ("cusparse", "11"): ("11",),
    ("cusparse", "12"): ("12", "13"),
    ("cufft", "10"): ("11",),
    ("cufft", "11"): ("12",),
    ("cufft", "12"): ("13",),
    ("cusolver", "11"): ("11", "12"),
    ("cusolver", "12"): ("13",),
}
# Their sonames have never changed: the number of the file is the same for every release of CUDA.
_LAST_WITH_MINOR = 10
_OF_EVERY_CUDA = frozenset(("nccl", "nvToolsExt"))
_SHOWS_CUDA = "python -c 'import torch; print(torch.__version__, torch.version.cuda)'"
# https://github.com/dusty-nv/jetson-containers/issues/121 and https://github.com/NVIDIA-AI-IOT/torch2trt/pull/488.
_JETSON_CONTAINER = (
    "In a container: docker run --runtime nvidia, which mounts these libraries of the Jetson; for docker build too: "
    'add "default-runtime": "nvidia" to /etc/docker/daemon.json, then sudo systemctl restart docker'
)
_BUILD_FOR_CUDA = (
    "Install the build of the extension for the CUDA of torch, or build it with nvcc of that release (CUDA_HOME): "
    "{build}"
)
_SONAME = r"lib([\w+-]+?)(?:-[0-9a-f]{6,})?\.so(?:\.(\d{1,9})(?!\d)(?:\.(\d+))?)?"


def explain_library(name: str, missing: MissingName, *, by_torch: bool = False) -> Iterable[Candidate]:
    """Causes for a missing library, by its file name.

    Args:
        by_torch: torch itself was imported, not an extension.
    """
    vendor = vendor_of_library(name)
    if missing.reference.link_time and name.endswith((".so", ".dylib")):
        # A name with a version is needed by a linked library, and belongs in its directory.
        yield _not_found_by_linker(name, vendor, of_wsl=missing.log.is_wsl)
        return
    environment = missing.environment
    here = None if environment is None else environment.libraries.get(name)
    evidence: list[str] = [_not_found(name, missing)]
    if here is not None:
        evidence.append(f"It is installed at {here}, which is not in the search path of this file.")
    if vendor is not None and vendor.cuda and by_torch and vendor.library != "cuda":
        yield _needed_by_torch(vendor, name, evidence, missing)
    if vendor is not None and vendor.cuda:
        yield from _cuda_library(name, vendor, missing, evidence, here)
        return
    stem = fixes.safe(name.split(".so", maxsplit=1)[0], "NAME")
    if missing.file.path.startswith(ANDROID_APP):
        fix = (
            "Add the AAR that contains the library to the Gradle build, for the processor of the device (abiFilters; "
            "adb shell getprop ro.product.cpu.abi)\nunzip -l app.apk | grep lib/  # lists the libraries of the app"
        )
        yield Candidate(CauseId.LIBRARY_MISSING, 0.85, (f"The Android linker did not find {name} in the app.",), fix)
        return
    shows = "; `otool -L FILE` prints the path that the file expects." if name.endswith(".dylib") else ""
    if not shows and (not name.startswith("lib") or ".so" not in name):
        shows = ", and put its folder on PATH."
    fix = f"Install the package that provides {fixes.safe(name, 'it')}{shows}"
    system = library_of_file(name) if fixes.safe(name, "") else None
    if system is not None and not (vendor is not None and vendor.conda):
        evidence.append(f"It is part of {system.product}.")
        fix = "\n".join(install_file(name))
    elif vendor is not None:
        evidence.append(f"It is part of {vendor.product}.")
        if vendor.owner is Owner.HIP:
            yield from _of_rocm(name, stem, evidence, missing)
            return
        if vendor.distribution:
            fix = f"pip install {vendor.distribution}"
        elif vendor.conda:
            fix = _of_conda(name, vendor)
    elif (opencv := re.search(_OPENCV, name)) is not None:
        evidence.append(f"{name} is part of OpenCV {opencv[1]}.{int(opencv[2])}.")
        fix = f'conda install -c conda-forge "libopencv={opencv[1]}.{int(opencv[2])}"'
    elif missing.file.is_torch_itself and name.endswith(".dylib"):
        evidence.append("A file of torch needs it; the wheel of another torch release bundles it or does not need it.")
        fix = "pip install --upgrade --force-reinstall torch  # installs a release whose wheel is complete"
    elif (package := package_of_file(name)) is not None:
        evidence.append(
            f"{name} is part of {package.name}; the installed release has no build for this torch, CUDA or system."
        )
        fix = "\nor: ".join(package_commands.install(package, missing)) or fix
    elif fixes.safe(name, "") and (search := install_file(name)):
        fix = f"{search[0]}\nldconfig -p | grep {stem}; find / -name '{stem}.so*' 2>/dev/null  # where it is, if it is"
    if here is not None:
        fix = f"export LD_LIBRARY_PATH={fixes.safe(here.rsplit('/', 1)[0], 'DIRECTORY')}:$LD_LIBRARY_PATH"
    yield Candidate(CauseId.LIBRARY_MISSING, 0.85, tuple(evidence), fix)


# NVRTC opens this file by its plain name. Wheels and archives of torch for CUDA 11 have it under another name
# (pytorch/pytorch issues 58101, 93134 and 99781; wenet-e2e/wenet issue 1335).
_BUILTINS = "libnvrtc-builtins.so"
_FIRST_OF_PACKAGES = 12  # wheels for later CUDA require NVIDIA's packages


def _renamed_builtins(name: str, score: float) -> Candidate:
    evidence = (
        f"The loader did not find {name}, which NVRTC opens by this name.",
        "Many builds of torch contain the file with a hash in its name (libnvrtc-builtins-HASH.so.N), or without the "
        "number, next to libtorch: wheels for CUDA 11, archives of libtorch.",
    )
    file = fixes.safe(name, "FILE")
    fix = (
        "cd $(python -c 'import torch; print(torch.__path__[0])')/lib; ls libnvrtc*  # without Python: cd "
        "/path/to/libtorch/lib\n"
        f"If it prints libnvrtc-builtins-HASH.so.N with the N of {file}, or libnvrtc-builtins.so: ln -s FILE {file}\n"
        "export LD_LIBRARY_PATH=$PWD:$LD_LIBRARY_PATH  # if it is still not found"
    )
    return Candidate(CauseId.LIBRARY_MISSING, score, evidence, fix)


def _of_rocm(name: str, stem: str, evidence: list[str], missing: MissingName) -> Iterable[Candidate]:
    """A library of ROCm: another release of it has another number."""
    other = "The number behind .so is that of a ROCm release: another one is installed, or none."
    torch = "torch" if missing.target is None else f"torch=={missing.target.version}"
    fix = (
        f"ls /opt/rocm*/lib/{stem}.so*  # which numbers are there\n"
        f"pip install --force-reinstall {torch} --index-url https://download.pytorch.org/whl/rocmX.Y  # contains the "
        "libraries of ROCm; X.Y: the release of this system\n"
        f"If torch loads: {fixes.rebuild(missing)}"
    )
    yield Candidate(CauseId.LIBRARY_MISSING, 0.85, (*evidence, other), fix)
    if not name.endswith(".so"):
        built = f"{name} is what the file was linked with; the system has another release of ROCm."
        yield Candidate(CauseId.LIBRARY_VERSION_MISMATCH, 0.7, (built, *evidence), fix)


# Major and two digits of the minor release (cmake/OpenCVVersion.cmake).
_OPENCV = r"libopencv_\w+\.so\.(\d)(\d\d)$"
# Major versions of the libraries of FFmpeg 4; one more in each later major release
# (https://ffmpeg.org/download.html#releases, read 2026-11-25).
_FFMPEG_4 = {"avutil": 56, "avcodec": 58, "avformat": 58, "avdevice": 58, "avfilter": 7, "swscale": 5, "swresample": 3}


def _of_conda(name: str, vendor: Vendor) -> str:
    """Install the release of a library that has the file, from conda-forge."""
    if name.endswith(".dylib"):
        return f"brew install {vendor.conda}  # or: conda install -c conda-forge {vendor.conda}"
    found = re.search(_SONAME, name)
    first = None if found is None else _FFMPEG_4.get(found[1])
    release = "" if found is None or first is None or not found[2] else str(int(found[2]) - first + 4)
    if vendor.cuda and found is not None and found[2]:
        release = found[2]
    wanted = f'"{vendor.conda}={release}"' if release.isdecimal() and int(release) >= 4 else vendor.conda
    how = f"conda install -c conda-forge {wanted}"
    if found is None or not found[2]:
        return how
    return (
        f"{how}  # contains {fixes.safe(name, 'it')}\nor: export LD_LIBRARY_PATH=DIRECTORY:$LD_LIBRARY_PATH  # if it "
        f"is "
        f"installed (ldconfig -p | grep lib{found[1]})"
    )


# The driver's package for development has this link.
_LINK_TO_DRIVER = "d=$(dirname $(ldconfig -p | grep -m1 -o '/.*/libcuda.so.1')); sudo ln -s libcuda.so.1 $d/libcuda.so"
_TOOLKIT = "export CUDA_HOME=/usr/local/cuda  # path of the toolkit; torch.utils.cpp_extension then adds its folder"
# `ld` searches the name without a version, which only development packages have.
_FOR_DEVELOPMENT = "pip wheels contain only the name with a version; create a link without it"


def _not_found_by_linker(name: str, vendor: Vendor | None, *, of_wsl: bool) -> Candidate:
    """`cannot find -lcudart`: no folder of -L has the file; nothing is loaded yet."""
    flag = f"-l{fixes.safe(name.removeprefix('lib').split('.', 1)[0], 'NAME')}"
    evidence = [f"The linker did not find {name} in the folders of -L and the system."]
    system = library_of_file(name)
    if system is not None and not name.endswith(".dylib"):
        evidence.append(f"It is part of {system.product}.")
        return Candidate(CauseId.LIBRARY_MISSING, 0.9, tuple(evidence), "\n".join(install_headers(system)))
    if vendor is None:
        fix = (
            f"Install the development package that contains {fixes.safe(name, 'it')}, or add its folder: -L/path {flag}"
        )
        return Candidate(CauseId.LIBRARY_MISSING, 0.85, tuple(evidence), fix)
    evidence.append(f"{name} is part of {vendor.product}.")
    if name.endswith(".dylib"):
        brew = "brew install libomp" if vendor.library == "omp" else "brew install its formula"
        fix = f"{brew}\nexport LDFLAGS=-L$(brew --prefix)/lib  # for OpenMP: -L$(brew --prefix libomp)/lib"
        return Candidate(CauseId.LIBRARY_MISSING, 0.9, tuple(evidence), fix)
    if vendor.library == "cuda":
        evidence.append("The driver provides libcuda.so.1; a toolkit provides a stub of libcuda.so to link with.")
        wsl = "export LIBRARY_PATH=/usr/lib/wsl/lib:$LIBRARY_PATH  # WSL: the driver of Windows is in this folder\n"
        fix = (wsl if of_wsl else "") + (
            f"{_TOOLKIT}\n-L/usr/local/cuda/lib64/stubs {flag}  # for linking only, never in LD_LIBRARY_PATH\n"
            "export LIBRARY_PATH=/usr/local/cuda/lib64/stubs:$LIBRARY_PATH  # where Triton or Inductor links\n"
            f"or: {_LINK_TO_DRIVER}\n"
            "or, where ldconfig -p does not list libcuda.so.1: sudo ldconfig DIRECTORY  # /usr/lib64-nvidia on Colab, "
            "/.singularity.d/libs in Singularity"
        )
    elif vendor.cuda and vendor.library in ("cudnn", "nccl", "cusparseLt"):
        fix = f"Install {vendor.product} for development (its headers and lib{vendor.library}.so): {_FOR_DEVELOPMENT}."
    elif vendor.cuda:
        folder = "$(python -c 'import torch; print(torch.__path__[0])')/lib/"
        link = f"ln -s $CUDA_HOME/lib64/{fixes.safe(name, 'FILE')} {folder}"
        fix = (
            f"{_TOOLKIT}\nexport LIBRARY_PATH=$CUDA_HOME/lib64:$LIBRARY_PATH  # gcc searches it for {flag}\n"
            f"or: {link}\nor, without a toolkit: {_FOR_DEVELOPMENT}"
        )
    else:
        fix = f"Install {vendor.product.split(' (')[0]} for development, or add its folder: -L/path {flag}"
    return Candidate(CauseId.LIBRARY_MISSING, 0.9, tuple(evidence), fix)


# https://docs.nvidia.com/cuda/wsl-user-guide: the driver of Windows is mounted there, and no driver for Linux may be
# installed.
_OF_WSL = "export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH"


def _cudnn_of_windows(name: str, missing: MissingName) -> str:
    """How another library than torch finds cuDNN on Windows."""
    in_name = re.search(r"64_(\d)", name)
    major = int(in_name[1]) if in_name is not None else 9
    # Builds of torch 2.4 and later contain cuDNN 9.
    torch, index = ("torch", "cu126") if major > 8 else ('"torch<2.4"', "cu121")
    way = f"pip install --force-reinstall {torch} --index-url https://download.pytorch.org/whl/{index}"
    if missing.target is not None:
        way = fixes.gpu_build(missing).partition("\n")[0]
    return (
        f"{way}  # a CUDA build; import torch first, in the file that starts the program\n"
        f'or: pip install "nvidia-cudnn-cu12>={major},<{major + 1}"\n'
        "then put its folder on PATH, the one with the DLL: where /r %VIRTUAL_ENV% cudnn*.dll"
    )


def _driver(name: str, missing: MissingName) -> str:
    """Where the driver's library is."""
    driver = "Install the NVIDIA driver; in a container, start it with --gpus all (NVIDIA Container Toolkit)."
    if missing.log.is_wsl:
        return (
            f"{_OF_WSL}  # WSL: the driver of Windows is in this folder; install none in Linux\n"
            "ls /usr/lib/wsl/lib/libcuda.so*; nvidia-smi  # none: update the driver of Windows, then wsl --update"
        )
    if name.endswith(".so"):  # a program opens it by the name of the link for development
        driver += f"\nldconfig -p | grep libcuda  # only libcuda.so.1 is there: {_LINK_TO_DRIVER}"
    return f"{driver}\non WSL: {_OF_WSL}"


def _not_found(name: str, missing: MissingName) -> str:
    """What searched for a library: the loader of a message or of this machine; nothing for a released build or a name
    without a message."""
    if missing.reference.bare:
        return f"A file that needs {name} loads only if the loader finds it."
    if missing.file.facts is None or missing.environment is not None:
        return f"The loader did not find {name}."
    exports = missing.knowledge.exports
    other = None if exports is None else other_version_provided(name, exports.provided_libraries)
    provides = "" if other is None else f"; provided: {other}"
    own = name in (needed.rpartition("/")[2] for needed in missing.file.needed)
    who = "The file needs" if own else "A library that the file needs imports from"
    return f"{who} {name}, which neither its package nor {missing.target_label} provides{provides}."


def _cuda_library(
    name: str, vendor: Vendor, missing: MissingName, evidence: list[str], here: str | None
) -> Iterable[Candidate]:
    found = re.search(_SONAME, name)
    major = found[2] if found is not None else None
    others: list[str] = []
    environment = missing.environment
    if environment is not None:
        others = sorted(s for s in environment.libraries if vendor_of_library(s) is vendor and _is_other(s, major))
    # The soname of cuSPARSELt has been 0 so far.
    evidence.append(f"{name} is part of {vendor.product}" + (f", version {major}." if major and major != "0" else "."))
    score, absent = 0.8, 0.6
    if name.startswith(_BUILTINS) and here is None and not missing.reference.bare:
        of_cuda_11 = major is None or int(major) < _FIRST_OF_PACKAGES
        yield _renamed_builtins(name, 0.79 if of_cuda_11 else 0.65)
        score = 0.7 if of_cuda_11 else score
    if others:
        score = 0.95
        evidence.append(f"Installed instead: {', '.join(others)}.")
    target = missing.target
    releases: tuple[str, ...] = ()
    if major is not None:
        releases = _CUDA_OF.get((vendor.library, major), (major,) if vendor.library in _NUMBERED_AS_CUDA else ())
        if int(major) <= _LAST_WITH_MINOR and re.search(r"\.so\.\d{1,2}\.\d$", name) is not None:
            releases = (major,)  # up to CUDA 10.0 the names have the numbers of the toolkit
    if target is not None:
        if target.cuda is not None and releases:
            if target.cuda.split(".")[0] not in releases or _is_of_other_minor(name, target.cuda):
                score = 0.95
                evidence.append(f"{missing.target_label} is built for CUDA {target.cuda}.")
            else:
                score = 0.7
                absent = 0.75
                evidence.append(f"{missing.target_label} is built for CUDA {target.cuda}, the same CUDA release.")
        elif target.variant == "cpu":
            text = f"{missing.target_label} is a CPU build and does not install the CUDA libraries."
            fix = fixes.gpu_build(missing, cuda=max(releases, default=""))
            yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.82, (*evidence, text), fix)
    if vendor.library == "cuda":
        yield Candidate(CauseId.LIBRARY_MISSING, 0.9, tuple(evidence), _driver(name, missing))
        return
    if here is not None:
        fix = (
            f"import torch  # first: it loads the CUDA libraries of its wheels\nor: export "
            f"LD_LIBRARY_PATH={fixes.safe(here.rsplit('/', 1)[0], 'DIRECTORY')}:$LD_LIBRARY_PATH"
        )
        yield Candidate(CauseId.IMPORT_TORCH_FIRST, 0.75, tuple(evidence), fix)
        score -= 0.15
    elif package := _installed_beside(vendor, major, missing):
        text = (
            f"The text lists {package}, which has {name}: it is installed, but in no folder that the loader searches."
        )
        way = _load_installed(package, vendor)
        yield Candidate(CauseId.IMPORT_TORCH_FIRST, 0.88, (*evidence, text), way)
        score, absent = min(score, 0.75), 0.6
    if not vendor.with_torch and here is None and not others and score < 0.9:
        text = f"torch does not install {vendor.product}: the package of the file or the user must install it."
        yield Candidate(CauseId.LIBRARY_MISSING, 0.86, (*evidence, text), _itself(vendor, major, missing))
        return
    if name.lower().endswith(".dll") and vendor.library == "cudnn" and not others:
        text = "torch's CUDA builds for Windows contain cuDNN in torch\\lib, CPU builds do not."
        yield Candidate(CauseId.LIBRARY_MISSING, 0.82, (*evidence, text), _cudnn_of_windows(name, missing))
        return
    if name.lower().endswith(".dll") and not others:
        # The name has the release, `cublas64_11.dll`: Windows searches no other.
        text = "torch wheels for Windows contain these DLLs for their own CUDA release in torch\\lib."
        bin_folder = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\vX.Y\bin"
        way = (
            f"where {fixes.safe(name, 'DLL')}  # no output: it is not on PATH\n"
            f"import torch  # first, if its CUDA release is the same\nor: put its folder on PATH ({bin_folder})"
        )
        yield Candidate(CauseId.LIBRARY_MISSING, min(score, 0.8) - 0.05, (*evidence, text), way)
        yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, min(score, 0.8), tuple(evidence), _of_cuda(missing))
        return
    fix = _cuda_library_fix(name, vendor, major, releases, missing)
    if vendor.library in _OF_EVERY_CUDA and not others and missing.file.facts is None:
        itself = _itself(vendor, major, missing)
        if "\nor: pip install" in itself:
            itself = f"{_SHOWS_CUDA}  # chooses the package\n{itself}"
        yield Candidate(CauseId.LIBRARY_MISSING, 0.8, tuple(evidence), itself)
        yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.6, tuple(evidence), fix)
        return
    exports = missing.knowledge.exports
    provided = None if exports is None else other_version_provided(name, exports.provided_libraries)
    if missing.file.facts is not None and not others and provided is None:
        # For a file, other versions were searched and not found.
        yield Candidate(CauseId.LIBRARY_MISSING, score, tuple(evidence), fix)
        return
    if name.endswith(".so") and missing.file.facts is None:
        evidence.append(
            "A program opened it by a name without a version. CUDA toolkits provide that name; wheels provide only "
            f"lib{vendor.library}.so.N."
        )
        score, absent = min(score, 0.6), 0.82
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, score, tuple(evidence), fix)
    if not others:
        if missing.file.facts is None:
            evidence.insert(0, f"{name} may be installed in a directory outside the search path.")
        yield Candidate(CauseId.LIBRARY_MISSING, absent, tuple(evidence), _itself(vendor, major, missing))


def _minor_release(name: str) -> str:
    """The CUDA release in the name of a library (`10.1` for libcudart.so.10.1); empty if it has only the major one."""
    found = re.search(r"\.so\.(\d{1,2}\.\d)$", name)
    return (
        ""
        if found is None or (found[1].endswith(".0") and int(found[1].split(".")[0]) > _LAST_WITH_MINOR)
        else found[1]
    )


def _is_of_other_minor(name: str, cuda: str) -> bool:
    """Whether a library is of another minor release than the CUDA of torch: up to CUDA 10 names have both numbers."""
    release = _minor_release(name)
    return bool(release) and int(release.split(".")[0]) <= _LAST_WITH_MINOR and not f"{cuda}.".startswith(f"{release}.")


def _installed_beside(vendor: Vendor, major: str | None, missing: MissingName) -> str:
    """NVIDIA's package with a library, if the text lists it; empty otherwise."""
    environment = missing.environment
    if environment is None or major is None:
        return ""
    known = (cuda_distribution(vendor, int(major)), *distributions_beside(vendor, int(major)).values())
    wanted = {re.split(r"[<>=]", each)[0] for each in known if each}
    return next((each for each in environment.packages if each in wanted and re.search(r"-cu1[12]$", each)), "")


def _load_installed(package: str, vendor: Vendor) -> str:
    """Commands for a library that is installed outside of the search path of the loader."""
    module = f"nvidia.{re.sub('-cu1[12]$', '', package.removeprefix('nvidia-')).replace('-', '_')}"
    return (
        "import torch  # first: it loads the libraries of NVIDIA's packages\n"
        f"or: export LD_LIBRARY_PATH=\"$(python -c 'import {module}; print(list({module}.__path__)[0])')/lib:"
        f'$LD_LIBRARY_PATH"  # the folder of {vendor.product} of pip'
    )


def _needed_by_torch(vendor: Vendor, name: str, evidence: list[str], missing: MissingName) -> Candidate:
    """A library that torch's own wheels contain or require."""
    found = re.search(_SONAME, name)
    text = f"torch needs {name}: its wheels or their dependencies provide it."
    fix = "pip install --force-reinstall torch  # with its dependencies (no --no-deps)"
    if missing.log.is_conda and (release := _minor_release(name)):
        again = f"conda install --force-reinstall pytorch cudatoolkit={release} -c pytorch  # of that channel"
        fix = f"conda install -c conda-forge cudatoolkit={release}  # has {name}\nor: {again}"
    fix += f"\nor: {_itself(vendor, None if found is None else found[2], missing)}"
    return Candidate(CauseId.LIBRARY_MISSING, 0.86, (*evidence, text), fix)


def _is_other(soname: str, major: str | None) -> bool:
    """Whether a library's name has another major version than required."""
    found = re.search(_SONAME, soname)
    return found is not None and found[2] not in (None, major)


def _cuda_library_fix(
    name: str, vendor: Vendor, major: str | None, releases: tuple[str, ...], missing: MissingName
) -> str:
    """The extension built for the CUDA of torch: a second runtime in a process is no solution."""
    target = missing.target
    ways = _install_packages(missing)
    if missing.knowledge.target_from_source:
        # Another torch would replace the one that was built.
        again = fixes.rebuild(missing, project=missing.log.project or None)
        release = _minor_release(name) if missing.log.is_conda else ""
        return f"conda install -c conda-forge cudatoolkit={release}  # has {name}\nor: {again}" if release else again
    if target is None or target.cuda is None:
        shows = f"{_SHOWS_CUDA}  # prints the CUDA release of torch"
        if not missing.log.is_jetson and (release := _minor_release(name)):
            shows += f"\nIn a conda environment: conda install -c conda-forge cudatoolkit={release}  # has {name}"
        same = f"For CUDA {' or '.join(releases)}" if releases else "For the CUDA release of the file"
        other = "\n".join(ways or [_build_for_cuda(missing)])
        variant = torch_commands.example_variant(releases[-1]).rpartition(" ")[2] if releases else ""
        torch = (
            f"\nor a torch for CUDA {releases[-1]}, whose libraries `import torch` loads: pip install "
            f"--force-reinstall torch --index-url https://download.pytorch.org/whl/{variant}"
            if variant and not missing.log.is_jetson
            else ""
        )
        return f"{shows}\n{same}: {_itself(vendor, major, missing)}\nOtherwise: {other}{torch}"
    major_here = target.cuda.partition(".")[0]
    is_other = _is_of_other_minor(name, target.cuda)
    if not ways:
        here = ".".join(target.cuda.split(".")[:2]) if is_other else major_here
        ways.append(f"Install a build of the extension for CUDA {here}, the CUDA release of {missing.target_label}.")
    elif releases and major_here not in releases:
        if ways[0].startswith("pip "):
            ways[0] += f"{'; ' if '#' in ways[0] else '  # '}for CUDA {major_here}"
        elif len(ways) > 1:
            # A page of wheels, and the build.
            ways[:2] = ["\n".join(ways[:2])]
    if not releases or (major_here in releases and not is_other):
        ways.append(_itself(vendor, major, missing))
    elif (other_torch := torch_commands.install_torch(target.version, missing, cuda=releases[-1])) is not None:
        ways.append(other_torch)
    if (range_of_torch := fixes.install_torch(missing, ReleaseRanges())) is not None:
        ways.append(range_of_torch)
    return "\nor: ".join(ways)


def _build_for_cuda(missing: MissingName) -> str:
    """The build of an unknown extension; for a library of NVIDIA, another release of it."""
    if vendor_of_library(missing.file.base_name) is not None:
        return f"Install a release of {fixes.safe(missing.file.base_name, 'the file')} for the installed library."
    return _BUILD_FOR_CUDA.format(build=fixes.rebuild(missing))


def _install_packages(missing: MissingName) -> list[str]:
    """The ways to install the package of the file; if it is unknown, one with the commands for all packages that the
    text names."""
    if fixes.is_in_source_tree(missing):
        cuda = None if missing.target is None else missing.target.cuda
        toolkit = f"export CUDA_HOME=/usr/local/cuda-{'.'.join(cuda.split('.')[:2])}; " if cuda else ""
        return [f"{toolkit}{fixes.rebuild(missing)}"]
    package = package_commands.find_package(missing)
    if package is not None:
        return list(package_commands.install(package, missing))
    named = (packages_by_name().get(each) for each in missing.log.projects)
    commands = (package_commands.install(each, missing)[:1] for each in named if each is not None)
    if ways := [each for each in commands if each]:
        return ["\n".join(each[0] for each in ways)]
    again = fixes.compile_again(missing)
    return [] if again is None else [again]


def _of_cuda(missing: MissingName) -> str:
    """The extension built for the CUDA of torch, whatever that is."""
    ways = _install_packages(missing)
    return "\nor: ".join(
        ways
        or (
            "Install the build of the extension that matches the CUDA of torch: python -c "
            "'import torch; print(torch.version.cuda)'",
        )
    )


def _itself(vendor: Vendor, major: str | None, missing: MissingName) -> str:
    """How to install exactly this library."""
    path = (
        "export LD_LIBRARY_PATH=DIRECTORY:$LD_LIBRARY_PATH  # DIRECTORY: the folder of the library, if it is "
        f"installed: find / -name 'lib{vendor.library}.so*' 2>/dev/null"
    )
    if missing.log.is_jetson:
        return (
            "sudo apt install nvidia-jetpack  # CUDA, cuDNN and the other libraries of this JetPack\n"
            f"export LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH\n{_JETSON_CONTAINER}\n"
            f"torch: {torch_commands.WHEELS_FOR_JETSON}"
        )
    if major is None:
        return path
    if vendor.library == "nvToolsExt":
        # The wheels for CUDA 12.9 and later do not contain it.
        return (
            "pip install nvidia-nvtx-cu11 && export LD_LIBRARY_PATH=\"$(python -c 'import nvidia.nvtx; "
            "print(nvidia.nvtx.__path__[0])')/lib:$LD_LIBRARY_PATH\"  # for every release of CUDA\nor: " + path
        )
    distribution = cuda_distribution(vendor, int(major))
    target = missing.target
    cuda = None if target is None or target.cuda is None else int(target.cuda.partition(".")[0])
    if distribution is not None:
        # A second release of a library that torch loads is no solution.
        second = vendor.with_torch and cuda not in (None, int(major))
        return path if second else f'pip install "{distribution}"\nor: {path}'
    beside = distributions_beside(vendor, int(major))
    if cuda is not None:
        beside = {each: text for each, text in beside.items() if each == cuda}
    # Wheels of torch require one release of each of these libraries; another one would replace it.
    ways = [
        f'pip install "{text}"  # for a CUDA {each} torch that does not require another release of it'
        for each, text in sorted(beside.items(), reverse=True)
    ]
    if vendor.conda:
        ways.append(f'conda install -c conda-forge "{vendor.conda}={major}"  # in a conda environment')
    return "\nor: ".join([*ways, path])
