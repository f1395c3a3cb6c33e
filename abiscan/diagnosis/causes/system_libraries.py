"""libstdcxx-too-old and glibc-too-old: a symbol version that this machine's library does not define.

GCC releases per version: https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html ("Known Versioning"). glibc 2.x
defines GLIBC_2.x. Distributions: glibc and GCC packages from their package lists."""

from __future__ import annotations

import re
from typing import Final

from abiscan.diagnosis.fixes import extension_fixes
from abiscan.diagnosis.fixes.libtorch_programs import find_program
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId
from abiscan.model.imports import Owner
from abiscan.ownership.names import owner_of_library
from abiscan.ownership.torch_names import is_torch_library

_VERSION = r"(GLIBCXX|CXXABI|GLIBC|GCC|GFORTRAN|LIBC)_(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?$"

# Last number of GLIBCXX_3.4.N -> first GCC with it.
_GLIBCXX = {
    19: "4.8.3", 20: "4.9.0", 21: "5.1.0", 22: "6.1.0", 23: "7.1.0", 24: "7.2.0", 25: "8.1.0", 26: "9.1.0", 27: "9.2.0",
    28: "9.3.0", 29: "11.1.0", 30: "12.1.0", 31: "13.1.0", 32: "13.2.0", 33: "14.1.0", 34: "15.1.0",
}  # fmt: skip
# Last number of CXXABI_1.3.N -> first GCC with it.
_CXXABI = {
    7: "4.8.0", 8: "4.9.0", 9: "5.1.0", 10: "6.1.0", 11: "7.1.0", 12: "9.1.0", 13: "11.1.0", 14: "13.1.0", 15: "14.1.0",
    16: "15.1.0",
}  # fmt: skip
# glibc of well-known distributions, oldest first.
_GLIBC_OF = (
    ((2, 17), "CentOS 7"),
    ((2, 27), "Ubuntu 18.04"), ((2, 28), "RHEL 8, Debian 10"), ((2, 31), "Ubuntu 20.04, Debian 11"),
    ((2, 34), "RHEL 9"),
    ((2, 35), "Ubuntu 22.04"), ((2, 36), "Debian 12"), ((2, 39), "Ubuntu 24.04, RHEL 10"),
    ((2, 41), "Debian 13"),
)  # fmt: skip


# An environment of conda, which has a libstdc++ of its own.
_IN_CONDA = r"/(?:envs|\w{0,16}conda\d?|miniforge\d?|mambaforge)/"
_PRIVATE = "GLIBC_PRIVATE"
# Versions that stand for a feature -> glibc that supports it (NEWS of glibc 2.36 and 2.42).
_GLIBC_ABI = {"GLIBC_ABI_DT_RELR": (2, 36), "GLIBC_ABI_GNU_TLS": (2, 42), "GLIBC_ABI_GNU2_TLS": (2, 42)}


def is_symbol_version(text: str) -> bool:
    """Whether a text is a symbol version of a system library (`GLIBCXX_3.4.32`, `GLIBC_2.34`)."""
    return text == _PRIVATE or text in _GLIBC_ABI or re.match(_VERSION, text) is not None


def causes(missing: MissingName) -> Candidates:
    """For an import, or an error, with a version of a system library."""
    wanted = missing.reference.version if missing.reference.version is not None else missing.name
    if wanted == _PRIVATE:
        yield _two_glibcs(missing)
        return
    if wanted in _GLIBC_ABI:
        yield _glibc(missing, wanted, _GLIBC_ABI[wanted], _defined(missing))
        return
    found = re.match(_VERSION, wanted)
    if found is None:
        return
    family = found[1]
    numbers = tuple(int(part) for part in found.groups()[1:] if part is not None)
    defined = _defined(missing)
    if family in ("GLIBCXX", "CXXABI"):
        yield _cxx(missing, wanted, family, numbers, defined)
    elif family == "GLIBC":
        yield _glibc(missing, wanted, numbers, defined)
    elif family in ("GCC", "GFORTRAN"):
        evidence = [
            f"{wanted} is a symbol version of {'libgcc_s' if family == 'GCC' else 'libgfortran'}, a GCC "
            f"runtime library."
        ]
        yield Candidate(
            CauseId.LIBSTDCXX_TOO_OLD, 0.7, tuple(evidence + _found(missing, wanted, defined)), _cxx_fix(missing)
        )


