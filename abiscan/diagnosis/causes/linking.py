"""libtorch-python-not-linked, import-torch-first, library-not-linked for torch symbols: exported, but not found.

CPython opens extensions with RTLD_LOCAL, and `import torch` does the same with its libraries. A library that a file
does not list as needed is not in its scope, even if it is loaded. A needed soname that is loaded is not opened
again."""

from __future__ import annotations

from abiscan.diagnosis.fixes import extension_fixes, torch_fixes
from abiscan.diagnosis.fixes.package_commands import find_package
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.wheel_rows import is_on_windows
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.release_position import Position
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.imports import Status
from abiscan.model.platforms import OperatingSystem, system_of
from abiscan.ownership.torch_names import is_torch_library, torch_stem
from abiscan.releases import companions
from abiscan.releases.build import loaded_globally

_PYTHON_LIBRARY = "libtorch_python"
# The last CPython of torch 1.4 is 3.8, for which most extensions were built later.
_LAST_PYTHON = (3, 7)


def causes(missing: MissingName) -> Candidates:
    """For a symbol that the target exports, or may export."""
    # An app on Android has no Python and ships its libraries: only their releases can differ.
    if not missing.is_torch_name or missing.file.is_torch_itself or extension_fixes.is_of_android(missing):
        return
    if missing.reference.before_torch:
        yield from row_causes("torch-not-yet-imported", missing, module=_module(missing))
    unfound = [each for each in missing.reference.unfound if is_torch_library(each)]
    if unfound:
        yield from row_causes("ldd-did-not-find-torch", missing, unfound=", ".join(unfound))
    library = _library_of(missing)
    if library is None:
        open_there = missing.knowledge.exports is None and not missing.reference.link_time
        if open_there and not missing.exported_in and not missing.related and _may_be_global(missing):
            oldest = missing.known_versions[0] if missing.known_versions else "1.0"
            yield from row_causes("torch-symbol-from-before-index", missing, module=_module(missing), oldest=oldest)
        if missing.reference.link_time and missing.reference.msvc and not missing.exported_in:
            yield from row_causes("torch-symbol-in-no-import-library", missing)
        return
    if not _may_be_exported(missing):
        return
    is_linux = system_of(missing.knowledge.machine) is OperatingSystem.LINUX
    stranger = next((path for path in missing.knowledge.strangers if path.rpartition("/")[2] == library), None)
    if stranger is not None:
        yield from row_causes("torch-library-replaced", missing, library=library, stranger=stranger)
    elif missing.reference.status is Status.UNREACHABLE and not is_linux:
        # A file that records the library of each symbol was linked with another torch.
        yield from row_causes("torch-symbol-in-other-library", missing, library=library)
    elif missing.reference.msvc and not missing.reference.link_time and not missing.reference.bare:
        # A message of Windows: each import of a file names a DLL, which was found.
        if missing.target_library is not None and not is_linux:
            exported = _exported(missing, library)
            yield from row_causes("other-copy-of-dll-found", missing, library=library, exported=exported)
    else:
        yield from _not_in_scope(missing, library)


def _library_of(missing: MissingName) -> str | None:
    """The library of torch that exports the symbol; of macOS, the one with its counterpart on Linux."""
    library = missing.reference.provider or missing.target_library or next(iter(missing.libraries), None)
    counterpart = missing.linux_counterpart if library is None and missing.reference.link_time else None
    if counterpart is None or counterpart.library is None:
        return library
    return counterpart.library.split(".so")[0] + ".dylib"


def _may_be_exported(missing: MissingName) -> bool:
    """Whether the target may export the symbol."""
    elsewhere = missing.position in (Position.BEFORE, Position.AFTER, Position.GAP, Position.NEVER)
    if elsewhere and not missing.knowledge.target_is_before_index:
        return False
    known = missing.target_library is not None or missing.reference.provider is not None
    return known or not missing.knowledge.exact


def _not_in_scope(missing: MissingName, library: str) -> Candidates:
    """The file does not link the library, or is loaded before it."""
    python_only = torch_stem(library) == _PYTHON_LIBRARY
    base = _base_score(missing, python_only)
    at_link_time = missing.reference.link_time
    if missing.target is not None and _may_be_global(missing) and not at_link_time:
        # Loaded libraries are in the global scope there.
        yield _import_first(missing, library, base + 0.1, python_only)
        if python_only:
            yield from _python(missing, library, base - 0.1)
        return
    releases = missing.exported_in
    if missing.target is None and releases and loaded_globally(releases.last) and not at_link_time:
        yield _import_first(missing, library, 0.42, python_only)
        return
    yield from (_python if python_only else _plain)(missing, library, base)
    if not at_link_time:
        yield _import_first(missing, library, base, python_only)


