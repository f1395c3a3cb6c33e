"""Commands that build a package from source for the target's torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import packages_by_name, wheels_of
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.fixes import build_requirements, torch_commands
from abiscan.diagnosis.fixes.hip_sources import (
    NEEDS_HIPCC,
    gpu_vendor_of,
    hip_builds,
    hip_port,
    is_for_hip,
    newest_torch_with_hip,
    rocm_of,
)
from abiscan.diagnosis.fixes.named_release import release_to_build, requirement
from abiscan.diagnosis.fixes.wheel_rows import cuda_major, is_on_windows, newest_entry, platform_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import AMD, NPU, WITHOUT_CUDA_CODE
from abiscan.model import versions
from abiscan.releases import companions
from abiscan.wheel.requirement_lines import normal_name

BUILD: Final = "pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps"
_FORCE_CUDA: Final = "FORCE_CUDA=1"


def build(package: Package, missing: MissingName, others: Iterable[str] = ()) -> str | None:
    """The command that builds it for the installed torch, or the page about a build without pip; None if neither is
    known. With HIP and for conda-forge it may have several lines.

    Args:
        others: packages to build with the same command; those with another environment are omitted.
    """
    if package.command:
        return package.command
    if not package.sdist and not package.repository:
        if hip_port(package, missing) is not None:
            return "\n".join(_with_hip((package,), missing))
        return f"Build {package.name} against this torch, as its guide says: {package.guide}" if package.guide else None
    # No wheel of a package that it imports is for a source build either.
    named = (package, *filter(None, map(packages_by_name().get, others)))
    used = (packages_by_name()[name] for each in named for name in each.uses) if _has_no_wheels(missing) else ()
    variables = variables_of_build(package)
    alike = (each for each in (*named, *used) if is_built_by_pip(each) and variables_of_build(each) == variables)
    built = tuple({each.name: each for each in (package, *alike)}.values())
    if is_for_hip(missing) and any(each.hip or each.rocm_wheels for each in built):
        return "\n".join(_with_hip(built, missing))
    gpu, environment = _is_for_gpu(missing), environment_of(package, missing)
    notes = _compiler_notes(built, missing) if gpu else []
    if gpu and not missing.target_cuda and _FORCE_CUDA in environment and not gpu_vendor_of(missing):
        notes.append(f"leave out {_FORCE_CUDA} for a CPU build of torch")
    if missing.target is None:
        with_source = (each for each in built if each.sdist)
        if of_release := [each.name for each in with_source if any(row.releases for row in wheels_of(each))]:
            notes.append(f"name the release of {', '.join(of_release)} for your torch: the newest may need a newer one")
        of_torch = [each for each in built if not each.sdist and each.name in companions.COMPANIONS]
        notes += _note_on_branches([each for each in of_torch if not release_to_build(each, missing)])
    sources = [_source_of(each, missing) for each in built]
    too_new = ((each.name, _named_too_new(each, missing)) for each in built)
    notes += (f"{name} {release} needs a newer torch" for name, release in too_new if release)
    return "\n".join((*_from_conda_forge(built, missing), _build_of(built, sources, environment, missing, notes)))


def _from_conda_forge(built: Iterable[Package], missing: MissingName) -> Iterator[str]:
    """The builds of conda-forge for a torch from there."""
    there = [each for each in built if each.conda_forge and missing.log.packager == "conda-forge"]
    if there:
        names = " ".join(each.conda_forge for each in there)
        yield (
            f"pip uninstall -y {' '.join(each.name for each in there)} && conda install -c conda-forge {names}"
            "  # built for conda-forge's torch: conda shows whether it has to change yours"
        )
        yield "or, to build it:"


def compiler_notes(package: Package, missing: MissingName) -> list[str]:
    """Whether the build of a package needs nvcc or hipcc, if that is known."""
    is_known = _is_for_gpu(missing) and package.gpu_compiler is not None
    return _compiler_notes((package,), missing) if is_known else []


def _compiler_notes(built: Iterable[Package], missing: MissingName) -> list[str]:
    """Whether a build for a GPU needs nvcc or hipcc."""
    needed = {None if each.gpu_compiler is None else each.gpu_compiler.needed for each in built}
    cuda = missing.target_cuda_major
    compiler = "nvcc of " + (f"CUDA {cuda}" if cuda else "the CUDA major release of torch.version.cuda")
    if not cuda and is_for_hip(missing):
        compiler = "hipcc of the ROCm release of torch.version.hip"
    elif needed <= {"never", "with-gpu-torch"} and not cuda:
        return [] if needed == {"never"} else [f"for a torch with CUDA: needs {compiler}"]
    if "always" in needed:
        return [f"needs {compiler}"]
    if cuda and "with-gpu-torch" in needed:
        return [f"needs {compiler}: CMake's find_package(Torch) fails without it"]
    return [] if needed == {"never"} else [f"GPU sources need {compiler}"]


def _with_hip(built: tuple[Package, ...], missing: MissingName) -> Iterator[str]:
    """The builds with HIP, and where wheels are."""
    none: dict[str, dict[str, None]] = {}
    yield from _torch_for_hip(missing)
    for each in hip_builds(built, missing):
        if each.sources:
            if each.lead:
                yield each.lead
            notes = (NEEDS_HIPCC, *each.notes)
            environment = each.environment or environment_of(built[0], missing)
            yield _build_of(built, each.sources, environment, missing, notes)
        for name in each.none:
            none.setdefault(name, {})[each.lead.partition(" (")[0].rstrip(":") or "ROCm"] = None
    wheels = wheels_for_rocm(built, missing)
    if wheels is not None:
        yield f"{', '.join(none)}: {wheels}" if none else f"or {wheels}"
        return
    for name, kinds in none.items():
        yield f"{name}: no source is known that compiles unchanged with this torch and {', or with '.join(kinds)}"


def _torch_for_hip(missing: MissingName) -> Iterator[str]:
    """How to replace a torch for CUDA or CPU, which builds nothing for an AMD GPU."""
    target = missing.target
    if target is not None and gpu_vendor_of(missing) == AMD and (cuda_major(target.variant) or target.variant == "cpu"):
        is_not = f"torch {target.version}+{target.variant} is not for ROCm"
        if missing.knowledge.target_from_source or not versions.is_release(target.version):
            yield f"{is_not}: use the Python that has your torch for ROCm, or build torch from source for ROCm"
            return
        yield f"{is_not}. Install one that is:"
        known = torch_commands.install_torch(target.version, missing, variant=f"rocm{rocm_of(missing)}")
        install = known or torch_commands.from_package_index(target.version, missing)
        yield torch_commands.force_reinstall(install)


def wheels_for_rocm(packages: Iterable[Package], missing: MissingName) -> str | None:
    """Where another project has wheels of the packages for ROCm on Linux; None if they do not fit."""
    pages = dict.fromkeys(each.rocm_wheels for each in packages if each.rocm_wheels)
    version = missing.target_version
    torch = (versions.order(version) or _FOR_FIRST_WITH_WHEELS)[:2]
    fits = (versions.order(rocm_of(missing)) or _FIRST_WITH_WHEELS) >= _FIRST_WITH_WHEELS
    fits = fits and torch >= _FOR_FIRST_WITH_WHEELS
    is_released = gpu_vendor_of(missing) == AMD and not missing.knowledge.target_from_source
    is_released = is_released and (not version or versions.is_release(version))
    if not pages or not fits or not is_released or is_on_windows(missing):
        return None
    where = " ".join(pages)
    return f"wheels of another project, for ROCm 5.7 and later: {where}  # zip files of wheels, by torch, ROCm, Python"


# Of ROCm: in the releases of pyg-rocm-build (README.md, 2026-07-05), and the first whose torch needs no older tools.
_FIRST_WITH_WHEELS: Final = (5, 7)
_FOR_FIRST_WITH_WHEELS: Final = (2, 2)  # the first torch with builds for that ROCm
_FIRST_WITH_NEW_TORCH: Final = (6, 0)


def _build_of(
    built: Iterable[Package],
    sources: Iterable[str],
    environment: Iterable[str],
    missing: MissingName,
    notes: Iterable[str],
) -> str:
    built, sources = tuple(built), tuple(sources)
    names = [re.split("[=>]=", each.strip('"'))[0] for each in sources if not each.startswith(('"git+', "./"))]
    from_index = [f"--no-binary {','.join(names)}"] if names else []
    command = in_shell(environment, " ".join((BUILD, *from_index, *sources)), missing)
    requires = (name for each in built for name in each.requires)
    imports = (name for each in built for name in each.imports)
    return with_build_tools(command, missing, notes, requires, imports)


def _source_of(package: Package, missing: MissingName) -> str:
    """The source of a package for pip: the archive that a user has, the package index, or the repository, for a package
    that is released with torch at the branch of its release (`release/0.16`).

    From the index: the release that the text names, else the one for the torch, else none older than the installed one,
    which pip would build where newer ones have no source."""
    archive = missing.log.sdist
    if archive and re.sub(r"[-_.]+", "-", archive.rpartition("-")[0]).lower() == package.name:
        return f"./{archive}"
    target = missing.target
    if package.sdist:
        named, of_torch = release_to_build(package, missing), _release_of_torch(package, missing)
        if named and not _named_too_new(package, missing):
            return requirement(package, named)
        if of_torch:
            return f"{package.name}=={of_torch}"
        installed = _installed_release(package, missing)
        return f'"{package.name}>={installed}"' if installed else package.name
    if package.tags and target is not None:
        tag = newest_entry(package.tags, target.version)
        return f'"git+{package.repository}{"" if tag is None else f"@{tag}"}"'
    of_companion = package.name in companions.COMPANIONS
    release = companions.release_for(package.name, target.version) if target is not None else None
    if target is None and of_companion and (named := release_to_build(package, missing)):
        release = versions.minor(named)
    return f'"git+{package.repository}{f"@release/{release}" if release else ""}"'


def _has_no_wheels(missing: MissingName) -> bool:
    """Whether the torch is none that projects publish wheels for."""
    log = missing.log
    return missing.knowledge.target_from_source or log.is_jetson or log.is_nightly or is_for_hip(missing)


def _release_of_torch(package: Package, missing: MissingName) -> str:
    """The release for the target; empty if unknown."""
    target = missing.target
    return "" if target is None or is_for_hip(missing) else _release_for(package, target.version)


def _named_too_new(package: Package, missing: MissingName) -> str:
    """The release that the text names, if it needs a newer torch than the target: the last one for that is known.
    Otherwise empty."""
    named, last = release_to_build(package, missing), _release_of_torch(package, missing)
    pinned = any(row.with_torch for row in wheels_of(package))
    is_last = pinned or last in package.for_older_torch.values()
    here, newest = versions.order(named), versions.order(last)
    return named if is_last and here is not None and newest is not None and here > newest else ""


def _installed_release(package: Package, missing: MissingName) -> str:
    """The release of the file's distribution, if the package is that one; empty if unknown."""
    release = (missing.file.distribution_version or "").partition("+")[0]
    of_file = normal_name(missing.file.distribution or "") == package.name
    return release if of_file and versions.is_release(release) else ""


