"""Commands that install a package for the target's torch, from the package catalogue."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from itertools import chain
from typing import Final

from msgspec.structs import replace

from abiscan.diagnosis.catalogue.load_packages import (
    package_of_file,
    packages_by_name,
    packages_by_namespace,
    packages_by_operators,
    wheels_of,
)
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.fixes.build_commands import build
from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of, hip_port, is_for_hip, with_gpu_of
from abiscan.diagnosis.fixes.named_release import named_release
from abiscan.diagnosis.fixes.torch_commands import (
    force_reinstall,
    hip_for_windows,
    install_nightly,
    install_torch,
)
from abiscan.diagnosis.fixes.unknown_torch import for_any_torch
from abiscan.diagnosis.fixes.unlisted_wheels import ANY_ROCM, of_same_release, without_known_wheel
from abiscan.diagnosis.fixes.wheel_choice import find_wheel, with_cuda, with_other_torch
from abiscan.diagnosis.fixes.wheel_rows import (
    PIP,
    cuda_major,
    platform_of,
    together,
    upgrade,
)
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.reference import Reference
from abiscan.diagnosis.text.gpu_vendors import NO_GPU, NVIDIA
from abiscan.model import versions
from abiscan.model.target import TorchBuild
from abiscan.ownership.torch_names import is_torch_library
from abiscan.ownership.vendors import vendor_of_library
from abiscan.releases import companions
from abiscan.releases.torch_indexes import index_of_label

_MOST_BUILDS: Final = 3
_OLD_TORCH: Final = (1, 12)


def find_package(missing: MissingName, name: str | None = None) -> Package | None:
    """The package of the file with the missing symbol; None if it is not in the catalogue.

    Args:
        name: distribution or module in a message.
    """
    found = _find_package(missing, name)
    if found is None or found.name == "torch":
        return None
    # Of two distributions with one module (mmcv, mmcv-full), the one that the text names.
    named, former = missing.log.project, found.former
    there = versions.order(named_release(found, missing))
    if former is not None and there is not None and there < (versions.order(former.before) or ()):
        return packages_by_name()[former.name]
    return packages_by_name().get(named, found) if named.startswith(f"{found.name}-") else found


def _find_package(missing: MissingName, name: str | None) -> Package | None:
    for text in (missing.file.distribution, name):
        plain = None if text is None else re.sub(r"[-_.]+", "-", text).lower()
        # spconv-cu114 is spconv, built for a CUDA.
        found = plain and (packages_by_name().get(plain) or packages_by_name().get(re.sub(r"-cu\d{2,3}$", "", plain)))
        if found:
            return found
    path = missing.file.path or missing.file.importer
    found = package_of_file(path, is_installed=missing.file.distribution is not None) if path else None
    if found is not None and found.conda and missing.file.distribution is not None:
        return None  # of another distribution than conda's
    if found is None and name is not None:
        found = package_of_file(name) or packages_by_operators().get(name)
    if found is None and (not path or path.startswith("_")):  # `_C.so` of any package
        found = _package_of_text(missing)
    if found is None and not missing.is_torch_name and missing.namespace is not None and not missing.file.path:
        found = packages_by_namespace().get(missing.namespace)
    return found


def _package_of_text(missing: MissingName) -> Package | None:
    """The package that a text is about, if a name of torch or of CUDA, or a version of a system library, is missing."""
    log, project = missing.log, missing.log.project
    if not missing.is_torch_name and not is_torch_library(missing.name):
        vendor = vendor_of_library(missing.name)
        if (vendor is None or not vendor.cuda) and missing.name != missing.reference.version:
            return None
        if not project or project in companions.COMPANIONS:  # which texts name beside torch
            project = log.failing_companion
    return packages_by_name().get(project)


def install(
    package: Package,
    missing: MissingName,
    *,
    variant: str | None = None,
    others: Sequence[Package] = (),
    oldest: str = "",
) -> tuple[str, ...]:
    """The ways to install the package for the target, best first: a wheel, else a build from source. Where no wheel is
    known, one way has several lines. Empty if neither is known.

    Args:
        variant: of the installed torch, if nothing else is known about it.
        others: packages to install with the same command; they have the same wheels.
        oldest: torch that an unknown one is not older than.
    """
    if ways := _for_every_torch(package, missing, variant):
        return ways
    if (elsewhere := on_another_system(package, missing)) is not None:
        return (elsewhere,)
    target = missing.target
    if target is not None and not target.variant and is_for_hip(missing):
        missing = _with_variant(missing, target, ANY_ROCM)
        target = missing.target
    source = build(package, missing, [each.name for each in others])
    if source is not None and target is None and hip_port(package, missing) is not None:
        return (source,)
    package = together(package, others)
    # The wheels of the pages are for none of NVIDIA's builds for a Jetson, and for no nightly.
    from_source = missing.knowledge.target_from_source or missing.log.is_jetson or missing.log.is_nightly
    is_cpu = platform_of(missing) == "macosx" if target is None else target.variant == "cpu"
    if package.cuda_only and is_cpu and not from_source:
        return _for_cpu(package, missing)
    if not from_source and (without := without_file(package, missing)) is not None:
        # A page of the project has wheels with the file, each for one torch; the package index those without it.
        paged = None if target is None else find_wheel(package, missing, target)
        return (without if paged is None or "://" not in paged.command else paged.command,)
    if from_source:
        return (source,) if source is not None else (upgrade(package),) if package.upgrade else ()
    if target is None or versions.order(target.version) is None:
        return _for_unknown_torch(package, missing, source, variant, oldest)
    return _for_release(package, missing, target, source)


def _for_every_torch(package: Package, missing: MissingName, variant: str | None) -> tuple[str, ...]:
    """The ways that do not depend on the release of torch; empty if there are none."""
    if package.command:
        return (package.command,)
    if package.cuda:
        return _of_cuda(package, missing, variant)
    if package.conda:
        return (_from_conda(package, missing),)
    if package.needs_no_torch:
        return (upgrade(package),)
    is_companion = package.name in companions.COMPANIONS
    if is_companion and (of_amd := hip_for_windows(missing)) is not None:
        return (of_amd,)
    is_nightly = missing.log.is_nightly and (is_companion or package.nightly)
    return (install_nightly(package.name, missing),) if is_nightly else ()


def _from_conda(package: Package, missing: MissingName) -> str:
    command = f"conda install -c {package.conda.replace('::', ' ')}"
    if not package.conda.startswith("conda-forge::") or platform_of(missing) == "macosx":
        return command
    note = 'torch from there, too, not from the channel pytorch or pip; for the CPU: "pytorch=*=cpu*"'
    return f'{command} "pytorch=*=cuda*"  # {note}'


def _for_release(package: Package, missing: MissingName, target: TorchBuild, source: str | None) -> tuple[str, ...]:
    """The ways to install it for a release of torch; see `install`.

    Args:
        source: the build from source.
    """
    wheel = find_wheel(package, missing, target)
    if wheel is not None:
        return (wheel.command,)
    if (of_index := _from_index_of_torch(package, target)) is not None:
        return (of_index,)
    page = _page(package, missing)
    if page is None and (package.wheels or package.upgrade):
        return without_known_wheel(package, missing, source)
    if page is None:
        return () if source is None else (source,)
    of_page = f"Install the wheel of {package.name} for {missing.target_label} and this Python: {page}"
    return (of_page,) if source is None else (of_page, f"or: {source}")


def _for_unknown_torch(
    package: Package, missing: MissingName, source: str | None, variant: str | None, oldest: str
) -> tuple[str, ...]:
    """The ways to install it for a torch of unknown release; see `install`.

    Args:
        source: the build from source.
    """
    page, is_cpu = _page(package, missing), variant is None and gpu_vendor_of(missing) == NO_GPU
    ways = (for_any_torch(package, missing, "cpu", oldest) if is_cpu else ()) or for_any_torch(
        package, missing, variant, oldest
    )
    if page is not None:
        # For a torch without a wheel of the project.
        lead = "or, for another torch: install" if ways else "Install"
        ways = (*ways, f"{lead} the wheel for your torch, CUDA and Python: {page}")
    if ways and package.ended and source and _has_wheels_of_old_torch(package):
        return (source, *(f"or, for a torch that has a wheel: {each}" for each in ways))
    if ways and package.ended and source:
        return (*ways, f"or, for a torch without a wheel there: {source}")
    return ways or ((source,) if source else of_same_release(package, missing))


def _has_wheels_of_old_torch(package: Package) -> bool:
    """Whether the newest torch that its wheels are for is one that few environments have."""
    torches = chain.from_iterable(wheels.variants for wheels in wheels_of(package))
    return all((versions.order(torch) or ())[:2] < _OLD_TORCH for torch in torches)


def _from_index_of_torch(package: Package, target: TorchBuild) -> str | None:
    """For a torch for ROCm: its companion from the index of that variant, which has both."""
    index = index_of_label(target.variant) if target.variant.startswith("rocm") else None
    release = companions.release_for(package.name, target.version) if package.name in companions.COMPANIONS else None
    return f'{PIP} "{package.name}=={release}.*" --index-url {index}' if index and release else None


def _page(package: Package, missing: MissingName) -> str | None:
    """The page of wheels that pip cannot search; all are for CUDA."""
    return None if is_for_hip(missing) else package.pages.get(platform_of(missing))


def _with_variant(missing: MissingName, target: TorchBuild, variant: str) -> MissingName:
    return missing.with_knowledge(target=replace(target, variant=variant))


def install_named(knowledge: Knowledge) -> tuple[str, ...]:
    """The ways to install the only package that a text names, best first, after a heading; empty if the catalogue has
    none."""
    package = packages_by_name().get(knowledge.log.project)
    if package is None or package.name in ("torch", *companions.COMPANIONS):
        return ()
    ways = install(package, MissingName(Reference(name=""), knowledge))
    is_for_any = package.needs_no_torch or package.conda or package.command
    torch = "" if knowledge.target is None or is_for_any else f" for torch {knowledge.target.label}"
    return (f"To install {package.name}{torch}:", *ways) if ways else ()


def check_named(knowledge: Knowledge) -> tuple[str, ...]:
    """How to check the installed files of the only package that a text names, after a heading; empty if it is none with
    native code, or for Windows."""
    package = packages_by_name().get(knowledge.log.project)
    if package is None or package.needs_no_torch or not package.wheels or knowledge.log.platform == "win_amd64":
        return ()
    named = "names every undefined symbol, with its cause and fix"
    return (f"To check the installed {package.name}:", f'abiscan {package.name} --python "$(which python)"  # {named}')


def without_file(package: Package, missing: MissingName, *, if_unnamed: bool = False) -> str | None:
    """The command that installs releases of the package without the file of the error; they are for CUDA.

    Args:
        if_unnamed: also if the text names no file.
    """
    if package.without is None or is_for_hip(missing):
        return None
    base = posixpath.basename(missing.file.path or missing.name)
    is_unnamed = if_unnamed and not missing.file.path
    return package.without.command if is_unnamed or base.startswith(package.without.files) else None


def of_installed_release(package: Package, missing: MissingName, variant: str) -> tuple[str, ...]:
    """The commands that install a torch that the installed release of the package is built for, and that release, where
    the target is another torch; empty if that is unknown or not so.

    Args:
        variant: of torch, as near as published.
    """
    log, target = missing.log, missing.target
    releases = {**log.releases, **log.companions}
    release = (missing.file.distribution_version or releases.get(package.name) or "").partition("+")[0]
    if not release or target is None:
        return ()
    found = with_other_torch(package, _with_variant(missing, target, variant), release)
    return found[1:] if found and f" {versions.minor(target.version)}." not in found[0] else ()


def on_another_system(package: Package, missing: MissingName) -> str | None:
    """The system that a package is made for, and where another project has builds for this one; None if it is for this
    one."""
    return None if missing.log.is_wsl else not_made_for(platform_of(missing), package)


def not_made_for(platform: str, package: Package) -> str | None:
    """The same for a platform in wheel tags."""
    if package.unsupported is None or platform not in package.unsupported.platforms:
        return None
    system, other = (
        ("Windows", "install it in WSL (wsl --install)") if platform == "win_amd64" else ("macOS", "use it on Linux")
    )
    page = package.pages.get(platform)
    wheels = f"\nor a build of another project, for its torch, CUDA and Python: {page}" if page else ""
    return f"{package.name} is not made for {system}: {other}{wheels}"


def _for_cpu(package: Package, missing: MissingName) -> tuple[str, ...]:
    """For a CPU build of torch: its CUDA build, and a package that needs one for that. On macOS there is none."""
    lead = f"{package.name} needs a GPU of NVIDIA and a CUDA build of torch"
    if platform_of(missing) == "macosx":
        return (f"{lead}: use it on Linux, or a program's option without it",)
    ways = with_cuda(package, missing, "")
    if not ways and missing.target is not None:
        torch = install_torch(missing.target.version, missing, cuda="")
        forced = "" if torch is None else force_reinstall(torch)
        built = build(package, with_gpu_of(NVIDIA, missing))
        ways = (forced or "Install such a build for this platform first", *(() if built is None else (built,)))
    return ("\n".join((f"{lead}:", *ways)),)


def _of_cuda(package: Package, missing: MissingName, variant: str | None) -> tuple[str, ...]:
    """The build for the CUDA of the target, else the one of each CUDA."""
    variant = variant or missing.log.variant or missing.target_variant
    if major := cuda_major(variant):
        of_major = [each for each in package.cuda if each.startswith(f"cu{major}")]
        older = [each for each in of_major if each <= variant]
        chosen = variant if variant in package.cuda else max(older, default=min(of_major, default=None))
        if chosen is not None:
            mark = "; " if "  # " in package.cuda[chosen] else "  # "
            return (f"pip install -U {package.cuda[chosen]}{mark}for CUDA {major}",)
        return (f"No build of {package.name} for CUDA {major} is known; there are: {', '.join(package.cuda)}",)
    if len(package.cuda) > _MOST_BUILDS:
        # Of builds that are named after their CUDA one shows how the others are called.
        example, what = next(iter(package.cuda.items()))
        there = ", ".join(package.cuda)
        return (f"pip install -U {what}  # {example}: put in the CUDA of torch, or the next below ({there})",)
    return tuple(f"CUDA {each.removeprefix('cu')}: pip install -U {what}" for each, what in package.cuda.items())