def _base_score(missing: MissingName, python_only: bool) -> float:
    """The score of a symbol that is exported and not found, before what decides between its causes."""
    # If the index knows no older torch, a symbol that every known release exports most likely existed before.
    always = len(missing.exported_in or ()) == 1 and missing.in_oldest_known and missing.in_newest_known
    if missing.reference.status is Status.UNREACHABLE or (
        missing.target_library is not None and missing.knowledge.exports is not None
    ):
        base = 0.6
    elif missing.position is Position.INSIDE:
        # The version of a nightly is in a range without being one of its builds.
        base = 0.5 if versions.is_release(missing.target_version) else 0.4
    elif missing.target is None and missing.exported_in:
        # torch's build tools link its libraries: in most reports with an unknown torch, it lacked the symbol; few files
        # do not link torch. A linker has the library of the same headers, and loaders do not print MSVC names.
        alike = always or missing.reference.link_time or missing.reference.msvc
        base = (0.44 if alike else 0.25) - (0.0 if python_only else 0.1)
    else:
        base = 0.44 if always else 0.25
    if missing.knowledge.target_from_source and not missing.reference.link_time and missing.file.facts is None:
        # A published file links its libraries: the source build lacks the symbol.
        base -= 0.2
    # dyld names a library in most of its messages: few are about a file that does not link it.
    return base - 0.15 if missing.macho else base


def _may_be_global(missing: MissingName) -> bool:
    """Whether the torch may be a release that loads its libraries with RTLD_GLOBAL."""
    return missing.target is None or loaded_globally(missing.target.version)


def _exported(missing: MissingName, library: str) -> str:
    if missing.target is None and missing.exported_in:
        return f"torch {missing.exported_in.text()} exports {missing.shown} in {library}."
    if missing.target_library is not None and missing.knowledge.exports is not None:
        return f"{missing.target_label} exports {missing.shown} in {library}."
    if missing.exported_in:
        return f"{missing.shown} is exported in {library} by torch {missing.exported_in.text()}."
    return f"{missing.shown} is exported in {library}."


def _unlisted(missing: MissingName, library: str) -> str:
    return f"The file does not list {library} as needed: {', '.join(missing.file.needed)}."


def _python(missing: MissingName, library: str, base: float) -> Candidates:
    if library in missing.file.needed:
        return
    evidence = [_exported(missing, library)]
    if missing.file.facts is not None:
        evidence.append(_unlisted(missing, library))
        score = 0.95
    else:
        evidence.append(
            "TORCH_LIBRARIES in CMake does not contain libtorch_python; torch.utils.cpp_extension links it."
        )
        # A linker has the library of the same headers, and no other possible reason.
        bonus = 0.0 if _is_of_early_setuptools(missing) else 0.22
        score = max(base + bonus, 0.7) if missing.reference.link_time else base + bonus
        if missing.target is None and _is_named_by_cmake(missing.file.path):
            score = max(score, 0.68)
    flags = _flags(missing, "torch_python")
    fix = (
        f"Link it: {flags}. In CMake:\n"
        'find_library(TORCH_PYTHON_LIBRARY torch_python PATHS "${TORCH_INSTALL_PREFIX}/lib")\n'
        "target_link_libraries(NAME ${TORCH_LIBRARIES} ${TORCH_PYTHON_LIBRARY})"
    )
    if missing.reference.link_time:
        # https://docs.pytorch.org/cppdocs/installing.html
        fix += (
            "\nThe archives of libtorch for C++ do not contain it: take all libraries of torch from the torch of pip, "
            "or include <torch/torch.h> in place of <torch/extension.h>, which alone needs it"
        )
    if missing.target is None and missing.exported_in is not None and len(missing.exported_in) > 1:
        shown = missing.exported_in.text()
        other = torch_fixes.install_torch(missing, missing.exported_in) or "Use such a release"
        fix = (
            f"python -c 'import torch; print(torch.__version__)'  # {shown}: exports it\n"
            f"If it is none of these: {other}\n"
            f"Otherwise: {fix[0].lower()}{fix[1:]}"
        )
    if missing.file.facts is None and ("-packages/" in missing.file.path or missing.file.python is not None):
        # torch.utils.cpp_extension of torch 1.5 and later links it.
        fix = f"{extension_fixes.rebuild(missing)}\nor, if CMake builds it: {fix}"
    yield Candidate(CauseId.LIBTORCH_PYTHON_NOT_LINKED, score, tuple(evidence), fix)


