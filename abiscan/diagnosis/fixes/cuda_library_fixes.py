"""A missing symbol of a CUDA library: evidence from the releases that export it, and how to load one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from abiscan.diagnosis.fixes import extension_fixes
from abiscan.diagnosis.fixes.libtorch_programs import find_program
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.torch_commands import force_reinstall, install_torch, torch_of_cuda_since
from abiscan.diagnosis.fixes.wheel_rows import platform_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model import versions
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.cuda_exports import driver_since, exporting
from abiscan.ownership.vendor_row import Vendor
from abiscan.ownership.vendors import cuda_distribution, cuda_in_name, cuda_since, vendor_of_library

# Functions that nvcc generates calls to: registration of device code, launches.
_OF_NVCC = "__cuda"
_STEM = "nvidia-"
_RELEASE_OF_SONAME = r"\.so\.(\d{1,2})(?:\.|$)"
_OF_PIP: Final = "/nvidia/"
# The package of conda with all libraries of CUDA; vios-s/DiffAN issue 7 (read 2026-11-29).
_LAST_CUDATOOLKIT: Final = "11"
# triton/runtime/build.py and cache.py, torch/_inductor/runtime/cache_dir_utils.py.
_OF_TRITON = r"torchinductor_|\.triton[/\\]|(?:__triton_launcher|cuda_utils|triton_)[\w.-]{0,64}\.so$"
_COMPILE_AGAIN: Final = (
    'rm -rf "${TRITON_CACHE_DIR:-$HOME/.triton/cache}" "${TMPDIR:-/tmp}/torchinductor_$(id -un)"  '
    "# Triton compiled the file: it is compiled again\nIf it comes back: "
)


def replace_cuda_library(missing: MissingName, vendor: Vendor) -> str:
    """The ways to load the release of a library of CUDA that exports the symbol."""
    if platform_of(missing) == "macosx":
        name = "torch" if missing.file.is_torch_itself else safe(missing.file.distribution or "", "PACKAGE")
        return (
            f"pip install --force-reinstall {name}  # wheels for macOS use no CUDA, which ends there with CUDA 10.2\n"
            "or, to keep the build for CUDA: install the CUDA release for which it was built; "
            "export DYLD_LIBRARY_PATH=/usr/local/cuda/lib"
        )
    if vendor.library == "cuda":
        again = _COMPILE_AGAIN if re.search(_OF_TRITON, missing.file.path) is not None else ""
        return again + (
            "Update the NVIDIA driver (`nvidia-smi` prints the CUDA version that it supports). Remove stubs/ from "
            "LD_LIBRARY_PATH."
        )
    if missing.file.path and missing.file.facts is None and find_program(missing) is not None:
        return (
            f"ldd {safe(missing.file.path, 'PROGRAM')} | grep -i {vendor.library}  # the copy that the loader takes\n"
            f"export LD_LIBRARY_PATH=DIRECTORY:$LD_LIBRARY_PATH  # DIRECTORY: the folder of the release that it was "
            f"built with: find / -name 'lib{vendor.library}.so*' 2>/dev/null"
        )
    installed = f"unset LD_LIBRARY_PATH  # torch then loads the installed lib{vendor.library} first"
    if missing.file.is_torch_itself:
        installed += "\nor import torch first  # before CuPy, TensorFlow, onnxruntime: the first copy stays"
    may_be_built = not missing.file.path or _is_extension(missing)
    if missing.name.startswith(_OF_NVCC) and missing.file.facts is None and may_be_built:
        since = cuda_since(missing.name)
        installed = f"{_build_with_its_nvcc(missing, since)}\nor: {installed}"
        if since is not None:
            return f"{installed}\nor a torch for the CUDA of nvcc: https://pytorch.org/get-started/previous-versions"
    if missing.file.facts is None and may_be_built and is_in_no_known_release(missing, vendor):
        installed = f"{_build_with_its_nvcc(missing, None)}\nor: {installed}"
    if not vendor.distribution:
        return installed
    both = _of_two_releases(missing, vendor)
    if both:
        return _keep_one(missing, both)
    return "\n".join(_cuda_ways(missing, vendor, installed))


def _build_with_its_nvcc(missing: MissingName, since: str | None) -> str:
    """The command that builds with the nvcc of torch's CUDA.

    Args:
        since: the first CUDA release that generates calls of the symbol, if known.
    """
    older = f", which is older than {since}" if since is not None else ""
    return (
        "nvcc --version; python -c 'import torch; print(torch.version.cuda)'  # both must be of one release\n"
        f"Build with the nvcc of torch's CUDA{older}: export CUDA_HOME=/usr/local/cuda-"
        f"{_cuda_before_since(missing) or 'X.Y'}; {extension_fixes.rebuild(missing)}"
    )


def _cuda_ways(missing: MissingName, vendor: Vendor, installed: str) -> Iterator[str]:
    """The ways to load another release of a library that torch's packages install.

    Args:
        installed: the way to load the installed one.
    """
    newer = _of_newer_cuda(missing, vendor)
    yield from newer
    yield f"or, if torch.version.cuda is late enough: {installed}" if newer else installed
    release_of_name = cuda_in_name(missing.name)
    distribution = cuda_distribution(vendor, int(release_of_name.partition(".")[0])) if release_of_name else None
    if distribution is not None:
        yield (
            f'or: pip install --upgrade "{distribution}"  # the symbol is of CUDA {release_of_name}: '
            f"an older lib{vendor.library} lacks it"
        )
    again, target = "pip install torch", missing.target
    if target is not None and versions.is_release(target.version):
        found = install_torch(target.version, missing, cuda="" if target.variant == "cpu" else None)
        again = found or f'pip install "torch=={target.version}"'
    yield f"or: {force_reinstall(again)}  # installs lib{vendor.library} for its CUDA release"
    release = re.search(_RELEASE_OF_SONAME, missing.reference.library or "")
    if _OF_PIP in missing.file.path and release is not None and release[1] == _LAST_CUDATOOLKIT:
        yield (
            "or, in a conda environment: conda remove --force cudatoolkit  # its copies, in lib of the environment, "
            "are found before those that pip installs with torch"
        )
    elif release is not None and vendor.conda_of_nvidia:
        yield (
            f'or, in a conda environment: conda install -c nvidia "{vendor.conda_of_nvidia}={release[1]}.*"  # if '
            f"another release is there (conda list)"
        )
    of_file = vendor_of_library(missing.file.file_name)
    if of_file is not None and of_file.cuda and of_file.distribution and of_file.distribution != vendor.distribution:
        both = f"{of_file.distribution} and {vendor.distribution}"
        yield f"pip list | grep {_STEM}  # {both} must have the same CUDA release"
    yield (
        f"pip list | grep -i {vendor.library}; find / -name 'lib{vendor.library}*.so*' 2>/dev/null"
        "  # lists every copy: keep the one that torch requires"
    )


def _cuda_before_since(missing: MissingName) -> str:
    """The CUDA release of the target (`9.0`), if it is older than the first one that exports the symbol; else empty."""
    own, since = versions.order(missing.target_cuda), versions.order(cuda_since(missing.name) or "")
    return missing.target_cuda if own is not None and since is not None and own < since else ""


def _of_newer_cuda(missing: MissingName, vendor: Vendor) -> tuple[str, ...]:
    """The ways to load a library that exports a symbol of a later CUDA release; empty unless that of torch may lack
    it."""
    soname = re.search(_RELEASE_OF_SONAME, missing.reference.library or "")
    since = exported_since(missing, vendor)
    if since is None or missing.reference.link_time or not _is_extension(missing) or vendor.distribution is None:
        return ()
    major = since.partition(".")[0] if soname is None else soname[1]
    distribution, own = cuda_distribution(vendor, int(major)), versions.order(missing.target_cuda)
    if major != since.partition(".")[0] or distribution is None or (own and own >= (versions.order(since) or ())):
        return ()
    torch = torch_of_cuda_since(since, major, missing)
    library = f"lib{vendor.library}.so.{major}"
    return (
        f"python -c 'import torch; print(torch.version.cuda)'  # CUDA {since} or later has the symbol",
        *([f"If it is older: {torch}"] if torch else []),
        f'{"or" if torch else "If it is older"}: pip install --upgrade "{distribution}"  # beside torch, '
        "which requires another release (pip warns)",
        f"or: LD_PRELOAD=/usr/local/cuda-{since}/lib64/{library} python ...  # with that toolkit or a later one",
    )


def _of_two_releases(missing: MissingName, vendor: Vendor) -> list[str]:
    """The packages of the library for two releases of CUDA, which write one file; empty for fewer than two."""
    of_library = re.compile(rf"{re.escape(vendor.distribution or '')}-cu\d{{2}}")
    found = sorted(name for name in missing.environment.packages if of_library.fullmatch(name))
    return found if len(found) > 1 else []


def _keep_one(missing: MissingName, packages: list[str]) -> str:
    """The commands that leave one of several packages, that of the target's CUDA or of the newest."""
    keep = next((each for each in packages if each.endswith(f"-cu{missing.target_cuda_major}")), packages[-1])
    others = " ".join(each for each in packages if each != keep)
    folder = keep.removeprefix(_STEM).rpartition("-cu")[0]
    return (
        f"pip uninstall -y {others}  # both packages write nvidia/{folder}/lib: the last one installed is there\n"
        f"pip install --force-reinstall --no-deps {keep}=={missing.environment.packages[keep]}  "
        "# the one that torch requires: pip show torch"
    )


