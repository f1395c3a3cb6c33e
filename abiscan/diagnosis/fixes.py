"""Lines of fixes to copy, made from facts about the file and the target."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar, cast

from abiscan.diagnosis import build_commands, package_commands, torch_commands
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.libtorch_programs import find_program, use_libtorch
from abiscan.diagnosis.loaded_copies import SourceTree, folder_of_first_use, source_tree_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.safe_names import normalised, safe
from abiscan.diagnosis.torch_ranges import torch_range
from abiscan.diagnosis.wheel_rows import platform_of
from abiscan.mangling import string_abi
from abiscan.model import versions
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.gpu_libraries import find_toolkit, needs_gpu_build
from abiscan.releases.build import loaded_globally
from abiscan.releases.pythons import with_wheels

_SITE = r"(?:site|dist)-packages/([^/]+)/"
# `NAME-1.0-py3.7-linux-x86_64.egg`, a folder of setup.py install.
_EGG = r"-\d[^/]*-py\d[^/]*\.egg$"
# The oldest maintained CPython: if no release in a range has wheels for it, the fix says so.
_MAINTAINED = PythonVersion(3, 10)
_P = ParamSpec("_P")
_T = TypeVar("_T")


def _kept(make: Callable[Concatenate[MissingName, _P], _T]) -> Callable[Concatenate[MissingName, _P], _T]:
    """Keep a fix for the other symbols of the file: it depends on the file, the target, and these facts of a symbol;
    for an unknown torch also on its name."""

    @wraps(make)
    def keep(missing: MissingName, /, *args: _P.args, **more: _P.kwargs) -> _T:
        if missing.target is None:
            return make(missing, *args, **more)
        facts = (missing.is_torch_name, missing.namespace, missing.macho, missing.exported_in)
        key = (make, args, *more.items(), *facts)
        knowledge, fix = missing.file.fixes.get(key, (None, None))
        if knowledge is not missing.knowledge:
            fix = make(missing, *args, **more)
            missing.file.fixes[key] = missing.knowledge, fix
        return cast("_T", fix)

    return keep


def package(missing: MissingName) -> str | None:
    """The distribution of the file, from its metadata or its path; None if unknown.
    `.../site-packages/torch_scatter/_version_cuda.so` belongs to torch-scatter. A module directly in site-packages, or
    a path elsewhere, does not show it."""
    found = re.search(_SITE, (missing.file.path or missing.file.importer).replace("\\", "/"))
    folder = None if found is None else re.sub(_EGG, "", found[1].removesuffix(".libs"))
    name = missing.file.distribution or folder
    return normalised(name)


NEEDS_CHECKOUT: Final = "commit them in git first, or add --force"
"""The condition of `abiscan fix --apply`, for the comment of its command; "them" are the sources."""
REWRITES: Final = f"rewrites the sources; {NEEDS_CHECKOUT}"
_ARCHITECTURES: Final = "TORCH_CUDA_ARCH_LIST="


def source_tree(missing: MissingName, project: str | None = None) -> str:
    """The source tree of the extension, for a comment that explains DIRECTORY.

    Args:
        project: name in a message, if there is no other.
    """
    if find_program(missing) is not None:
        return "the source tree of the program"
    known = package_commands.find_package(missing, project)
    if known is not None and known.repository and not known.checkout:
        address, _, branch = known.repository.partition("@")
        return f"a checkout of {known.name} (git clone --recursive{f' --branch {branch}' if branch else ''} {address})"
    if known is not None and known.checkout:
        release = _release_of_package(missing)
        tag = known.checkout_tag.replace("RELEASE", safe(release, "RELEASE") if release else "RELEASE")
        which = f"release {release}" if release else "your release"
        if not tag:
            clone = f"git clone --recursive {known.checkout}"
            return f"{known.checkout_folder or 'the root'} of a checkout ({clone}) at the commit of {which}"
        return f"a checkout of {which} of {known.name} (git clone --recursive --branch {tag} {known.checkout})"
    name = (package(missing) or normalised(project)) if known is None else known.name
    return f"the source tree of {name or 'the extension'}"


def _release_of_package(missing: MissingName) -> str:
    """The release of the package of the file; empty if unknown."""
    return (missing.file.distribution_version or "").partition("+")[0] or missing.log.project_release


def build_tree(missing: MissingName, project: str | None = None, since: str = "") -> str:
    """Build the source tree in DIRECTORY, as one command. The published source of the package lacks a rewrite.

    Args:
        project: name in a message, if there is no other.
        since: the first release of torch that it may be built with, if that is unknown.
    """
    program = find_program(missing)
    if program is not None:
        return program.build
    known = package_commands.find_package(missing, project)
    notes = [f"in DIRECTORY, with {_torch(missing)} installed"]
    if known is not None and known.cuda_only and missing.target is not None and missing.target.variant == "cpu":
        notes = [f"in DIRECTORY, with torch {missing.target.version} for CUDA installed, not its CPU build"]
    return _build_checkout(known, f"{build_commands.BUILD} .", missing, notes, since=since)


def _build_checkout(
    known: Package | None,
    command: str,
    missing: MissingName,
    notes: Sequence[str],
    *,
    before: str = "",
    since: str = "",
) -> str:
    """A build in a source tree, with the variables, steps and notes of the package for one.

    Args:
        before: a command that precedes it.
        since: the first release of torch that it may be built with, if that is unknown.
    """
    first = (before,) if before else ()
    if known is None:
        return build_commands.with_build_tools(" && ".join((*first, command)), missing, notes, since=since)
    environment = (*build_commands.environment_of(known, missing), *known.checkout_environment)
    archs = [each.removeprefix(_ARCHITECTURES) for each in environment if each.startswith(_ARCHITECTURES)]
    release = versions.order(_release_of_package(missing)) or ()
    steps_since = known.checkout_steps_since
    of_release = next(
        (steps_since[each] for each in reversed(steps_since) if (versions.order(each) or ()) <= release), ()
    )
    notes = [
        *notes,
        *(f"{each}: the compute capability of your GPU" for each in archs),
        *build_commands.compiler_notes(known, missing),
        *([known.checkout_note] if known.checkout_note and not of_release else ()),
    ]
    steps = (*(of_release or known.checkout_steps), *first, build_commands.in_shell(environment, command, missing))
    return build_commands.with_build_tools(" && ".join(steps), missing, notes, known.requires, since=since)


_FIRST_USE: Final = "then run again: the module is compiled at its first use"


def compile_again(missing: MissingName, compilers: str = "") -> str | None:
    """Remove a module that is compiled at its first use; None for other files.

    Args:
        compilers: to choose for the next time.
    """
    folder = folder_of_first_use(missing.file.path)
    if folder is None and not (missing.log.is_compiled_at_first_use and _may_be_of_load(missing.file.path)):
        return None
    folder = folder or missing.log.first_use or None
    if platform_of(missing) == "win_amd64":
        name = "%LOCALAPPDATA%\\torch_extensions" if folder is None else _for_cmd(folder)
        return f'rmdir /s /q "{name}" & rem {_FIRST_USE}'
    if folder is None:
        return f"rm -rf ~/.cache/torch_extensions{compilers}  # and a build_directory= of load(); {_FIRST_USE}"
    return f"rm -rf {safe(folder, 'FOLDER')}{compilers}  # {_FIRST_USE}"


def _may_be_of_load(path: str) -> bool:
    """Whether torch.utils.cpp_extension.load may have compiled a file: it puts no tag of Python into the name."""
    return not path or re.fullmatch(r"(?!.*-packages/)(?:.*/)?(?!lib)\w+\.so", path) is not None


def _for_cmd(path: str) -> str:
    return safe(path.replace("\\", "/"), "FILE").replace("/", "\\")


def _build_in_place(missing: MissingName, known: Package | None) -> str | None:
    """Remove the module that is loaded from a source tree, and build it there again; None for other files."""
    tree = _source_tree(missing)
    if tree is None:
        return None
    on_windows = platform_of(missing) == "win_amd64"
    where = safe(tree.folder, "the source tree") if tree.folder else "the source tree (the folder with setup.py)"
    notes = [f"in {where}, with {_torch(missing)} installed"]
    if tree.build:
        step = "build" if on_windows or tree.build != "build/lib" else "build && cp -r build/lib.* build/lib"
        file = ""
        notes.append(f"Python loads the module from {tree.build}, which pip install does not replace")
    else:
        step = "build_ext --inplace"
        path, any_tag = _loaded_path(missing), ".*.so"
        stem = path.removesuffix(any_tag)
        file = _for_cmd(path) if on_windows else safe(stem, "FILE") + path[len(stem) :]
        notes.append("Python loads the module from there, where pip install does not replace it")
    if on_windows:
        remove = f"{f'del {chr(34)}{file}{chr(34)} & ' if file else ''}if exist build rmdir /s /q build"
        remove = f"({remove})"
    else:
        remove = f"rm -rf build {file}".rstrip()
    return _build_checkout(known, f"python setup.py {step}", missing, notes, before=remove)


def rebuild(missing: MissingName, project: str | None = None, others: Sequence[str] = ()) -> str:
    """Build the extension from source for the installed torch, as one command.

    Args:
        project: name in a message, if there is no other.
        others: more names in a message, for the same command.
    """
    if _is_of_android(missing):
        return _OF_ANDROID
    program = find_program(missing)
    if program is not None:
        return use_libtorch(missing, program, ReleaseRanges())
    again = compile_again(missing)
    if again is not None:
        return again
    known = package_commands.find_package(missing, project)
    in_place = _build_in_place(missing, known)
    if in_place is not None:
        return in_place
    if known is None and project is None and missing.is_torch_name and missing.log.projects:
        project, *others = missing.log.projects
        known = package_commands.find_package(missing, project)
    command = None if known is None else build_commands.build(known, missing, others)
    if command is not None:
        return command
    name = package(missing) or normalised(project)
    base = re.split(r"[/\\!]", missing.file.path)[-1]
    tree = f"in the source directory of {name or safe(base, 'the extension')}"
    # A single file may belong to no package: it is built in its source tree.
    gpu = needs_gpu_build(missing.file.needed)
    archs = ", and TORCH_CUDA_ARCH_LIST set to its GPU architectures" if gpu else ""
    # setuptools compiles no file again for another torch.
    notes = [f"{tree}, with {_torch(missing)} installed{archs}", "remove its folder build first"]
    return build_commands.with_build_tools(f"{build_commands.BUILD} .", missing, notes)


@_kept
def reinstall(missing: MissingName) -> tuple[str, ...]:
    """The ways to get the extension for the installed torch: its wheel, else a build."""
    is_other = _is_of_android(missing) or find_program(missing) is not None or _is_not_replaced(missing)
    known = None if is_other else package_commands.find_package(missing)
    ways = () if known is None else package_commands.install(known, missing)
    if ways and known is not None and known.optional and missing.file.path:
        return (*ways, f"or, where the program does not need it: {uninstall(known)}")
    if ways:
        return ways
    in_tree = package_commands.find_package(missing) if is_in_source_tree(missing) else None
    without = None if in_tree is None else package_commands.without_file(in_tree, missing)
    release = other_release(missing) if without is None else f"with only the wheel: {without}"
    command = rebuild(missing)
    return (command,) if release is None else (command, f"or: {release}")


def uninstall(package: Package) -> str:
    """The command that removes a package, with the one that only refers to its build for torch."""
    return f"pip uninstall -y {' '.join(dict.fromkeys((package.name.removesuffix('-torch'), package.name)))}"


def _is_not_replaced(missing: MissingName) -> bool:
    """Whether `pip install` leaves the loaded file as it is."""
    return compile_again(missing) is not None or _source_tree(missing) is not None


def _source_tree(missing: MissingName) -> SourceTree | None:
    """The source tree that a loader loaded the file from; a scanned file may lie anywhere."""
    is_loaded = missing.reference.status is None and not missing.reference.link_time
    return source_tree_of(_loaded_path(missing)) if is_loaded else None


def is_in_source_tree(missing: MissingName) -> bool:
    """Whether a loader loaded the file from a source tree."""
    return _source_tree(missing) is not None


def _loaded_path(missing: MissingName) -> str:
    """The path of the module; a pattern for it, if a text has only that of the file that imports it."""
    return missing.file.path or missing.file.importer


# Apps ship torch from Maven.
_OF_ANDROID = "Use one release of torch for all native libraries of the app (org.pytorch:pytorch_android, ...)"


def _is_of_android(missing: MissingName) -> bool:
    path = missing.file.path
    # Servers have such folders too, with a Python.
    of_python = "-packages/" in path or "-linux-gnu" in path
    return path.startswith(("/data/app/", "/data/data/", "/data/user/")) and not of_python


def _torch(missing: MissingName) -> str:
    """The torch to build an extension for: the target if it has a version."""
    target = missing.target
    if target is not None and versions.order(target.version) is not None:
        return missing.target_label
    return "your torch"


def other_release(missing: MissingName) -> str | None:
    """Where to find another build of the extension; None if its project is unknown."""
    name = package(missing)
    if name is None or find_program(missing) is not None:
        return None
    target = missing.target
    which = "the installed torch" if target is None else f"torch {versions.minor(target.version)}"
    label = _label(missing.file.distribution_version or "", target)
    return f"Install a release of {name} that is built for {which}{label}"


# `2.1.2+pt24cu121`, `2.7.4+cu12torch2.5cxx11abifalse`: the torch release in the label of a project's version.
_TORCH_LABEL = r"\+.*?(?P<word>pt|torch)(?P<release>\d+(?:\.\d+)*)"


def _label(version: str, target: TorchBuild | None) -> str:
    """The label for the target in a project's versions, if they have such labels."""
    found = re.search(_TORCH_LABEL, version)
    if found is None or target is None:
        return ""
    minor = versions.minor(target.version)
    wanted = minor if "." in found["release"] else minor.replace(".", "")
    return f" (look for {found['word']}{wanted} in its version)"