def _note_on_branches(built: Iterable[Package]) -> Iterator[str]:
    """How to choose the branches of packages that are released with torch, for an unknown torch."""
    releases = ((each.repository, companions.release_for(each.name, _TORCH_OF_EXAMPLE)) for each in built)
    if examples := [f"git+{repository}@release/{release}" for repository, release in releases]:
        branch = "branches" if len(examples) > 1 else "branch"
        named = " ".join(examples)
        yield f"main is for the newest torch: name the {branch} for yours, for torch {_TORCH_OF_EXAMPLE} {named}"


_TORCH_OF_EXAMPLE: Final = "2.9"


def _release_for(package: Package, torch: str) -> str:
    """The last release for an older torch, else the one of which wheels for a torch are known; empty if none is.

    A newer one may need a newer torch."""
    # `2.6.0a0` of a checkout is on the way to 2.6.0.
    release = ".".join(re.findall(r"\d+", torch.partition("a")[0].partition(".dev")[0]))
    for first, last in package.for_older_torch.items():
        if release and (versions.order(release) or ())[:2] < (versions.order(first) or ())[:2]:
            return last
    return next(filter(None, (newest_entry(row.releases, release) for row in wheels_of(package))), "")


def environment_of(package: Package, missing: MissingName) -> tuple[str, ...]:
    """The variables for a complete build of the package for the target."""
    # The wheel that it would fetch is for a release of torch, and needs the glibc that the installed one needs.
    of_glibc = (missing.reference.version or missing.name).startswith("GLIBC_")
    forced = package.force_build if missing.knowledge.target_from_source or of_glibc else ()
    of_npu = package.npu_environment if gpu_vendor_of(missing) == NPU else ()
    common = (each for each in package.environment if _is_for_gpu(missing) or "CUDA" not in each)
    return (*common, *of_npu, *forced)