def _two_glibcs(missing: MissingName) -> Candidate:
    """`version `GLIBC_PRIVATE' not found (required by /x/librt.so.1)`"""
    theirs = missing.file.base_name or "the library that imports it"
    other = missing.reference.library or "the library that lacks it"
    evidence = (
        f"Two glibc releases are mixed: {theirs} and {other} are from different ones.",
        f"{_PRIVATE} marks symbols that only libraries of the same glibc use.",
        "One of them is bundled with a package, or is in a directory that is searched first.",
    )
    fix = (
        "echo $LD_LIBRARY_PATH $LD_PRELOAD; find / -name 'libc.so.6' -o -name 'librt.so.1' 2>/dev/null  # lists the "
        "copies\nRemove the directory with the other copy from the search path: use one glibc only."
    )
    bundled = [each for each in (missing.file.path, other) if each.startswith("/") and not _is_of_system(each)]
    if bundled and (path := safe(bundled[0], "")):
        fix = f"mv {path} {path}.bak  # a package's own copy: the one of the system is then loaded\nor: {fix}"
    elif (path := missing.file.path).endswith(f"/lib/{theirs}") and not _is_of_system(path):
        folder = path.rsplit("/", 3)[-3]  # the message names the folder in part
        if named := safe(f"{folder}/lib/{theirs}", ""):
            found = f"find / -path '*/{named}' 2>/dev/null  # a package's own copy: rename it (mv FILE FILE.bak)"
            fix = f"{found}; the one of the system is then loaded\nor: {fix}"
    return Candidate(CauseId.GLIBC_TOO_OLD, 0.7, evidence, fix)


def _defined(missing: MissingName) -> tuple[str, ...] | None:
    if missing.environment is None or missing.reference.library is None:
        return None
    soname = missing.reference.library.rsplit("/", 1)[-1]
    versions = missing.environment.symbol_versions.get(soname)
    return None if versions is None else tuple(versions)


def _found(missing: MissingName, wanted: str, defined: tuple[str, ...] | None) -> list[str]:
    library = missing.reference.library or "the library that was loaded"
    if defined is None:
        return [f"The loader reported that {library} does not define it."] if missing.reference.library else []
    if wanted in defined:
        return [f"Against it: {library} on this machine defines {wanted}; the process loads another copy."]
    family = wanted.rsplit("_", 1)[0] + "_"
    mine = sorted((v for v in defined if v.startswith(family)), key=_numbers)
    return [f"{library} on this machine defines versions up to {mine[-1]}."] if mine else []


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version))


def _cxx_fix(missing: MissingName, gcc: str | None = None) -> str:
    wanted = "libstdcxx-ng" if gcc is None else f"'libstdcxx-ng>={gcc}'"
    conda = f"conda install -c conda-forge {wanted}  # in a conda environment"
    if is_torch_library(missing.file.path):
        # Wheels of torch need only versions of their manylinux: this torch is of conda, or was built by a newer GCC.
        return (
            f"{conda}\nexport LD_LIBRARY_PATH=$CONDA_PREFIX/lib  # if an older copy is still loaded\n"
            "or: import torch first  # before the package that loads the older copy: the first one stays loaded"
        )
    if _is_of_system(missing.reference.library):
        first = "\nor: import the package with this file before torch  # its own libstdc++ is then loaded first"
        in_conda = re.search(_IN_CONDA, missing.file.path.replace("\\", "/")) is not None
        return (
            f"{conda}\nexport LD_LIBRARY_PATH=$CONDA_PREFIX/lib  # if the system copy is still loaded"
            f"{first if in_conda else ''}"
        )
    system = f"/usr/lib/{missing.knowledge.machine}-linux-gnu/libstdc++.so.6"
    return f"{conda}\nor: export LD_PRELOAD={system}  # if this copy is newer (strings {system} | grep GLIBCXX)"


# The GCC of libstdc++6 of each: https://packages.debian.org and https://packages.ubuntu.com.
_GCC_OF: Final = (
    ((10,), "Debian 11, Ubuntu 20.04"), ((12,), "Debian 12, Ubuntu 22.04"), ((14,), "Debian 13, Ubuntu 24.04"),
)  # fmt: skip


def _newer_system(missing: MissingName, gcc: str) -> str:
    """Another system or wheel, for a library of the system; conda-forge has none for 32-bit ARM."""
    if not _is_of_system(missing.reference.library) or re.search(_IN_CONDA, missing.file.path) is not None:
        return ""
    wanted = (int(gcc.partition(".")[0]),)
    has = next((text for first, text in _GCC_OF if first >= wanted), "")
    upgrade = f"or, without conda (a Raspberry Pi: uname -m prints armv7l): a system with it{has and f' ({has})'}"
    return f"{upgrade}, or a wheel of the package that was built on yours\n"


def _is_of_system(library: str | None) -> bool:
    """Whether the library without the version is that of the system, so that loading it first does not help."""
    return library is not None and library.startswith(("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"))


def _needs(library: str, wanted: str, since: str, defined: tuple[str, ...] | None) -> str:
    """The headline: which version is too old, unless a copy here defines it."""
    too_old = "" if defined is not None and wanted in defined else f"The loaded {library} is too old: "
    return f"{too_old}{'the' if too_old else 'The'} file needs {wanted}{since}."


