"""Facts of the message catalogue about packages that are released together with torch and register operators. Each
release is built for one torch. Value `project`: namespace of the operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from abiscan.diagnosis.hip_sources import vendor_of
from abiscan.diagnosis.messages.gpu_vendors import DCU
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model import versions
from abiscan.releases import companions

Values = Mapping[str, str]


def _companion(values: Values, _missing: MissingName) -> str | None:
    """The package: torchvision."""
    return companions.registers(values.get("project", ""))


def _version(values: Values, missing: MissingName) -> str | None:
    """The installed version."""
    package = _companion(values, missing)
    return None if package is None or missing.environment is None else missing.environment.packages.get(package)


def _torch(values: Values, missing: MissingName) -> str | None:
    """The torch that the installed version was built for."""
    package, version = _companion(values, missing), _version(values, missing)
    return None if package is None or version is None else companions.built_for(package, version)


def _torch_there(_values: Values, missing: MissingName) -> str | None:
    """The torch version of the text or its metadata; with a label only if it has one."""
    if missing.target is None:
        return None
    version = missing.target.version
    installed = None if missing.environment is None else missing.environment.packages.get("torch")
    return installed if installed is not None and installed.startswith(version) else version


def _fit(values: Values, missing: MissingName) -> str | None:
    """Compares the torch that the installed version was built for with the installed torch: `older`, `newer`, or if
    equal `cuda` (CPU build of torch, CUDA build of the package), `variant` (different variants) or `same`; `unknown` if
    a version is unknown; None without a package."""
    package, version, there = _companion(values, missing), _version(values, missing), _torch_there(values, missing)
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


def _release(values: Values, missing: MissingName) -> str | None:
    """The release of the package for the target's torch."""
    package = _companion(values, missing)
    return (
        None if package is None or missing.target is None else companions.release_for(package, missing.target.version)
    )


def _torchvision_of_torch(values: Values, missing: MissingName) -> str | None:
    """The release of torchvision for the value `torch`, `0.21`, if pip installs both from one index."""
    by_vendor = missing.knowledge.is_jetson or vendor_of(missing) == DCU
    return None if by_vendor else companions.release_for("torchvision", values.get("torch", ""))


def _known_pair(values: Values, missing: MissingName) -> str | None:
    """A release of the package and its torch: `: torchvision 0.19.0 for torch 2.4`."""
    package, version, release = (read(values, missing) for read in (_companion, _version, _release))
    if (torch := _torch(values, missing)) is not None:
        return f": {package} {version} for torch {torch}"
    return None if release is None else f": {package} {release} for torch {_target_minor(values, missing)}"


def _target_minor(_values: Values, missing: MissingName) -> str | None:
    """The target's torch: `2.6`."""
    return None if missing.target is None else versions.minor(missing.target.version)


COMPANION_FACTS: Final[Mapping[str, Callable[[Values, MissingName], str | None]]] = {
    "companion": _companion,
    "companion_version": _version,
    "companion_torch": _torch,
    "companion_fit": _fit,
    "companion_release": _release,
    "known_pair": _known_pair,
    "target_minor": _target_minor,
    "torch_there": _torch_there,
    "torchvision_of_torch": _torchvision_of_torch,
}
