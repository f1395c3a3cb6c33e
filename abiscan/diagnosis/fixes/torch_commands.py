"""Commands that install a release of torch, from its rows of wheels in the package catalogue."""

from __future__ import annotations

import re
from itertools import chain
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import packages_by_name, wheels_of
from abiscan.diagnosis.catalogue.package_row import Package, Wheels
from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of, is_for_hip, rocm_of, with_gpu_of
from abiscan.diagnosis.fixes.wheel_rows import (
    cuda_major,
    cuda_release,
    entry_of_release,
    fill_row,
    is_on_windows,
    nearest_variant,
    patch_release,
    platform_of,
    rows_of,
)
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import AMD, DCU, NO_GPU, WITHOUT_CUDA_CODE, XPU
from abiscan.model import versions
from abiscan.releases.build import has_the_new_string
from abiscan.releases.pythons import with_wheels
from abiscan.releases.torch_indexes import INDEXES

_LOADED_RELEASE: Final = """$(python -c 'import torch; print(torch.__version__.split("+")[0])')"""
_FIRST_COMPLETE_CUDA: Final = (12,)
# Minor version compatibility (https://docs.nvidia.com/deploy/cuda-compatibility).
_FIRST_COMPATIBLE_CUDA: Final = (11,)
_ANY_MINOR: Final = 99
# Of the package index; packages.toml has the source.
_FIRST_CUDA_ON_AARCH64: Final = (2, 11)


WHEELS_FOR_JETSON: Final = (
    "NVIDIA's wheel for this JetPack, those of pip are for other machines "
    "(https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform)"
)


# RELEASES.md of TheRock, read 2026-11-27.
_OF_AMD_FOR_WINDOWS: Final = (
    "pip install --force-reinstall torch torchvision torchaudio --index-url INDEX  # AMD's builds, all of one index; "
    "INDEX: that of the GPU in https://github.com/ROCm/TheRock/blob/main/RELEASES.md"
)


# Release notes of torch 2.5: GPUs of Intel.
_FIRST_FOR_XPU: Final = (2, 5)


def hip_for_windows(missing: MissingName) -> str | None:
    """The command that installs torch for ROCm and its companions on Windows, for which PyTorch has no such builds;
    None for another platform or GPU."""
    is_amd = gpu_vendor_of(missing) == AMD and is_on_windows(missing)
    return _OF_AMD_FOR_WINDOWS if is_amd else None


# Builds on the index of PyTorch that no row of wheels has.
_FORMER_VARIANTS: Final = ("cu75", "cu80", "cu90", "cu91", "cu92", "cu100", "cu115")


def _torch() -> Package:
    return packages_by_name()["torch"]


def image_of_nvidia(version: str) -> str:
    """The image of NVIDIA with a release of torch, as an instruction."""
    minor = ".".join(version.split(".")[:2])
    image = _torch().images.get(minor)
    there = (
        f"nvcr.io/nvidia/pytorch:{image}-py3 (torch {minor}) or a later image"
        if image
        else f"an image with torch {version}"
    )
    return f"Use {there}: NVIDIA's images have builds of their own, and packages for these: pip replaces only torch"


def install_torch(
    version: str, missing: MissingName, *, cuda: str | None = None, variant: str = "", as_released: bool = False
) -> str | None:
    """The command that installs one release of torch; see `find_torch`. It also replaces another build of the same
    release."""
    found = find_torch(version, missing, cuda=cuda, variant=variant, as_released=as_released)
    if found is None:
        return from_package_index(version, missing) if gpu_vendor_of(missing) == AMD and not cuda else None
    command = f"pip install {found[0]}"
    is_there = missing.target_version == version and found[1] != missing.target_variant
    return force_reinstall(command) if is_there and f"torch=={version} " in f"{command} " else command


# ROCm 6.4 has no rocBLAS kernels of these GPUs (ROCm/legacy-rocm-build issue 4625).
_UNTIL_ROCM_6_3: Final = ("gfx900", "gfx906")
# GPUs -> the first ROCm for which builds of torch have code for them (pytorch, .ci/docker/manywheel/build.sh,
# PYTORCH_ROCM_ARCH; gfx115x: its pull request 167299; gfx950: hipFFT for ROCm 7.0; gfx120x: notes of ROCm 6.4.1).
_SINCE_ROCM: Final = (("gfx115", "7.0"), ("gfx950", "7.0"), ("gfx120", "6.4"), ("gfx94", "6.0"))
# No build of torch on its indexes has code for these (the same list).
_WITHOUT_CODE: Final = r"gfx(?:[678]\d\d|90[249c]|101\w)"
_NEWEST_ROCM: Final = "rocm7.2"