def _is_of_early_setuptools(missing: MissingName) -> bool:
    """Whether torch.utils.cpp_extension may have built the file before torch 1.5, which links no library of torch: a
    module of an early CPython in a folder of packages."""
    is_early = (missing.file.python or (4, 0)) <= _LAST_PYTHON
    return is_early and missing.target is None and "-packages/" in missing.file.path


def _is_named_by_cmake(path: str) -> bool:
    """Whether a build other than setuptools, which links libtorch_python, most likely made the file: it is in no
    package, and its name has neither the suffix of an extension module nor the underscore of a private one."""
    base = path.rsplit("/", 1)[-1]
    if "/build/" in path and "-packages/" not in path and "torch_extensions" not in path:
        return True
    return base.endswith(".so") and base.count(".") == 1 and not base.startswith("_") and "-packages/" not in path


def _plain(missing: MissingName, library: str, base: float) -> Candidates:
    if library in missing.file.needed:
        return
    evidence = [_exported(missing, library)]
    if missing.file.facts is not None:
        evidence.append(_unlisted(missing, library))
    if not missing.reference.link_time and not missing.reference.msvc:
        other = "Library not loaded" if missing.macho else "cannot open shared object file"
        evidence.append(f"If the file listed it, the loader would report `{other}` and no symbol.")
    score = base + 0.12 if missing.position is Position.INSIDE else base - 0.15
    if missing.target is None and missing.in_oldest_known and missing.in_newest_known and not missing.macho:
        # All known releases have it: the file does not link the library, or the import order is wrong.
        score = base + 0.06
    if missing.file.facts is not None and missing.reference.status is Status.UNREACHABLE:
        score = 0.85
    elif missing.reference.link_time:
        score = max(score, 0.78 if missing.log.torch_is_not_linked else 0.64)
    stem = safe((torch_stem(library) or library).removeprefix("lib"), "NAME")
    fix = f"Link it: {_flags(missing, stem)} (CMake: target_link_libraries(NAME ${{TORCH_LIBRARIES}}))"
    if stem == "torch_cuda" and _may_be_split(missing):
        parts = _flags(missing, "torch_cuda_cpp", "torch_cuda_cu")
        fix += f"\nor, with a build for CUDA 11 up to torch 1.13, which splits it: {parts}"
    if missing.file.facts is None and not missing.reference.link_time and "-packages/" in missing.file.path:
        fix = "\n".join((*extension_fixes.reinstall(missing), f"or, where you build it: {fix[0].lower()}{fix[1:]}"))
    yield Candidate(CauseId.LIBRARY_NOT_LINKED, score, tuple(evidence), fix)


def _flags(missing: MissingName, *stems: str) -> str:
    """What a link editor of the platform is given for libraries of torch."""
    if missing.reference.msvc or is_on_windows(missing):
        return " ".join(f"{stem}.lib" for stem in stems) + " with /LIBPATH: for torch\\lib"
    return " ".join(f"-l{stem}" for stem in stems) + " with -L for torch/lib"


def _may_be_split(missing: MissingName) -> bool:
    """Whether the CUDA library of the torch may be in two parts, as in builds for CUDA 11 until 1.13."""
    at = versions.order(missing.target_version)
    return missing.reference.link_time and (at is None or at < (1, 14))


def _import_first(missing: MissingName, library: str, base: float, python_only: bool) -> Candidate:
    evidence = [_exported(missing, library)]
    score = base + (0.16 if python_only else 0.1)
    if missing.position is Position.INSIDE and not python_only:
        # Since 1.5 torch.utils.cpp_extension links libc10, libtorch_cpu and libtorch: if they are not loaded, the error
        # names the file, not its symbols.
        score = base - 0.03
    if missing.file.facts is not None and library not in missing.file.needed:
        score -= 0.2
        evidence.append(
            f"Against it: the file does not list {library} as needed: loading it first does not add it to the file's "
            f"scope."
        )
    else:
        evidence.append("`import torch` loads it; an extension imported before torch cannot resolve the symbol.")
        if missing.file.facts is None and not missing.knowledge.exact:
            # A text does not show every import, nor that the torch that it names is the one that was loaded.
            score = min(score, 0.78)
    if _has_imported_torch(missing):
        score -= 0.3
    return Candidate(CauseId.IMPORT_TORCH_FIRST, score, tuple(evidence), f"import torch  # before {_module(missing)}")


def _has_imported_torch(missing: MissingName) -> bool:
    """Whether Python code of a known package, which imports torch first, loads the file: it is in the folder of the
    package, or of one that is released with torch."""
    package = find_package(missing)
    if package is None:
        return False
    folders = missing.file.path.replace("\\", "/").split("/")[:-1]
    return package.name in companions.COMPANIONS or any(module in folders for module in package.modules)


def _module(missing: MissingName) -> str:
    return safe(missing.file.module, "the extension")
