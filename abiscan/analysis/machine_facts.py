"""Facts about this machine and environment for a diagnosis; read only if something is missing."""

from __future__ import annotations

import os

from abiscan.diagnosis.knowledge import Environment
from abiscan.environment.installed_torch import find_torches
from abiscan.environment.python import PythonEnvironment
from abiscan.loader import Loader
from abiscan.releases.companions import COMPANIONS

# Libraries whose symbol versions decide whether a file loads.
_VERSIONED = ("libstdc++.so.6", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libgomp.so.1")
# Distributions of CUDA and ROCm libraries, and those that are released with torch.
_PACKAGE_PREFIXES = (
    *("nvidia_", "nvidia-", "torch-", "triton-", "pytorch_triton"),
    *(f"{package}-" for package in sorted(COMPANIONS)),
)
# Directories of GPU toolkits that are not installed by a package.
_TOOLKITS = (
    ("/usr/local", "cuda", "lib64"),
    ("/usr/local", "cuda-*", "lib64"),
    ("/opt", "rocm", "lib"),
    ("/opt", "rocm-*", "lib"),
)
_MAX_FILES = 5000


def machine_facts(environment: PythonEnvironment, loader: Loader) -> Environment:
    """The facts about an environment that causes use."""
    return Environment(
        python=environment.version,
        symbol_versions=_symbol_versions(loader),
        libraries=_gpu_libraries(environment),
        packages=_packages(environment),
        torches=find_torches(environment),
    )


def _symbol_versions(loader: Loader) -> dict[str, tuple[str, ...]]:
    versions = {}
    for soname in _VERSIONED:
        found = loader.find(soname)
        if found is not None:
            versions[soname] = found[1].version_definitions
    return versions


def _gpu_libraries(environment: PythonEnvironment) -> dict[str, str]:
    """soname -> path of the libraries of CUDA and ROCm packages and toolkits on this machine."""
    files = environment.files
    folders = [
        folder
        for site in environment.site_packages
        for package in files.matching(os.path.join(site, "nvidia"), "*")
        for folder in files.matching(package, "lib")
    ]
    folders += [
        folder
        for parent, toolkit, lib in _TOOLKITS
        for place in files.matching(parent, toolkit)
        for folder in files.matching(place, lib)
    ]
    found: dict[str, str] = {}
    for folder in folders:
        try:
            names = sorted(files.names(folder))[:_MAX_FILES]
        except OSError:
            continue
        for name in names:
            if name.startswith("lib") and ".so" in name:
                found.setdefault(name, os.path.join(folder, name))
    return found


def _packages(environment: PythonEnvironment) -> dict[str, str]:
    """Versions of these distributions, from the names of their metadata directories."""
    found: dict[str, str] = {}
    for directory in environment.site_packages:
        try:
            names = environment.files.names(directory)
        except OSError:
            continue
        for name in sorted(names):
            if name.endswith(".dist-info") and name.startswith(_PACKAGE_PREFIXES):
                distribution, _, version = name.removesuffix(".dist-info").rpartition("-")
                found.setdefault(distribution.replace("_", "-"), version)
    return found
