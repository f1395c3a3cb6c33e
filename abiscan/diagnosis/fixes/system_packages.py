"""Commands that install a library of the system, or its headers, by the names of its files."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache

from abiscan.diagnosis.catalogue.load_packages import load_packages
from abiscan.diagnosis.catalogue.package_row import SystemLibrary, VersionedLibrary

_SONAME = r"(?P<stem>lib[\w+.-]*?)\.so(?:\.(?P<version>(?P<major>\d+)[\d.]*))?"
_DYLIB = r"(?P<stem>lib[\w+-]+?)(?:\.[\d.]+)?\.dylib"
_CONDA = "conda install -c conda-forge"
# https://github.com/nix-community/nix-index-database (read 2026-11-28).
_NIX_LOCATE = "nix --extra-experimental-features 'nix-command flakes' run github:nix-community/nix-index-database"


def library_of_file(name: str) -> SystemLibrary | None:
    """The library of the catalogue that has a file of this name (`libaio.so.1`); None if there is none."""
    if name.endswith(".dll"):
        return _library_named(name, "")
    found = re.fullmatch(_SONAME, name) or re.fullmatch(_DYLIB, name)
    return None if found is None else _library_named(name, found["stem"])


def _library_named(name: str, stem: str) -> SystemLibrary | None:
    """The first library with this file, or with this name of its files without `.so`."""
    rows = load_packages().library
    return next((row for row in rows if any(_is_named(each, name, stem) for each in row.names)), None)


def _is_named(pattern: str, name: str, stem: str) -> bool:
    if ".so" in pattern:
        return fnmatchcase(f"{name}.", f"{pattern}.*")
    return fnmatchcase(name if pattern.endswith((".dll", ".dylib")) else stem, pattern)


def library_of_version(version: str) -> VersionedLibrary | None:
    """The library that defines a symbol version; None if it is not in the catalogue."""
    return next((row for start, row in load_packages().version.items() if version.startswith(start)), None)


@cache
def library_of_header(header: str) -> SystemLibrary | None:
    """The library of the catalogue that has a header (`google/dense_hash_map`); None if there is none."""
    return next(
        (
            row
            for row in load_packages().library
            if any(header == each or (each.endswith("/") and header.startswith(each)) for each in row.headers)
        ),
        None,
    )


def library_of_cmake(package: str) -> SystemLibrary | None:
    """The library of the catalogue that CMake's find_package has by this name; None if there is none."""
    name = package.lower()
    named = [row for row in load_packages().library if row.headers and name in (row.id, row.cmake.lower())]
    return max(named, key=lambda row: row.cmake.lower() == name, default=None)


def install_file(name: str, *, jetson: bool = False, system: str = "") -> tuple[str, ...]:
    """The commands that install the library with this file, the best first.

    For a file that the catalogue does not have, the commands that look for its package.

    Args:
        jetson: the machine is a Jetson.
        system: as in `LogFacts`; Debian and Fedora if it is empty.
    """
    row = library_of_file(name)
    if jetson and row is not None and row.jetson:
        return (row.jetson,)
    macos = name.endswith(".dylib")
    if ".so." in name and (row is None or row.apt or row.dnf) and (of_system := _of_system(name, row, system)):
        ways = () if row is None else (f"or: {_CONDA} {row.conda}" if row.conda else "", row.note)
        return (*of_system, *filter(None, ways))
    if row is None:
        search = f"apt-get install -y apt-file && apt-file update && apt-file search {name}"
        other = f"  # its package in Debian, Ubuntu; Fedora: dnf provides '*/{name}'"
        return () if macos or ".so" not in name else (search + other,)
    if macos and row.pip and row.conda and not row.brew:
        # Homebrew has no formula for Intel's libraries.
        return (f"{_CONDA} {row.conda}", f"or: pip install {row.pip}")
    if macos and row.note and not row.brew and not row.conda:
        return (row.note,)
    if macos:
        brew = f"brew install {row.brew or row.conda or row.id}"
        folder = f"$({brew.replace('install', '--prefix')})/lib"
        beside = f'where its path begins with @rpath: ln -s "{folder}/{name}" DIRECTORY  # of the file that needs it'
        searched = f"or: export DYLD_FALLBACK_LIBRARY_PATH={folder}  # dyld looks there for what it does not find"
        return (brew, beside, searched, *([f"or: {_CONDA} {row.conda}"] if row.conda else []))
    if name.endswith(".dll"):
        return (f"pip install {row.pip}", f"or: {_CONDA} {row.conda}", row.windows)
    found = re.fullmatch(_SONAME, name)
    major = None if found is None else found["major"]
    return _ways(row, row.apt, row.dnf, row.pip, major)


def _of_system(name: str, row: SystemLibrary | None, system: str) -> tuple[str, ...]:
    """The commands of a package manager other than Debian's for the library with a file; empty for Debian's.

    The packages of Fedora and SUSE provide `libz.so.1()(64bit)`. NixOS has no folder that the loader searches."""
    match system:
        case "nixos":
            found = "PACKAGE" if row is None or not row.nix else row.nix
            locate = f"{_NIX_LOCATE} lib/{name}  # prints its package"
            folder = f"$(nix-build '<nixpkgs>' -A {found} --no-out-link)/lib"
            library_path = f'export LD_LIBRARY_PATH="{folder}:$LD_LIBRARY_PATH"'
            loader = (
                "or, for a Python that is not of Nix (uv, conda), in configuration.nix: programs.nix-ld.enable = true; "
                f"programs.nix-ld.libraries = [ pkgs.{found} ];  # then: sudo nixos-rebuild switch"
            )
            return (*([locate] if found == "PACKAGE" else []), library_path, loader)
        case "arch":
            return (f"sudo pacman -Fy && pacman -F {name}  # prints its package; then: sudo pacman -S PACKAGE",)
        case "suse":
            return (f"sudo zypper install '{name}()(64bit)'",)
        case "fedora":
            return (f"sudo dnf install '{name}()(64bit)'  # yum, where there is no dnf",)
    return ()


def install_headers(row: SystemLibrary, platform: str = "linux_x86_64") -> tuple[str, ...]:
    """The commands that install the headers of a library, and the name for a link editor.

    Args:
        platform: as in wheel tags; only Linux has apt and dnf.
    """
    linux = platform.startswith("linux")
    apt, dnf = (row.apt_headers or row.apt, row.dnf_headers or row.dnf) if linux else ("", "")
    return _ways(row, apt, dnf, row.pip, None)


def _ways(row: SystemLibrary, apt: str, dnf: str, pip: str, major: str | None) -> tuple[str, ...]:
    ways = [row.first] if row.first else []
    if pip:
        ways.append(f"pip install {_with(pip, major)}")
    if apt and (major is not None or "{major}" not in apt):
        other = f"; Fedora: dnf install {_with(dnf, major)}" if dnf else ""
        ways.append(f"apt-get install -y {_with(apt, major)}  # Debian, Ubuntu{other}")
    elif dnf and not pip:
        ways.append(f"dnf install {_with(dnf, major)}  # Fedora")
    if row.conda:
        ways.append(f"{_CONDA} {row.conda}")
    lines = [*ways[:1], *(f"or: {way}" for way in ways[1:])]
    return (*lines, *([row.note] if row.note else []))


def _with(packages: str, major: str | None) -> str:
    # `"tensorrt=={major}.*"` without a number is any release.
    if major is None:
        return packages.replace("=={major}.*", "").replace("{major}", "")
    return packages.replace("{major}", major)