def torch_with_hip(missing: MissingName) -> str | None:
    """The command that installs torch for the GPU of AMD of the text: its release, if a build of that has code for the
    GPU; None for another GPU."""
    if gpu_vendor_of(missing) != AMD or platform_of(missing) == "macosx":
        return None
    if is_on_windows(missing):
        return hip_for_windows(missing)
    gpu, version = missing.log.amd_gpu, missing.target_version
    missing = with_gpu_of(AMD, missing)  # a CPU build is to be replaced
    if gpu in _UNTIL_ROCM_6_3:
        way = f"pip install --force-reinstall torch --index-url {INDEXES}rocm6.3"
        return f"{way}  # later ones have no rocBLAS kernels of {gpu}"
    if has_no_rocm_build(gpu):
        return (
            f'No build of torch has code for {gpu}: use the CPU (device="cpu"), or build torch from source '
            f"(python tools/amd_build/build_amd.py; PYTORCH_ROCM_ARCH={gpu} python setup.py install)"
        )
    since = first_rocm_of(gpu)
    late = [each for each in variants_of(version, missing) if each.startswith("rocm") and _is_since(each, since)]
    asked = f"rocm{rocm_of(missing)}"
    variant = asked if asked in late else max(late, key=lambda each: versions.order(each[4:]) or (), default="")
    command = (version and (variant or not since) and install_torch(version, missing, variant=variant)) or ""
    if not command:
        command = f"pip install torch --index-url {INDEXES}{_NEWEST_ROCM}"
    return force_reinstall(command)


def _is_since(variant: str, rocm: str) -> bool:
    """Whether a variant (`rocm6.2.4`) is for a ROCm that is not older."""
    return (versions.order(variant.removeprefix("rocm")) or ()) >= (versions.order(rocm) or ())


def first_rocm_of(gpu: str) -> str:
    """The first ROCm for which builds of torch have code for a GPU of AMD (`gfx942`); empty for each."""
    return next((rocm for family, rocm in _SINCE_ROCM if gpu.startswith(family)), "")


def has_no_rocm_build(gpu: str) -> bool:
    """Whether no build of torch on its indexes has code for a GPU of AMD (`gfx803`)."""
    return re.fullmatch(_WITHOUT_CODE, gpu) is not None


def force_reinstall(command: str) -> str:
    """The command also replaces another build of the same release: pip takes `2.1.0+cpu` for `torch==2.1.0`."""
    forced = command.replace("pip install", "pip install --force-reinstall", 1)
    return command if "--force-reinstall" in command else forced


def find_torch(
    version: str, missing: MissingName, *, cuda: str | None = None, variant: str = "", as_released: bool = False
) -> tuple[str, str] | None:
    """Arguments of `pip install` for one release of torch in the installed or possible variant, and that variant; None
    if no index has it.

    Args:
        cuda: required CUDA release (`12`, `10.1`); "" for any.
        variant: preferred variant, before that of the target.
        as_released: only variants with the std::string of the release index, which exports of a release are known of.
    """
    wanted_variant = XPU if gpu_vendor_of(missing) == XPU and variant != "cpu" else variant
    variant = missing.target_variant or (f"rocm{rocm_of(missing)}" if is_for_hip(missing) else "")
    found: list[tuple[Wheels, str]] = []
    for wheels in rows_of(_torch(), missing):
        known = entry_of_release(wheels.variants, version) or ()
        if as_released:
            known = tuple(each for each in known if not has_the_new_string(f"{version}+{each}"))
        if wanted_variant in known:
            chosen: str | None = wanted_variant
        elif cuda is not None:
            chosen = max(_of_cuda(known, cuda), default=None)
        elif gpu_vendor_of(missing) == NO_GPU and "cpu" in known:
            chosen = "cpu"
        else:
            named = missing.log.variant
            chosen = nearest_variant(known, wanted_variant or (named if named in known else variant))
        if chosen is not None:
            found.append((wheels, chosen))
    if not found:
        return None
    asked = wanted_variant or variant
    # Of several rows of one release: the wanted variant, else one of its CUDA major release, else the newest.
    wheels, chosen = max(
        found, key=lambda each: (each[1] == asked, cuda_major(each[1]) == cuda_major(asked), _cuda_of(each[1]))
    )
    return fill_row(wheels, _torch(), version, chosen, missing), chosen