def _is_extension(missing: MissingName) -> bool:
    """Whether the file is none of torch's and none of a vendor's."""
    return (
        bool(missing.file.path) and not missing.file.is_torch_itself and not vendor_of_library(missing.file.file_name)
    )


def release_evidence(missing: MissingName, vendor: Vendor) -> tuple[str, float | None] | None:
    """A sentence on the releases of a library that export a symbol, and the minimum score of another release being
    installed, None if they do not show that; None if nothing is known."""
    if vendor.library == "cuda":
        since = driver_since(missing.name)
        printed = "(`nvidia-smi` prints the CUDA version of the driver)"
        return None if since is None else (f"Drivers for CUDA {since} and later export it {printed}.", None)
    found = exporting(vendor.library, missing.name)
    if found is None or not found.known:
        return None
    counted = vendor.product if vendor.library == "nccl" else "CUDA"
    every = f"{counted} {found.known[0]}-{found.known[-1]}"
    if not found.having:
        return f"No known release ({every}) exports it.", 0.76
    if missing.file.facts is None and (added := cuda_since(missing.name)) is not None:
        return f"CUDA {added} added it: the loaded lib{vendor.library} is older, or none is loaded.", 0.82
    if len(found.having) == len(found.known):
        return f"Every known release of {vendor.product} ({every}) exports it; older ones may not.", None
    spans = ReleaseRanges.of_known(found.known, set(found.having).__contains__).text()
    return f"Of the known releases ({every}), {counted} {spans} exports it.", 0.78


def is_in_no_known_release(missing: MissingName, vendor: Vendor) -> bool:
    """Whether no known CUDA release exports a symbol, as one that nvcc of CUDA 10.0 or older calls."""
    found = None if vendor.library in ("cuda", "nccl") else exporting(vendor.library, missing.name)
    return found is not None and bool(found.known) and not found.having


def exported_since(missing: MissingName, vendor: Vendor) -> str | None:
    """The CUDA release from which on all known ones export a symbol (`12.8`); None if the oldest one does, if a later
    one does not, or if nothing is known."""
    found = None if vendor.library in ("cuda", "nccl") else exporting(vendor.library, missing.name)
    if found is None or not 0 < len(found.having) < len(found.known):
        return None
    return found.having[0] if found.known[-len(found.having) :] == found.having else None