def install_torch(missing: MissingName, ranges: ReleaseRanges) -> str | None:
    """Install a torch that exports the symbol, and the file's other symbols if known; None if there is none with wheels
    for the CPython."""
    if _is_of_android(missing) or find_program(missing) is not None:
        return None
    if missing.log.is_jetson:
        which = f" {ranges.text()}" if ranges else ""
        return f"Install torch{which}: {torch_commands.WHEELS_FOR_JETSON}"
    if missing.knowledge.loads_on is not None:
        ranges = missing.knowledge.loads_on
    if not ranges or (missing.knowledge.target_from_source and missing.file.facts is None):
        return None  # of a text: it would replace the torch that was built
    if missing.file.facts is None:
        ranges = _of_build(missing, ranges) or ranges
    newest = missing.known_versions[-1] if missing.known_versions else None
    command = None
    if missing.file.facts is None and ranges.last != newest and missing.target is not None:
        command = torch_commands.install_torch(ranges.last, missing)
    command = command or f"pip install {torch_range(ranges, newest)}"
    newest_python = max(with_wheels(ranges.last), default=None)
    if newest_python is None or newest_python >= _MAINTAINED:
        return command
    python = missing.environment.python if missing.environment is not None else None
    if python is not None and python > newest_python:
        return None
    return f"{command}  # no wheels for Python > {newest_python}"


