"""Programs without Python (Rust, Ruby, Java, R, C++) and the commands that give them another libtorch."""

from __future__ import annotations

from typing import Final

from abiscan.diagnosis.catalogue.load_packages import package_of_file, program_of_text, programs_by_id
from abiscan.diagnosis.catalogue.package_row import Program
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.wheel_rows import is_on_windows, platform_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model import versions
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.names import is_python_name

_ARCHIVES: Final = "https://download.pytorch.org/libtorch/VARIANT/libtorch-{abi}shared-with-deps-{torch}%2BVARIANT.zip"
_EXTENSIONS: Final = (".so", ".dylib", ".pyd", ".dll")
# In the folders of pip: a file that Python loads.
_OF_PIP: Final = ("site-packages", "dist-packages")
# The archives of later releases have the C++11 std::string whatever their names say
# (https://docs.pytorch.org/cppdocs/installing.html, 2026-11-26).
_FIRST_WITHOUT_NAME: Final = (2, 8)
# macOS has one archive a processor from 2.2 on, and before only one, for Intel
# (https://github.com/pytorch/test-infra/pull/4851, 2023-12-29); the wheels for arm64 begin with 1.10.
_FOR_MACOS: Final = "https://download.pytorch.org/libtorch/cpu/libtorch-macos-{processor}{torch}.zip"
FIRST_FOR_ARM: Final = (2, 2)
_FOR_WINDOWS: Final = (
    "https://download.pytorch.org/libtorch/VARIANT/libtorch-win-shared-with-deps-{torch}%2BVARIANT.zip  # VARIANT: cpu "
    "or cu126, ...; a program of MSVC's Debug configuration: -with-deps-debug-"
)
_WHEEL_FOR_MACOS: Final = (
    "Apple silicon: that archive is for Intel, and the linker skips it. Use the torch of pip, which has the same "
    "libraries for arm64: pip install torch=={torch}; export LIBTORCH=$(python -c 'import torch, os; "
    "print(os.path.dirname(torch.__file__))') DYLD_LIBRARY_PATH=$LIBTORCH/lib"
)


def find_program(missing: MissingName) -> Program | None:
    """The kind of program that loads the file; None for Python, or if unknown."""
    path = missing.file.path
    if missing.file.distribution is not None or any(folder in path for folder in _OF_PIP):
        return program_of_text(missing.file.base_name)  # of a binding that loads the torch of pip
    found = program_of_text(path) if path else None
    if found is None and missing.is_torch_name:
        found = find_linked_program(missing)
    named = _is_extension(missing) or any(extension in path for extension in (*_EXTENSIONS, "python"))
    if (
        found is None
        and ("/" in path or (missing.file.is_program and missing.cxx is not None and safe(path, "")))
        and not named
    ):
        found = programs_by_id()["c++"] if not missing.log.program else None
    return found or programs_by_id().get(missing.log.program)


def _is_extension(missing: MissingName) -> bool:
    """Whether a file that was read is in the folder of a known package, or imports from CPython. A library of the
    stable ABI, which torch loads, imports nothing of it."""
    facts = missing.file.facts
    if facts is None:
        return False
    return package_of_file(facts.path) is not None or any(is_python_name(each.name) for each in facts.imports)


def find_linked_program(missing: MissingName) -> Program | None:
    """The kind of program that a linker of Linux or macOS made; None for a module of Python, which setuptools lets it
    leave with undefined symbols."""
    log = missing.log
    of_python = log.project or log.projects or log.python or log.is_compiled_at_first_use or log.is_python_build
    is_elsewhere = missing.reference.msvc or is_on_windows(missing) or log.program not in ("", None, "c++")
    return programs_by_id()["c++"] if missing.reference.link_time and not of_python and not is_elsewhere else None


def use_libtorch(
    missing: MissingName, program: Program, ranges: ReleaseRanges, *, new_string: bool | None = None
) -> str:
    """The release of libtorch for a program, and the command that builds it for that.

    Args:
        ranges: the releases that export the symbol; empty if unknown.
        new_string: whether the program is compiled with the C++11 std::string; None if that is not the question.
    """
    newest = missing.known_versions[-1] if missing.known_versions else ""
    release = ranges.last if ranges and ranges.last != newest else "VERSION"
    wanted = f", one of {ranges.text(last=' or ')}" if ranges else ""
    macos = missing.macho or missing.reference.macos or platform_of(missing) == "macosx"
    if missing.reference.msvc or is_on_windows(missing):
        archive = _FOR_WINDOWS.format(torch=release)
    else:
        archive = _archive_for_macos(release) if macos else _archive(release, new_string=new_string)
    lines = [program.release.format(torch=wanted, archive=archive), program.build]
    if macos and "{archive}" in program.release:
        lines.insert(0, "uname -m; file /path/to/libtorch/lib/libtorch_cpu.dylib  # must be for the same processor")
        if (versions.order(release) or FIRST_FOR_ARM)[:2] < FIRST_FOR_ARM:
            lines.insert(2, _WHEEL_FOR_MACOS.format(torch=release))
    if new_string is not None and program.abi:
        lines.append(f"or: {program.abi}")
    return "\n".join(lines)


def load_libtorch(missing: MissingName, torch: str) -> str:
    """How to find another libtorch that a program loads, and to load the release that it was built with."""
    return (
        f"ldd {safe(missing.file.path, 'PROGRAM')} | grep -E 'torch|c10'  # the files that the loader takes: all must "
        f"be those of libtorch {torch}\n"
        "export LD_LIBRARY_PATH=/path/to/libtorch/lib  # of that libtorch, in place of the folders of another"
    )


def _archive_for_macos(release: str) -> str:
    at = versions.order(release)
    is_old = at is not None and at[:2] < FIRST_FOR_ARM
    archive = _FOR_MACOS.format(processor="" if is_old else "arm64-", torch=release)
    return archive if is_old else f"{archive}  # Intel: x86_64 for arm64"


def _archive(release: str, *, new_string: bool | None) -> str:
    at = versions.order(release)
    abi = "" if new_string is False or (at is not None and at[:2] >= _FIRST_WITHOUT_NAME) else "cxx11-abi-"
    return f"{_ARCHIVES.format(abi=abi, torch=release)}  # VARIANT: cpu or cu126, ..."
