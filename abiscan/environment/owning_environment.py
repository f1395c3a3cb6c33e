"""The Python environment that contains a path: a virtual environment, conda prefix, site-packages or `pip --target`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec.structs import replace

from abiscan.environment.python import PythonEnvironment, list_launchers, read_environment, sites_below
from abiscan.errors import UsageError
from abiscan.filesystem import HERE, FileSystem
from abiscan.model.module_name import module_name
from abiscan.model.python_version import PythonVersion

# Maximum number of parent directories to look at.
_MOST_PARENTS = 64
# Directory in the home directory with the packages of a user (site.USER_BASE).
_USER_BASE = ".local"
_SITE_NAMES = ("site-packages", "dist-packages")
# `lib/python3.11`, `lib64/python3.13t`, above a site-packages (site.getsitepackages).
_LIBRARY = r"(?P<prefix>.*)/lib(?:64)?/python(?P<major>\d)\.(?P<minor>\d{1,2})(?P<threaded>t?)$"


def environments_of(
    path: str, active: PythonEnvironment | None, files: FileSystem = HERE
) -> tuple[PythonEnvironment, ...]:
    """Find the environments that a path is checked in: those of all Pythons of a prefix (`/usr/local`, `~/.local`,
    `pip install --prefix`), otherwise the one that contains or is the path; empty if there is none.

    Args:
        path, active: as for `owning_environment`.
    """
    owner = owning_environment(path, active, files)
    if owner is not None and owner.prefix != path:
        return (owner,)
    sites = () if files.is_file(os.path.join(path, "pyvenv.cfg")) else tuple(sites_below(path, files))
    if owner is not None and len(sites) < 2:
        return (owner,)
    found = (owning_environment(site, active, files) for site in sites)
    return tuple(dict.fromkeys(each for each in found if each is not None))


def owning_environment(
    path: str, active: PythonEnvironment | None, files: FileSystem = HERE
) -> PythonEnvironment | None:
    """Find the environment that contains, or is, a file or directory; None if there is none.

    Args:
        path: absolute.
        active: the environment of the run, which is returned for paths inside it and supplies the interpreter where a
            path has none.
    """
    own = {files.real(site) for site in active.site_packages} if active is not None else set()
    for directory in _parents(path, files):
        if active is not None and files.real(directory) in own:
            return active
        if os.path.basename(directory) in _SITE_NAMES:
            return _of_site(directory, active, files)
        if _is_environment(directory, files, named=directory == path):
            return _read(directory, files)
        installed = _records_torch if directory == path else _holds_torch
        if installed(directory, files) and not _is_torch_of(directory, path):
            # `pip install --target`: packages that an interpreter finds through PYTHONPATH.
            return _without_interpreter(directory, _version_of_modules(directory, files), active, files)
    return None


def _parents(path: str, files: FileSystem) -> Iterator[str]:
    directory = path if files.is_directory(path) else os.path.dirname(path)
    for _ in range(_MOST_PARENTS):
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _is_environment(directory: str, files: FileSystem, *, named: bool) -> bool:
    """Whether it is a virtual environment or a conda prefix; if the user named it, any installation of Python."""
    if files.is_file(os.path.join(directory, "pyvenv.cfg")) or files.is_directory(
        os.path.join(directory, "conda-meta")
    ):
        return True
    return named and any(map(files.is_named, list_launchers(directory)))


def _read(prefix: str, files: FileSystem) -> PythonEnvironment | None:
    try:
        return read_environment(prefix, files=files)
    except UsageError:
        return None  # no interpreter that can be read without running something


def _of_site(site: str, active: PythonEnvironment | None, files: FileSystem) -> PythonEnvironment:
    """The environment of a site-packages: from its own interpreter if one has the version in its path, otherwise from
    the path alone."""
    library = os.path.dirname(site)
    named = re.match(_LIBRARY, library)
    version = _version_of_modules(site, files)
    launchers: list[str] = []
    if named is not None:
        version = PythonVersion(int(named["major"]), int(named["minor"]), bool(named["threaded"]))
        launchers = [os.path.join(named["prefix"], "bin", f"python{part}") for part in (version, "3", "")]
    elif os.path.basename(library).lower() == "lib":  # of Windows
        launchers = list_launchers(os.path.dirname(library))
    user_base = named["prefix"] if named is not None and os.path.basename(named["prefix"]) == _USER_BASE else None
    if user_base is not None and active is not None and active.version == version and active.executable is not None:
        # A virtual environment does not import user packages, and the installation that it was made from does.
        launchers.append(active.executable)
    for launcher in launchers:
        if files.is_file(launcher):
            try:
                found = read_environment(launcher, user_base=user_base, files=files)
            except UsageError:
                continue
            if files.real(site) in {files.real(each) for each in found.site_packages}:
                return found
    return _without_interpreter(site, version, active, files)


def _without_interpreter(
    site: str, version: PythonVersion | None, active: PythonEnvironment | None, files: FileSystem
) -> PythonEnvironment:
    if active is not None and active.version is not None and version in (None, active.version):
        # The active interpreter would import from there; these packages come first, as with PYTHONPATH.
        return replace(active, site_packages=(site, *active.site_packages))
    return PythonEnvironment(None, None, version, site, (site,), None, files)


def _holds_torch(directory: str, files: FileSystem) -> bool:
    return files.is_file(os.path.join(directory, "torch", "version.py")) and files.is_directory(
        os.path.join(directory, "torch", "lib")
    )


def _records_torch(directory: str, files: FileSystem) -> bool:
    """Whether an installer put a torch there; a source tree of torch has the same files without the metadata."""
    return _holds_torch(directory, files) and any(
        name.startswith("torch-") and name.endswith((".dist-info", ".egg-info")) for name in files.names(directory)
    )


def _is_torch_of(directory: str, path: str) -> bool:
    """Whether a path is or is inside the torch of a directory: a source tree of torch itself is not an environment."""
    return f"{path}{os.sep}".startswith(os.path.join(directory, "torch", ""))


def _version_of_modules(site: str, files: FileSystem) -> PythonVersion | None:
    """The CPython of torch's own extension module (`torch/_C.cpython-311-x86_64-linux-gnu.so`)."""
    try:
        names = files.names(os.path.join(site, "torch"))
    except OSError:
        return None
    for name in sorted(names):
        module = module_name(name) if name.startswith("_C.") else None
        if module is not None and module.cpython is not None and module.cpython.rstrip("t").isdigit():
            digits = module.cpython.rstrip("t")
            return PythonVersion(int(digits[0]), int(digits[1:]), module.cpython.endswith("t"))
    return None