def _of_build(missing: MissingName, ranges: ReleaseRanges) -> ReleaseRanges:
    """The releases in the ranges that the text states the file was built with; empty if it states none of them."""
    built = missing.log.compiled_for
    if not built:
        return ReleaseRanges()
    return ReleaseRanges.of_known(
        missing.known_versions, lambda each: f"{each}.".startswith(f"{built}.") and ranges.contains(each) is True
    )


def _cuda_variant(missing: MissingName, cuda: str) -> str:
    """The variant of the release on the package index, which published extensions are built for; empty if it is unknown
    or of another CUDA.

    Args:
        cuda: its major release; "" for any.
    """
    releases, target = missing.knowledge.releases, missing.target
    builds = () if releases is None or target is None else releases.builds(missing.knowledge.machine)
    of_cuda = (b for b in builds if b.cuda is not None and cuda in ("", b.cuda.partition(".")[0]))
    return next((b.variant for b in of_cuda if target is not None and b.torch == target.version), "")


@_kept
def gpu_build(missing: MissingName, *, cuda: str = "") -> str:
    """Install the GPU build of the same torch (of another release, if no build of that one loads the file), or the
    extension for its CPU build.

    Args:
        cuda: its major release; "" for that of the CUDA libraries that the file needs.
    """
    program = find_program(missing)
    if program is not None:
        return f"{use_libtorch(missing, program, ReleaseRanges())}\nFor a GPU: the archive of a CUDA, not that of cpu"
    if missing.log.is_jetson:
        return f"Install a torch for CUDA: {torch_commands.WHEELS_FOR_JETSON}"
    toolkit = find_toolkit(missing.file.needed)
    if not cuda and toolkit is not None and toolkit.kind == "CUDA":
        cuda = toolkit.version.partition(".")[0]
    torch = None if missing.target is None else missing.target.version
    variant = _cuda_variant(missing, cuda)
    command = (None if torch is None else torch_commands.install_torch(torch, missing, cuda=cuda, variant=variant)) or (
        f"pip install torch=={torch} --index-url https://download.pytorch.org/whl/{variant}" if variant else ""
    )
    # The CPU build of the same version satisfies the requirement.
    command = command.replace("pip install", "pip install --force-reinstall", 1)
    if missing.knowledge.no_variant_loads:
        command = install_torch(missing, missing.knowledge.loads_on or ReleaseRanges()) or ""
    known = package_commands.find_package(missing)
    if known is not None and not missing.knowledge.no_variant_loads:
        command = "\n".join(package_commands.of_installed_release(known, missing, variant)) or command
    of_extension = () if known is None else package_commands.install(known, missing)
    if of_extension and of_extension[0].startswith("pip "):
        of_extension = of_extension[:1]
    example = torch_commands.example_variant(cuda)
    words = f"Install a CUDA {cuda and cuda + ' '}build of torch (the wheel index of its variant{example})"
    first = command or ("" if missing.knowledge.no_variant_loads else words)
    return "\nor: ".join(filter(None, (first, "\n".join(of_extension) or "Install the CPU build of the extension")))


