"""Sources of packages that compile with HIP, by the releases of torch and ROCm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.catalogue.package_row import HipSource, Package
from abiscan.diagnosis.fixes.named_release import release_to_build, requirement
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import AMD, DCU, NVIDIA, XPU
from abiscan.model import versions
from abiscan.ownership.torch_names import accelerator_of
from abiscan.ownership.vendors import vendor_of_library

# The first HIP with shuffles of __half (amd_detail/amd_hip_fp16.h), and a release before it.
_FIRST: Final = "5.6"
_BEFORE: Final = "5.5"
# The releases of torch whose builds are all for that HIP or later.
_FOR_FIRST: Final = (2, 2)
_FOR_OLDER: Final = (2, 1)
# The first ROCm whose builds of torch are all of that release or later.
_ONLY_NEW: Final = (6, 0)


NEEDS_HIPCC: Final = "needs hipcc of the ROCm release of torch.version.hip"


class HipBuild(Struct, frozen=True):
    """What to build together with HIP.

    Attributes:
        lead: for which HIP; empty for any, or the known one.
        sources: of the packages, for pip.
        notes: sources for another torch.
        none: packages without a source that compiles.
        environment: variables for the build, in place of those of the packages.
    """

    lead: str
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    none: tuple[str, ...]
    environment: tuple[str, ...] = ()


def gpu_vendor_of(missing: MissingName) -> str:
    """The vendor of the GPU, as in `gpu_vendors.py`: from the text, else from the variant of torch."""
    variant = missing.target_variant
    return missing.log.gpu or (AMD if variant.startswith("rocm") else XPU if variant.startswith("xpu") else "")


def is_for_hip(missing: MissingName) -> bool:
    """Whether the GPU is AMD's or Hygon's."""
    return gpu_vendor_of(missing) in (AMD, DCU)


def newest_torch_with_hip(missing: MissingName) -> str:
    """A release of torch that is not older than any for the ROCm of the text; empty if that is unknown."""
    rocm = versions.order(rocm_of(missing))
    is_older = rocm is not None and rocm < (versions.order(_FIRST) or ()) and gpu_vendor_of(missing) == AMD
    return ".".join(map(str, _FOR_OLDER)) if is_older else ""


def is_for_cuda(missing: MissingName) -> bool:
    """Whether the text names a GPU of NVIDIA, or a torch for CUDA."""
    return gpu_vendor_of(missing) == NVIDIA or _is_cuda_named(missing)


def _is_cuda_named(missing: MissingName) -> bool:
    return "+cu" in missing.environment.packages.get("torch", "")


def lacks_cuda(name: str, missing: MissingName) -> bool:
    """Whether a library is of CUDA, and the GPU is AMD's or Hygon's; not if the named torch is for CUDA."""
    return is_for_hip(missing) and not _is_cuda_named(missing) and is_of_cuda(name)


def is_of_cuda(name: str) -> bool:
    """Whether a library is of CUDA, or of torch for CUDA."""
    vendor = vendor_of_library(name)
    return accelerator_of(name) == "CUDA" or (vendor is not None and vendor.cuda)


def rocm_of(missing: MissingName) -> str:
    """The release of ROCm: from the text, else from the variant of torch; empty if unknown."""
    variant = missing.target_variant
    return missing.log.rocm or (variant.removeprefix("rocm") if variant.startswith("rocm") else "")


def hip_builds(packages: Sequence[Package], missing: MissingName) -> tuple[HipBuild, ...]:
    """The builds of the packages with the HIP of the target; for an unknown HIP, those of each kind."""
    torch = missing.target_version
    rocm = rocm_of(missing)
    at = versions.order(torch)
    if rocm or (at is not None and at[:2] >= _FOR_FIRST and gpu_vendor_of(missing) == AMD):
        return (_build(packages, missing, rocm or _FIRST, ""),)
    first, before = _build(packages, missing, _FIRST, ""), _build(packages, missing, _BEFORE, "")
    if first.sources == before.sources:
        return (first,)
    # Builds of torch before 2.1 are for ROCm 5.4 and older; some images of AMD have a later one. Hygon's are for other
    # releases of HIP.
    is_first = at is None or at[:2] >= _FOR_OLDER
    printed = ("hipcc --version prints it",)
    of_older = _with_older_hip(packages, torch)
    first = replace(first, lead=_lead(f"HIP {_FIRST} or later", (*(printed if is_first else ()), *of_older)))
    before = replace(before, lead=_lead(f"HIP before {_FIRST}", () if is_first else printed))
    return (first, before) if is_first else (before, first)


def _lead(text: str, notes: Sequence[str]) -> str:
    return f"{text} ({'; '.join(notes)}):" if notes else f"{text}:"


def _with_older_hip(packages: Sequence[Package], torch: str) -> tuple[str, ...]:
    """What comes of the sources for the first HIP with an older one."""
    rows = (row for package in packages for row in package.hip if _fits(row, torch, _FIRST))
    return tuple(dict.fromkeys(row.older_rocm for row in rows if row.older_rocm))


def hip_port(package: Package, missing: MissingName) -> HipSource | None:
    """The source of another project for a GPU of AMD or Hygon; None if none is known or needed."""
    own = {_repository_of(package.checkout), _repository_of(package.repository)}
    others = (row for row in package.hip if "git+" in row.source and _repository_of(row.source) not in own)
    return next(others, None) if is_for_hip(missing) else None


def clone_command(port: HipSource) -> str:
    """The command that fetches a source of `hip_port`."""
    return f"git clone --recursive {_repository_of(port.source)}"


def _repository_of(source: str) -> str:
    return source.strip('"').removeprefix("git+").partition("@")[0].removesuffix(".git")


def hip_note(name: str, version: str) -> str | None:
    """Which sources to build with HIP in place of a release; None if the catalogue has no rows for the package, or the
    release compiles with every HIP.

    Args:
        name: of the distribution.
    """
    package = packages_by_name().get(name)
    if package is None or not package.hip:
        return None
    of_release = [row for row in package.hip if row.source == f"{name}=={version}"]
    if any(not row.rocm and not row.before_rocm for row in of_release):
        return None
    known = (
        f"compiles with HIP before {of_release[0].before_rocm}" if of_release else "is not known to compile with HIP"
    )
    others = (f"{_range_of(row)}: {row.source}" for row in package.hip if row not in of_release)
    return f"{name} {version} {known}. For GPUs of AMD, sources that compile: {'; '.join(others)}"


def _range_of(row: HipSource) -> str:
    parts = (("torch", row.torch, row.before_torch), ("HIP", row.rocm, row.before_rocm))
    return ", ".join(f"{what} {_between(first, end)}" for what, first, end in parts if first or end)


def _between(first: str, end: str) -> str:
    if not end:
        return f"{first} or later"
    return f"{first} to before {end}" if first else f"before {end}"


def _build(packages: Sequence[Package], missing: MissingName, rocm: str, lead: str) -> HipBuild:
    torch = missing.target_version
    sources, notes, none, environment = [], [], [], dict[str, None]()
    for package in packages:
        release = release_to_build(package, missing)
        named = requirement(package, release) if release else package.name
        python = "" if missing.loading_python is None else str(missing.loading_python)
        fits = [each for each in package.hip if _fits(each, torch, rocm) and _is_between(python, each.python, "")]
        fits.sort(key=lambda each: each.source != named)
        if fits:
            sources.append(fits[0].source)
            environment.update(dict.fromkeys(fits[0].environment))
            notes += [fits[0].note] if fits[0].note else []
            if not torch and fits[0].torch and len(fits) > 1 and (versions.order(rocm) or ()) < _ONLY_NEW:
                notes.append(f"torch before {fits[0].torch}: {fits[1].source}")
        elif package.hip or not package.sdist:
            none.append(package.name)
        else:
            sources.append(named)
    return HipBuild(lead, tuple(sources), tuple(notes), tuple(none), tuple(environment))


def _fits(row: HipSource, torch: str, rocm: str) -> bool:
    return _is_between(torch, row.torch, row.before_torch) and _is_between(rocm, row.rocm, row.before_rocm)


def _is_between(version: str, first: str, end: str) -> bool:
    """Whether a version is `first` or later, and before `end`; an unknown one may be."""
    at, low, high = (versions.order(each) for each in (version, first, end))
    return at is None or ((low is None or at >= low) and (high is None or at < high))


def with_gpu_of(vendor: str, missing: MissingName) -> MissingName:
    """The same with a GPU of a vendor, and a torch for it."""
    target = None if missing.target is None else replace(missing.target, variant="", cuda=None)
    return missing.with_knowledge(target=target, log=replace(missing.log, gpu=vendor))