def _of_cuda(variants: tuple[str, ...], cuda: str) -> list[str]:
    """The variants for one CUDA release (`12`, `10.1`); for any if it is empty."""
    exact = f"cu{cuda.replace('.', '')}"
    return [each for each in variants if (major := cuda_major(each)) and (cuda in ("", major) or each == exact)]


def torch_of_cuda_since(since: str, major: str, missing: MissingName) -> str | None:
    """The command that installs the same release of torch for a CUDA release with this major number that is `since` or
    later; None if no release is, or not that of the target."""
    least, target = versions.order(since) or (), missing.target
    for wheels in rows_of(_torch(), missing):
        known = (
            tuple(chain(*wheels.variants.values()))
            if target is None
            else entry_of_release(wheels.variants, target.version) or ()
        )
        late = [each for each in _of_cuda(known, major) if _cuda_of(each) >= least[:2]]
        if not late:
            continue
        chosen = min(late, key=_cuda_of)
        if target is not None:
            return f"pip install --force-reinstall {fill_row(wheels, _torch(), target.version, chosen, missing)}"
        return f'pip install --force-reinstall "torch=={_LOADED_RELEASE}" --index-url {INDEXES}{chosen}'
    return None


def from_package_index(version: str, missing: MissingName) -> str:
    """The command that installs one release of torch from the package index, with the CUDA of the build there; from an
    index of PyTorch where the build there is not for the GPU, and for Hygon's, where that torch came from."""
    if gpu_vendor_of(missing) == XPU:
        if (versions.order(version) or _FIRST_FOR_XPU)[:2] < _FIRST_FOR_XPU:
            return f"pip install torch --index-url {INDEXES}xpu  # torch {version} has no build for GPUs of Intel"
        return f"pip install torch=={version} --index-url {INDEXES}xpu"
    if gpu_vendor_of(missing) == DCU:
        return f"install torch {version} or later for DCU, from where your torch came from"
    if of_amd := hip_for_windows(missing):
        return of_amd
    if is_for_hip(missing):
        return (
            f"pip install torch=={version} --index-url {INDEXES}rocmX.Y"
            f"  # X.Y: a ROCm that {INDEXES}torch lists for {version}"
        )
    if not _has_cuda_on_package_index(version, missing):
        found = None if gpu_vendor_of(missing) in WITHOUT_CUDA_CODE else find_torch(version, missing, cuda="")
        for_cpu = "" if platform_of(missing) == "macosx" else "  # the build of the package index, for the CPU"
        return f"pip install torch=={version}{for_cpu}" if found is None else f"pip install {found[0]}"
    cuda = next((build.cuda for build in missing.knowledge.released_builds(version)), None)
    if cuda is None:
        return f"pip install torch=={version}"
    # Minor version compatibility (https://docs.nvidia.com/deploy/cuda-compatibility).
    driver = f"a driver for CUDA {cuda.partition('.')[0]} or later"
    return f"pip install torch=={version}  # the build of the package index, for CUDA {cuda}: it needs {driver}"


def install_nightly(name: str, missing: MissingName) -> str:
    """The command that installs the nightly builds of torch and of a package that is released with it."""
    variant = missing.target_variant
    known = re.fullmatch(r"cpu|xpu|cu\d{3}|rocm\d\.\d", variant or missing.log.variant)
    index = f"{INDEXES}nightly/{'VARIANT' if known is None else known[0]}"
    note = "  # VARIANT: that of your torch, such as cu130, cpu or rocm7.0" if known is None else ""
    return f"pip install --pre --upgrade --force-reinstall torch {name} --index-url {index}{note}"


def _has_cuda_on_package_index(version: str, missing: MissingName) -> bool:
    """Whether the build of the package index is for CUDA on this platform."""
    platform = platform_of(missing)
    if platform == "linux_aarch64":
        return (versions.order(version) or ()) >= _FIRST_CUDA_ON_AARCH64
    return platform not in ("win_amd64", "macosx")


def torch_of_variant(variant: str, missing: MissingName) -> str | None:
    """The command that installs torch in one variant: the target's release if it has it, else the newest that has it;
    None if none has."""
    version = missing.target_version
    rows = rows_of(_torch(), missing)
    of_target = any(variant in (entry_of_release(row.variants, version) or ()) for row in rows)
    newest = newest_of_variant(variant, missing)
    return newest and install_torch(version if of_target else patch_release(newest), missing, variant=variant)