@_kept
def rebuild_or_install(missing: MissingName, ranges: ReleaseRanges) -> str:
    """The ways to fix it: the extension built for this torch, or another torch."""
    program = find_program(missing)
    if program is not None and not _is_of_android(missing):
        return use_libtorch(missing, program, missing.knowledge.loads_on or ranges)
    first, *ways = reinstall(missing)
    other = install_torch(missing, ranges)
    return "\n".join((first, *ways)) + ("" if other is None else f"\nor: {other}")


_SHOWS_TORCH: Final = 'python -c "import torch; print(torch.__version__)"'


def by_release(missing: MissingName, ranges: ReleaseRanges, ways: str) -> str:
    """For an unknown torch: how to find its release, and what to do in either case; for a source build, only `ways`.

    Args:
        ranges: the releases that export the symbol.
        ways: what to do with another release.
    """
    program = find_program(missing)
    shows = _SHOWS_TORCH if program is None else program.shows
    if missing.knowledge.target_from_source or not shows:
        return ways
    exporting = ranges.text(last=" or ")
    return (
        f"{shows}  # prints the installed release\n"
        f"If it is {exporting}, the symbol is exported: {_if_exported(missing, ranges)}\n"
        f"Otherwise: {ways}"
    )


def _if_exported(missing: MissingName, ranges: ReleaseRanges) -> str:
    """What to do if the unknown torch is of a release that exports the symbol."""
    steps = []
    if not missing.macho and not missing.reference.link_time:
        if string_abi(missing.name) is not None and missing.cxx is not None:
            compilers = with_new_string(missing)
            again = "build the extension again" + (f" {compilers}" if compilers else "")
            steps.append(
                "that torch may have the new std::string, as conda-forge's and NVIDIA's builds have: install torch and "
                f"the extension both with pip or both from conda-forge, or {again}"
                if string_abi(missing.name) == "old"
                else f"that torch may have the other std::string: {again}"
            )
        if loaded_globally(ranges.first):
            before = "" if loaded_globally(ranges.last) else " (up to torch 1.4: extensions do not link its libraries)"
            steps.append(f"import torch before {safe(missing.file.module, 'the extension')}{before}")
    if missing.macho and missing.reference.status is None:
        steps.append(
            "uname -m; file torch/lib/libtorch_cpu.dylib  # of that torch: dyld and ld skip one for another processor"
        )
    return "; or ".join(steps) or "run abiscan explain --torch VERSION for other causes"


# torch 1.5 needs GCC 5 (c10/util/C++17.h of its wheel).
_FIRST_WITHOUT_GCC_4: Final = (1, 5)


def with_new_string(missing: MissingName) -> str:
    """The compilers for a symbol with the old std::string, which is the only one of GCC 4; empty if the torch is one
    that GCC 4 does not compile for."""
    oldest = missing.exported_in.first if missing.exported_in else ""
    release = oldest if missing.target is None else missing.target.version
    at = versions.order(release)
    if string_abi(missing.name) != "old" or missing.macho or (at is not None and at[:2] >= _FIRST_WITHOUT_GCC_4):
        return ""
    return "with GCC 5 or later (export CC=gcc-5 CXX=g++-5): GCC 4 has only the old std::string"
