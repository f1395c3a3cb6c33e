"""Facts of the message catalogue about packages that are released together with torch and register operators. Each
release is built for one torch. Value `project`: namespace of the operators."""

from __future__ import annotations

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.fixes import torch_commands
from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import DCU
from abiscan.model import versions
from abiscan.releases import companions
from abiscan.releases.torch_indexes import index_of_label


def companion(values: Values, _missing: MissingName) -> str | None:
    """The package: torchvision."""
    return companions.registers(values.get("project", ""))


def companion_version(values: Values, missing: MissingName) -> str | None:
    """The installed version."""
    package = companion(values, missing)
    return None if package is None else missing.environment.packages.get(package)


def companion_torch(values: Values, missing: MissingName) -> str | None:
    """The torch that the installed version was built for."""
    package, version = companion(values, missing), companion_version(values, missing)
    return None if package is None or version is None else companions.built_for(package, version)


def torch_there(_values: Values, missing: MissingName) -> str | None:
    """The torch version of the text or its metadata; with a label only if it has one."""
    if missing.target is None:
        return None
    version = missing.target.version
    installed = missing.environment.packages.get("torch", "")
    return installed if installed.startswith(version) else version


def torch_index(_values: Values, missing: MissingName) -> str | None:
    """The index of the installed torch, if its version has a label of one: only builds of that index have a label."""
    there = torch_there(_values, missing) or ""
    is_of_amd = torch_commands.hip_for_windows(missing) is not None
    return None if is_of_amd else index_of_label(there.partition("+")[2])


def companion_fit(values: Values, missing: MissingName) -> str | None:
    """Compares the torch that the installed version was built for with the installed torch: `older`, `newer`, or if
    equal `cuda` (CPU build of torch, CUDA build of the package), `variant` (different variants) or `same`; `unknown` if
    a version is unknown; None without a package."""
    package, version, there = (
        companion(values, missing),
        companion_version(values, missing),
        torch_there(values, missing),
    )
    if package is None:
        return None
    fit = None if version is None or there is None else companions.compared(package, version, there)
    if fit is None or version is None or there is None:
        return "unknown"
    if fit:
        return "older" if fit < 0 else "newer"
    labels = tuple(each.partition("+")[2] for each in (version, there))
    if labels[0] == labels[1] or not all(label.startswith(("cpu", "cu", "rocm")) for label in labels):
        return "same"
    return "cuda" if labels[1] == "cpu" else "variant"


def companion_release(values: Values, missing: MissingName) -> str | None:
    """The release of the package for the target's torch."""
    package = companion(values, missing)
    return (
        None if package is None or missing.target is None else companions.release_for(package, missing.target.version)
    )


def companion_nightly(values: Values, missing: MissingName) -> str | None:
    """The command that installs nightly builds of torch and the package; None for another torch."""
    package = companion(values, missing)
    return None if package is None or not missing.log.is_nightly else torch_commands.install_nightly(package, missing)


def paired_release(values: Values, missing: MissingName) -> str | None:
    """The release of the value `paired` for the value `torch`, `0.21`, if pip installs both from one index; None if
    the value `paired_here` is of that release."""
    package, torch = values.get("paired", ""), values.get("torch", "")
    by_vendor = missing.log.is_jetson or gpu_vendor_of(missing) == DCU
    fits = companions.compared(package, values.get("paired_here", ""), torch) == 0
    return None if by_vendor or fits else companions.release_for(package, torch)


def torchvision_of_torch(values: Values, missing: MissingName) -> str | None:
    """The same of torchvision."""
    return paired_release({**values, "paired": "torchvision"}, missing)


def known_pair(values: Values, missing: MissingName) -> str | None:
    """A release of the package and its torch: `: torchvision 0.19.0 for torch 2.4`."""
    package, version, release = (read(values, missing) for read in (companion, companion_version, companion_release))
    if (torch := companion_torch(values, missing)) is not None:
        return f": {package} {version} for torch {torch}"
    return None if release is None else f": {package} {release} for torch {target_minor(values, missing)}"


def target_minor(_values: Values, missing: MissingName) -> str | None:
    """The target's torch: `2.6`."""
    return None if missing.target is None else versions.minor(missing.target.version)