def in_shell(environment: Iterable[str], command: str, missing: MissingName) -> str:
    """A command with variables, for the shell of the platform (cmd.exe on Windows)."""
    if is_on_windows(missing):
        return " && ".join((*(f'set "{each}"' for each in environment), command))
    return " ".join((*environment, command))


def _is_for_gpu(missing: MissingName) -> bool:
    of_cpu = missing.target_variant == "cpu" and not is_for_hip(missing)
    is_cpu = of_cpu or gpu_vendor_of(missing) in WITHOUT_CUDA_CODE
    return not is_cpu and platform_of(missing) != "macosx"


def variables_of_build(package: Package) -> tuple[str, ...]:
    """The variables that a command must share with others that it builds."""
    return (*package.environment, *package.force_build)


def is_built_by_pip(package: Package) -> bool:
    """Whether pip builds the package from the index or its repository, so that others can be in the same command."""
    return not package.command and (package.sdist or bool(package.repository))


def with_build_tools(
    command: str,
    missing: MissingName,
    notes: Iterable[str],
    more: Iterable[str] = (),
    imports: Iterable[str] = (),
    *,
    since: str = "",
) -> str:
    """The command that installs the requirements of a build without isolation, the build and a comment, in one line.

    Args:
        notes: parts of the comment.
        more: further requirements of the build.
        imports: what the extension imports besides torch.
        since: the first release of torch that it may be built with, if that is unknown.
    """
    unknown = since or newest_torch_with_hip(missing)
    torch, imports, notes = unknown if missing.target is None else missing.target.version, tuple(imports), tuple(notes)
    if (versions.order(rocm_of(missing)) or ()) < _FIRST_WITH_NEW_TORCH:
        notes = (*notes, *build_requirements.notes_for_unknown(torch, imports))
    if is_on_windows(missing):
        notes = ("in cmd.exe, not in PowerShell; needs MSVC (Visual Studio Build Tools, C++)", *notes)
    mark = " & rem " if is_on_windows(missing) else "  # "
    comment = f"{mark}{'; '.join(notes)}" if notes else ""
    steps = (build_requirements.install_tools(torch, more), build_requirements.install_imports(imports, torch), command)
    return " && ".join(filter(None, steps)) + comment
