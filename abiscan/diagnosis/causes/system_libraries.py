"""libstdcxx-too-old and glibc-too-old: a symbol version that this machine's library does not define.

GCC releases per version: https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html ("Known Versioning"). glibc 2.x
defines GLIBC_2.x. Distributions: glibc and GCC packages from their package lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from abiscan.diagnosis.fixes.libtorch_programs import find_program
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidates
from abiscan.diagnosis.templates.code_causes import row_causes
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


# The GCC of libstdc++6 of each: https://packages.debian.org and https://packages.ubuntu.com.
_GCC_OF = (
    ((10,), "Debian 11, Ubuntu 20.04"), ((12,), "Debian 12, Ubuntu 22.04"), ((14,), "Debian 13, Ubuntu 24.04"),
)  # fmt: skip
# torch's wheels are manylinux_2_28 from 2.6 on, and before for glibc 2.17 (https://pypi.org/project/torch/#files).
_OF_OLD_WHEELS: Final = (2, 17)
# Singularity and Apptainer mount the driver's libraries there (--nv).
_OF_HOST: Final = "/.singularity.d/libs/"
# Package managers that compile with a GCC of their own.
_OF_OTHER_GCC: Final = r"/(?:spack|[Ee]asy[Bb]uild|EBROOT\w*)/"
# An environment of conda, which has a libstdc++ of its own.
_IN_CONDA = r"/(?:envs|\w{0,16}conda\d?|miniforge\d?|mambaforge)/"
_PRIVATE = "GLIBC_PRIVATE"
# The versions of RHEL 5 (2007): glibc 2.5 and GCC 4.1. Every later system defines them.
_OF_EVERY_SYSTEM: Final = {"GLIBC": (2, 5), "GLIBCXX": (3, 4, 8), "CXXABI": (1, 3, 1)}
# Versions that stand for a feature -> glibc that supports it (NEWS of glibc 2.36 and 2.42).
_GLIBC_ABI = {"GLIBC_ABI_DT_RELR": (2, 36), "GLIBC_ABI_GNU_TLS": (2, 42), "GLIBC_ABI_GNU2_TLS": (2, 42)}


def is_symbol_version(text: str) -> bool:
    """Whether a text is a symbol version of a system library (`GLIBCXX_3.4.32`, `GLIBC_2.34`)."""
    return text == _PRIVATE or text in _GLIBC_ABI or re.match(_VERSION, text) is not None


def causes(missing: MissingName) -> Candidates:
    """For an import, or an error, with a version of a system library."""
    wanted = missing.reference.version if missing.reference.version is not None else missing.name
    if wanted == _PRIVATE:
        yield from _two_glibcs(missing)
        return
    if wanted in _GLIBC_ABI:
        yield from _glibc(missing, wanted, _GLIBC_ABI[wanted])
        return
    found = re.match(_VERSION, wanted)
    if found is None:
        return
    numbers = tuple(int(part) for part in found.groups()[1:] if part is not None)
    if numbers <= _OF_EVERY_SYSTEM.get(found[1], ()) and not _is_defined_here(missing, wanted):
        yield from _other_library(missing, wanted, is_glibc=found[1] == "GLIBC")
        return
    match found[1]:
        case "GLIBCXX" | "CXXABI" as family:
            yield from _cxx(missing, wanted, (_GLIBCXX if family == "GLIBCXX" else _CXXABI).get(numbers[-1], ""))
        case "GLIBC":
            yield from _glibc(missing, wanted, numbers)
        case "GCC" | "GFORTRAN" as family:
            runtime = "libgcc_s" if family == "GCC" else "libgfortran"
            shown, libstdcxx = _shown_here(missing, wanted), _newer_libstdcxx(missing, "")
            yield from row_causes(
                "gcc-runtime-too-old", missing, commands=libstdcxx, wanted=wanted, shown=shown, runtime=runtime
            )


def _other_library(missing: MissingName, wanted: str, *, is_glibc: bool) -> Candidates:
    """A version that every libstdc++ or glibc defines: another library is loaded as such."""
    stem = "libc" if is_glibc else "libstdc++"
    module = missing.file.module if missing.file.python is not None or "-packages" in missing.file.path else ""
    yield from row_causes(
        "system-library-of-other-build",
        missing,
        commands={"stem": stem, "module": safe(module, "MODULE")},
        version=wanted,
        symbol="" if missing.reference.version is None else missing.name,
        product="glibc" if is_glibc else "libstdc++",
    )


def _two_glibcs(missing: MissingName) -> Candidates:
    """`version `GLIBC_PRIVATE' not found (required by /x/librt.so.1)`"""
    path, theirs = missing.file.path, missing.file.base_name
    other = missing.reference.library or "the library that lacks it"
    bundled = [
        each
        for each in (path, other)
        if each.startswith("/") and not _is_of_system(each) and owner_of_library(each) is Owner.LIBC
    ]
    copy = safe(bundled[0], "") if bundled else ""
    part = ""
    if not copy and path.endswith(f"/lib/{theirs}") and not _is_of_system(path):
        part = safe("/".join(path.rsplit("/", 3)[-3:]), "")  # the message names the folder in part
    commands = {"copy": copy, "part": part, "or": "or: " if copy or part else ""}
    yield from row_causes("two-glibcs", missing, commands=commands, file=theirs, other=other)


