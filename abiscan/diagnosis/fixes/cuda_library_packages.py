"""Fixes of a library of CUDA that was not found: the package that has it, or the extension for the CUDA of torch."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.catalogue.package_row import Program
from abiscan.diagnosis.fixes import extension_fixes, package_commands, torch_commands, torch_fixes
from abiscan.diagnosis.fixes.libtorch_programs import find_program, use_libtorch
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.vendor_row import Vendor
from abiscan.ownership.vendors import cuda_distribution, distributions_beside, vendor_of_library

# Up to this release of CUDA, file names have both of its numbers (libcudart.so.10.1).
LAST_WITH_MINOR = 10
_OF_MOST_WHEELS: Final = 12
SHOWS_CUDA = "python -c 'import torch; print(torch.__version__, torch.version.cuda)'"
# https://github.com/dusty-nv/jetson-containers/issues/121 and https://github.com/NVIDIA-AI-IOT/torch2trt/pull/488; from
# r34.1 on the driver alone is mounted (https://github.com/NVIDIA/nvidia-container-runtime/issues/173).
_JETSON_CONTAINER = (
    "In a container: docker run --runtime nvidia, which mounts these libraries of the Jetson with JetPack 4; for "
    'docker build too: add "default-runtime": "nvidia" to /etc/docker/daemon.json, then sudo systemctl restart docker\n'
    "JetPack 5 and later mount the driver alone: use an image that has the others, of the L4T release of the Jetson "
    "(cat /etc/nv_tegra_release), such as nvcr.io/nvidia/l4t-jetpack"
)
_JETSON_RUNTIME = "docker run --runtime nvidia ...  # mounts these libraries of JetPack 4 into a container"
# CUDA 10.2 and cuDNN 8.
_OF_JETPACK_4 = r"lib(?:cublas|cublasLt|cufft|curand|cusolver|cusparse)\.so\.10$|libcudart\.so\.10\.2$|libcudnn\.so\.8$"
# Libraries that JetPack does not contain, by `Vendor.library`
# (https://docs.pytorch.org/TensorRT/getting_started/jetpack.html, read 2026-11-28).
_CUSPARSELT: Final = "libcusparse_lt-linux-sbsa-0.5.2.1-archive"
_NOT_IN_JETPACK: Final = {
    "cusparseLt": "wget https://developer.download.nvidia.com/compute/cusparselt/redist/libcusparse_lt/linux-sbsa/"
    f"{_CUSPARSELT}.tar.xz && tar xf {_CUSPARSELT}.tar.xz && sudo cp -a {_CUSPARSELT}/lib/* /usr/local/cuda/lib64/"
    "  # JetPack does not contain it\nexport LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH",
    "cudss": "wget https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/arm64/"
    "cuda-keyring_1.1-1_all.deb && sudo dpkg -i cuda-keyring_1.1-1_all.deb && sudo apt-get update && sudo apt-get "
    "install -y cudss  # cuDSS, which JetPack 6 does not contain; other releases: https://developer.nvidia.com/cudss-downloads",
}
# Also docs/setup.md of dusty-nv/jetson-containers.
_JETSON_IMAGE_BUILD = (
    'Add "default-runtime": "nvidia" to /etc/docker/daemon.json, then sudo systemctl restart docker; build the image '
    "again  # docker build then mounts these libraries of the Jetson, too"
)


class CudaLibrary(Struct, frozen=True):
    """A library of CUDA that was not found.

    Attributes:
        name: of its file.
        major: the number after `.so.`; None if the name has none.
        releases: the major releases of CUDA that have this file, or its one release up to 10.0; empty if unknown.
        others: files of the same library with another number that are installed.
        here: where it is installed, outside of the search path.
    """

    name: str
    vendor: Vendor
    missing: MissingName
    major: str | None
    releases: tuple[str, ...]
    others: tuple[str, ...]
    here: str | None


def minor_release(name: str) -> str:
    """The CUDA release in the name of a library (`10.1` for libcudart.so.10.1); empty if it has only the major one."""
    found = re.search(r"\.so\.(\d{1,2}\.\d)$", name)
    if found is None or (found[1].endswith(".0") and int(found[1].split(".")[0]) > LAST_WITH_MINOR):
        return ""
    return found[1]


def release_of_cudatoolkit(name: str) -> str:
    """That release, if conda-forge has a cudatoolkit of it: the last is 11.8. Empty otherwise."""
    release = minor_release(name)
    return release if release and int(release.split(".")[0]) <= _LAST_CUDATOOLKIT else ""


def is_of_other_minor(name: str, cuda: str) -> bool:
    """Whether a library is of another minor release than the CUDA of torch: up to CUDA 10 names have both numbers."""
    release = minor_release(name)
    return bool(release) and int(release.split(".")[0]) <= LAST_WITH_MINOR and not f"{cuda}.".startswith(f"{release}.")


def install_for_torch(library: CudaLibrary) -> str:
    """The extension built for the CUDA of torch: a second runtime in a process is no solution."""
    name, releases, missing = library.name, library.releases, library.missing
    target = missing.target
    program = find_program(missing) if missing.file.facts is None else None
    if program is not None:
        return _of_toolkit_for(library, program)
    if missing.log.is_jetson_container or (missing.log.is_jetson and library.vendor.library in _NOT_IN_JETPACK):
        return install_itself(library)
    ways = _install_packages(missing)
    if missing.knowledge.target_from_source:
        # Another torch would replace the one that was built.
        again = extension_fixes.rebuild(missing, project=missing.log.project or None)
        release = release_of_cudatoolkit(name) if missing.log.is_conda else ""
        return f"conda install -c conda-forge cudatoolkit={release}  # has {name}\nor: {again}" if release else again
    if target is None or target.cuda is None:
        shows = f"{SHOWS_CUDA}  # prints the CUDA release of torch"
        if not missing.log.is_jetson and (release := release_of_cudatoolkit(name)):
            shows += f"\nIn a conda environment: conda install -c conda-forge cudatoolkit={release}  # has {name}"
        itself = install_itself(library) + _with_runtime_of_jetson(library)
        other = "\n".join(ways or [_build_for_cuda(missing)])
        variant = torch_commands.example_variant(releases[-1]) if releases else ""
        torch = (
            f"\nor a torch for CUDA {releases[-1]} (`import torch` loads its libraries): pip install "
            f"--force-reinstall torch --index-url https://download.pytorch.org/whl/{variant}"
            if variant and minor_release(name).replace(".", "") in ("", variant[2:]) and not missing.log.is_jetson
            else ""
        )
        if not releases:  # cuDNN: each CUDA has several of its releases
            return f"{shows}\nFor the CUDA release of the file: {itself}\nOtherwise: {other}{torch}"
        return (
            f"{shows}\nIf it is not CUDA {' or '.join(releases)}: {other}{torch}\nIf it is: {itself}\nIf it is None "
            "(torch for ROCm or the CPU): uninstall this build for CUDA; build it for that torch, if its sources can"
        )
    major_here = missing.target_cuda_major
    is_other = is_of_other_minor(name, target.cuda)
    if not ways:
        here = missing.target_cuda if is_other else major_here
        ways.append(_build_for_cuda(missing, f"CUDA {here}, the CUDA release of {missing.target_label}"))
    elif releases and major_here not in releases:
        first, *others = ways[0].split("\n")
        if first.startswith("pip ") and f"for CUDA {major_here}" not in first:
            ways[0] = "\n".join((f"{first}{'; ' if '#' in first else '  # '}for CUDA {major_here}", *others))
    if not releases or (major_here in releases and not is_other):
        ways.append(install_itself(library))
    else:
        cuda = minor_release(name) if is_other else releases[-1]
        if (other_torch := torch_commands.install_torch(target.version, missing, cuda=cuda)) is not None:
            ways.append(other_torch)
    if (range_of_torch := torch_fixes.install_torch(missing, ReleaseRanges())) is not None:
        ways.append(range_of_torch)
    return "\nor: ".join(dict.fromkeys(ways))


def _with_runtime_of_jetson(library: CudaLibrary) -> str:
    """For a file of JetPack 4, where the text names no machine."""
    log = library.missing.log
    named = log.is_jetson or log.is_conda or log.is_wsl or log.platform or log.gpu
    return "" if named or re.search(_OF_JETPACK_4, library.name) is None else f"\nor, on a Jetson: {_JETSON_RUNTIME}"


def _of_toolkit_for(library: CudaLibrary, program: Program) -> str:
    """The folder of a toolkit that has the library, for a program without Python; or another libtorch."""
    source = (
        f"install the toolkit of CUDA {' or '.join(library.releases)}: https://developer.nvidia.com/cuda-toolkit-archive"
        if library.releases
        else f"install the release of {library.vendor.product} that it was built with: cuDNN and NCCL have packages of "
        "their own, the others are in the toolkit (https://developer.nvidia.com/cuda-toolkit-archive)"
    )
    return (
        f"{_with_folder_of(library.vendor)}\nIf it is not there: {source}\n"
        f"or, for the CUDA that is installed: {use_libtorch(library.missing, program, ReleaseRanges())}"
    )


def _with_folder_of(vendor: Vendor) -> str:
    return (
        "export LD_LIBRARY_PATH=DIRECTORY:$LD_LIBRARY_PATH  # DIRECTORY: the folder of the library, if it is "
        f"installed: find / -name 'lib{vendor.library}.so*' 2>/dev/null"
    )


def _with_wheel(vendor: Vendor, distribution: str, note: str = "") -> str:
    """Install the wheel of a library, and let the loader find it if torch does not load it itself."""
    command = f'pip install "{distribution}"{note}'
    if vendor.with_torch:
        return command
    packages = "$(python -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')/nvidia"
    found = f"$(find {packages} -name 'lib{vendor.library}.so*' -print -quit)"
    return f'{command}\nexport LD_LIBRARY_PATH="$(dirname {found}):$LD_LIBRARY_PATH"'


def _build_for_cuda(missing: MissingName, cuda: str = "the CUDA of torch") -> str:
    """The build of an unknown extension for a release of CUDA; for a library of NVIDIA, another release of it."""
    if vendor_of_library(missing.file.base_name) is not None:
        return f"Install a release of {safe(missing.file.base_name, 'the file')} for the installed library."
    toolkit = f"export CUDA_HOME=/usr/local/cuda-{missing.target_cuda}; " if missing.target_cuda else ""
    return (
        f"Install the build of the extension for {cuda}, or build it with nvcc of that release (CUDA_HOME): "
        f"{toolkit}{extension_fixes.rebuild(missing)}"
    )


def _install_packages(missing: MissingName) -> list[str]:
    """The ways to install the package of the file; if it is unknown, one with the commands for all packages that the
    text names."""
    if extension_fixes.is_in_source_tree(missing):
        toolkit = f"export CUDA_HOME=/usr/local/cuda-{missing.target_cuda}; " if missing.target_cuda else ""
        return [f"{toolkit}{extension_fixes.rebuild(missing)}"]
    package = package_commands.find_package(missing)
    if package is not None:
        of_package = "\n".join(package_commands.install(package, missing))
        return [of_package] if of_package else []
    named = (packages_by_name().get(each) for each in missing.log.projects)
    commands = (package_commands.install(each, missing)[:1] for each in named if each is not None)
    if ways := [each for each in commands if each]:
        return ["\n".join(each[0] for each in ways)]
    again = extension_fixes.compile_again(missing)
    return [] if again is None else [again]


def extension_for_cuda(missing: MissingName) -> str:
    """The extension built for the CUDA of torch, whatever that is."""
    ways = _install_packages(missing)
    return "\nor: ".join(
        ways
        or (
            "Install the build of the extension that matches the CUDA of torch: python -c "
            "'import torch; print(torch.version.cuda)'",
        )
    )


_LAST_CUDATOOLKIT: Final = 11
_CUPTI_OF_WHEELS: Final = ("11.7", "11.8")  # releases of nvidia-cuda-cupti-cu11


def install_itself(library: CudaLibrary) -> str:
    """How to install exactly this library."""
    vendor, major, missing = library.vendor, library.major, library.missing
    path = _with_folder_of(vendor)
    if missing.log.is_jetson and vendor.library in _NOT_IN_JETPACK:
        return _NOT_IN_JETPACK[vendor.library]
    if missing.log.is_jetson:
        of_system = (
            "sudo apt install nvidia-jetpack  # CUDA, cuDNN and the other libraries of this JetPack",
            "export LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH",
            _JETSON_CONTAINER,
        )
        in_container = (_JETSON_IMAGE_BUILD,) if missing.log.is_image_build else (_JETSON_CONTAINER,)
        of_jetson = in_container if missing.log.is_jetson_container or missing.log.is_image_build else of_system
        return "\n".join((*of_jetson, f"torch: {torch_commands.WHEELS_FOR_JETSON}"))
    cuda = int(missing.target_cuda_major) if missing.target_cuda else None
    if major is None:
        of_torch = None if vendor.with_torch else cuda_distribution(vendor, cuda or _OF_MOST_WHEELS)
        which = f"  # for CUDA {cuda or _OF_MOST_WHEELS}"
        return path if of_torch is None else f"{_with_wheel(vendor, of_torch, which)}\nor: {path}"
    if vendor.library == "nvToolsExt":
        # The wheels for CUDA 12.9 and later do not contain it.
        return (
            "pip install nvidia-nvtx-cu11 && export LD_LIBRARY_PATH=\"$(python -c 'import nvidia.nvtx; "
            "print(nvidia.nvtx.__path__[0])')/lib:$LD_LIBRARY_PATH\"  # for every release of CUDA\nor: " + path
        )
    distribution = cuda_distribution(vendor, int(major))
    if distribution is not None and vendor.library == "cupti" and (minor := minor_release(library.name)):
        # Names of CUPTI for CUDA 11 have the minor release; wheels exist for two of them.
        of_minor = f'pip install "{distribution}=={minor}.*"\nor: {path}'
        return of_minor if minor in _CUPTI_OF_WHEELS else path
    if distribution is not None:
        # A second release of a library that torch loads is no solution.
        second = vendor.with_torch and cuda not in (None, int(major))
        if (minor := minor_release(library.name)) and int(major) > _LAST_CUDATOOLKIT:
            distribution = f"{distribution}=={minor}.*"
        return path if second else f"{_with_wheel(vendor, distribution)}\nor: {path}"
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
    # torch searches the packages for those that it needs itself.
    return "\nor: ".join([*ways, path] if vendor.with_torch or not ways else [*ways[:-1], f"{ways[-1]}\nthen: {path}"])