def _cxx(
    missing: MissingName, wanted: str, family: str, numbers: tuple[int, ...], defined: tuple[str, ...] | None
) -> Candidate:
    gcc = (_GLIBCXX if family == "GLIBCXX" else _CXXABI).get(numbers[-1])
    evidence = [_needs("libstdc++", wanted, f" (GCC {gcc})" if gcc else "", defined)]
    evidence += _found(missing, wanted, defined)
    fix = _cxx_fix(missing, gcc)
    program = find_program(missing)
    if program is not None and program.from_source:
        fix = f"{program.from_source}\nor, with a newer libstdc++: {fix}"
    elif gcc is not None:
        fix += f"\n{_newer_system(missing, gcc)}or: Build the file with a GCC older than {gcc.rsplit('.', 1)[0]}."
    if re.search(_OF_OTHER_GCC, missing.file.path) is not None:
        fix = f"{_LOAD_OF_GCC}\nor: {fix}"
    score = 0.6 if defined is not None and wanted in defined else 0.95
    return Candidate(CauseId.LIBSTDCXX_TOO_OLD, score, tuple(evidence), fix)


# Package managers that compile with a GCC of their own.
_OF_OTHER_GCC: Final = r"/(?:spack|[Ee]asy[Bb]uild|EBROOT\w*)/"
_LOAD_OF_GCC: Final = (
    "export LD_LIBRARY_PATH=$(dirname $(g++ -print-file-name=libstdc++.so.6)):$LD_LIBRARY_PATH  # of the GCC that "
    "compiled the file: load its module first (module load gcc, spack load gcc)"
)


# torch's wheels are manylinux_2_28 from 2.6 on, and before for glibc 2.17 (https://pypi.org/project/torch/#files).
_OF_OLD_WHEELS: Final = (2, 17)


def _for_older_glibc(missing: MissingName, numbers: tuple[int, ...], tag: str) -> str:
    program = find_program(missing)
    if program is not None and program.old_glibc and numbers[:2] > _OF_OLD_WHEELS:
        return program.old_glibc
    if missing.file.is_torch_itself and numbers[:2] > _OF_OLD_WHEELS:
        return (
            'pip install "torch<2.6"  # wheels for glibc 2.17\n'
            "or, of libtorch: an archive up to 2.6 without cxx11-abi in its name, which is for glibc 2.17"
        )
    of_cuda = owner_of_library(missing.file.path) is Owner.CUDA
    if of_cuda and numbers[:2] > _OF_OLD_WHEELS:
        return 'pip install "torch<2.6"  # with the CUDA libraries that its wheels require, for glibc 2.17'
    if of_cuda or missing.file.is_torch_itself:
        return (
            "Run it in a container: apptainer exec --nv docker://pytorch/pytorch:latest python ...  # no wheel of "
            "torch, or of CUDA's libraries, is for an older glibc"
        )
    if program is not None:
        return f"Build it on this system: {program.from_source or program.build}"
    return (
        f"Build it on this system: {extension_fixes.rebuild(missing)}\n"
        f"or install an older release or another wheel of the package, with an older tag than {tag}"
    )


# Singularity and Apptainer mount the driver's libraries there (--nv).
_OF_HOST: Final = "/.singularity.d/libs/"


def _glibc(missing: MissingName, wanted: str, numbers: tuple[int, ...], defined: tuple[str, ...] | None) -> Candidate:
    first = next((row for row in _GLIBC_OF if row[0] >= numbers[:2]), None)
    evidence = [_needs("glibc", wanted, "", defined)]
    if first is not None:
        version, has = first
        verb = "have" if "," in has else "has"
        evidence.append(f"{has.replace(', ', ' and ')} {verb} glibc {'.'.join(map(str, version))}.")
    evidence += _found(missing, wanted, defined)
    tag = f"manylinux_{numbers[0]}_{numbers[1]}"
    least = ".".join(map(str, numbers[:2]))
    system = f"glibc >= {least}" + (f", such as {first[1]}" if first else "")
    score = 0.6 if defined is not None and wanted in defined else 0.95
    if missing.file.path.startswith(_OF_HOST):
        evidence.append("--nv puts the driver's libraries of the host into the container, which has an older glibc.")
        fix = f"Build the container from an image with {system}\nor, for programs without the GPU: run it without --nv"
        return Candidate(CauseId.GLIBC_TOO_OLD, score, tuple(evidence), fix)
    # What runs on this distribution comes first: few people can change it.
    fix = f"{_for_older_glibc(missing, numbers, tag)}\nor use a distribution (or container image) with {system}"
    return Candidate(CauseId.GLIBC_TOO_OLD, score, tuple(evidence), fix)