def _defined_here(missing: MissingName) -> Sequence[str] | None:
    """The versions that the library of this machine defines; None if it was not read."""
    return missing.environment.symbol_versions.get((missing.reference.library or "").rsplit("/", 1)[-1])


def _is_defined_here(missing: MissingName, wanted: str) -> bool:
    return wanted in (_defined_here(missing) or ())


def _shown_here(missing: MissingName, wanted: str) -> str:
    """A sentence on what the library of this machine defines, else on what the loader reported; empty for neither."""
    library, defined = missing.reference.library, _defined_here(missing)
    if defined is None:
        return f"The loader reported that {library} does not define it." if library else ""
    if wanted in defined:
        return f"Against it: {library} on this machine defines {wanted}; the process loads another copy."
    same_family = [each for each in defined if each.startswith(f"{wanted.rsplit('_', 1)[0]}_")]
    newest = max(same_family, key=lambda version: [int(part) for part in re.findall(r"\d{1,9}", version)], default="")
    return f"{library} on this machine defines versions up to {newest}." if newest else ""


def _newer_libstdcxx(missing: MissingName, gcc: str) -> dict[str, str]:
    """Values for the ways to load a newer libstdc++, by the file and the copy that is loaded."""
    kind = "other"
    if is_torch_library(missing.file.path):
        kind = "torch"
    elif _is_of_system(missing.reference.library):
        kind = "conda" if re.search(_IN_CONDA, missing.file.path.replace("\\", "/")) is not None else "system"
    copy = f"/usr/lib/{missing.knowledge.machine}-linux-gnu/libstdc++.so.6"
    return {"kind": kind, "libstdcxx": f"'libstdcxx-ng>={gcc}'" if gcc else "libstdcxx-ng", "system_copy": copy}


def _is_of_system(library: str | None) -> bool:
    """Whether the library without the version is that of the system, so that loading it first does not help."""
    return library is not None and library.startswith(("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"))


def _cxx(missing: MissingName, wanted: str, gcc: str) -> Candidates:
    """A version of libstdc++; `gcc`: the first GCC with it."""
    program, is_there = find_program(missing), _is_defined_here(missing, wanted)
    from_source = "" if program is None else program.from_source
    of_other_gcc = re.search(_OF_OTHER_GCC, missing.file.path) is not None
    in_conda = re.search(_IN_CONDA, missing.file.path) is not None
    # conda-forge has none for 32-bit ARM.
    may_upgrade = gcc and _is_of_system(missing.reference.library) and not in_conda
    major = (int(gcc.partition(".")[0]),) if may_upgrade else ()
    of_distribution = _is_of_system(missing.reference.library)  # NixOS has no such folders
    upgrade = next((text for first, text in _GCC_OF if first >= major), "") if may_upgrade else ""
    if missing.file.path.startswith(_OF_HOST):
        yield from row_causes("libstdcxx-of-container", missing, commands={"gcc": gcc}, wanted=wanted)
        return
    yield from row_causes(
        "libstdcxx-too-old",
        missing,
        score=0.6 if is_there else 0.95,
        commands={
            **_newer_libstdcxx(missing, gcc),
            "from_source": from_source,
            "or": "or: " if of_other_gcc else "",
            "or_newer": "or, with a newer libstdc++: " if from_source else "or: " if of_other_gcc else "",
            "older_gcc": "" if from_source else gcc.rpartition(".")[0],
            "systems": f" ({upgrade})" if upgrade else "",
            "major": gcc.partition(".")[0],
        },
        gcc=gcc,
        nix="/nix/store/" in (missing.reference.library or "")
        or (missing.log.system == "nixos" and not of_distribution),
        of_other_gcc=of_other_gcc,
        link_time="yes" if missing.reference.link_time and gcc else "",
        may_upgrade="yes" if may_upgrade and not from_source else "",
        wanted=wanted,
        shown=_shown_here(missing, wanted),
        is_there=is_there,
    )


def _glibc(missing: MissingName, wanted: str, numbers: tuple[int, ...]) -> Candidates:
    is_there = _is_defined_here(missing, wanted)
    release, systems = next((row for row in _GLIBC_OF if row[0] >= numbers[:2]), ((), ""))
    have = f"{systems.replace(', ', ' and ')} {'have' if ',' in systems else 'has'} glibc" if systems else ""
    program, is_newer = find_program(missing), numbers[:2] > _OF_OLD_WHEELS
    of_torch, of_cuda = missing.file.is_torch_itself, owner_of_library(missing.file.path) is Owner.CUDA
    old_program = program.old_glibc if program is not None and is_newer else ""
    # What runs on this distribution comes first: few people can change it.
    kind = "source" if program is not None else "build"
    if of_torch or of_cuda:
        kind = ("torch" if of_torch else "cuda") if is_newer else "container"
    elif missing.file.path.startswith("/nix/store/"):
        kind = "nix"
    least = ".".join(map(str, numbers[:2]))
    yield from row_causes(
        "glibc-too-old",
        missing,
        score=0.6 if is_there else 0.95,
        commands={
            "kind": "host" if missing.file.path.startswith(_OF_HOST) else "program" if old_program else kind,
            "old_program": old_program,
            "source": "" if program is None else program.from_source or program.build,
            "system": f"glibc >= {least}" + (f", such as {systems}" if systems else ""),
            "tag": f"manylinux_{least.replace('.', '_')}",
        },
        have=have and f"{have} {'.'.join(map(str, release))}",
        wanted=wanted,
        shown=_shown_here(missing, wanted),
        is_there=is_there,
    )