def variants_of(version: str, missing: MissingName) -> tuple[str, ...]:
    """The variants of a release of torch on this platform; empty if unknown."""
    known = (entry_of_release(row.variants, version) for row in rows_of(_torch(), missing))
    return next(filter(None, known), ())


def _all_variants() -> set[str]:
    """The variants of all releases of torch, on any platform."""
    return {variant for row in wheels_of(_torch()) for known in row.variants.values() for variant in known}


def is_of_no_release(variant: str) -> bool:
    """Whether no release of torch has builds for a CUDA (`cu131`) that is not later than those it has builds for:
    PyTorch has no such index."""
    known = {*_FORMER_VARIANTS, *_all_variants()}
    here = versions.order(cuda_release(variant))
    newest = max(filter(None, (versions.order(cuda_release(each)) for each in known)))
    return here is not None and here < newest and variant not in known


def newest_of_variant(variant: str, missing: MissingName) -> str | None:
    """The newest release of torch (`1.13`) with a build of a variant; None if none is known."""
    rows = rows_of(_torch(), missing)
    return next((torch for row in rows for torch, known in row.variants.items() if variant in known), None)


def torch_for_cuda(
    cuda: str, missing: MissingName, *, same_major: bool = False, for_driver: bool = False
) -> str | None:
    """The command that installs the newest torch for this CUDA release or one before it; None if none is known.

    Args:
        same_major: only for a CUDA of the same major release.
        for_driver: it is that of a driver, which runs all releases of this major one; the target's release, if it has
            such a build.
    """
    most = versions.order(cuda)
    if most is None:
        return None
    if for_driver and most >= _FIRST_COMPATIBLE_CUDA:
        most = (most[0], _ANY_MINOR)
    of_target = [(missing.target_version, variants_of(missing.target_version, missing))] if for_driver else []
    rows = (row.variants.items() for row in rows_of(_torch(), missing))
    for torch, known in chain(of_target, chain.from_iterable(rows)):
        fitting = [each for each in known if _is_up_to(each, most, same_major=same_major)]
        if fitting and is_installable(patch_release(torch), missing):
            return install_torch(patch_release(torch), missing, variant=max(fitting, key=_cuda_of))
    return None


def newest_torch(variant: str, missing: MissingName) -> str:
    """The command that installs the newest torch for a CUDA (`cu126`); if no such torch has wheels for the CPython of
    the text, the newest that has, for a CUDA before it."""
    rows = (row.variants.items() for row in rows_of(_torch(), missing))
    torches = [torch for torch, known in chain.from_iterable(rows) if variant in known]
    newest = f"pip install -U torch --index-url {INDEXES}{variant}"
    if any(is_installable(patch_release(torch), missing) for torch in torches):
        return newest
    return torch_for_cuda(cuda_release(variant), missing) or newest


def is_installable(torch: str, missing: MissingName) -> bool:
    """Whether a release has wheels for the CPython of the text, if that is known."""
    return missing.loading_python is None or missing.loading_python in with_wheels(torch)


def _is_up_to(variant: str, most: versions.Order, *, same_major: bool) -> bool:
    at = _cuda_of(variant)
    return bool(at) and at <= most[:2] and (not same_major or at[:1] == most[:1])


def _cuda_of(variant: str) -> versions.Order:
    """The CUDA release of a variant; empty if it is of no CUDA."""
    return (versions.order(cuda_release(variant)) or ())[:2]


def is_cuda_of_no_release(cuda: str) -> bool:
    """Whether no wheel of a torch release is for this CUDA (`12.0`). False for CUDA before 12: the catalogue lacks
    variants of old releases."""
    if (versions.order(cuda) or ()) < _FIRST_COMPLETE_CUDA:
        return False
    return f"cu{cuda.replace('.', '')}" not in _all_variants()


def example_variant(cuda: str) -> str:
    """`cu126`: the oldest variant of torch for a CUDA in the newest release with one; empty if none is known.

    Args:
        cuda: the major release; "" for any.
    """
    known = chain.from_iterable(row.variants.values() for row in wheels_of(_torch()))
    return next((min(of_cuda) for each in known if (of_cuda := _of_cuda(each, cuda))), "")
