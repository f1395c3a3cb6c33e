"""Fixes of the extension: build it again, or install a build for the installed torch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.fixes import build_commands, package_commands
from abiscan.diagnosis.fixes.hip_sources import NEEDS_HIPCC, clone_command, hip_port
from abiscan.diagnosis.fixes.libtorch_programs import find_program, use_libtorch
from abiscan.diagnosis.fixes.loaded_copies import SourceTree, folder_of_first_use, source_tree_of
from abiscan.diagnosis.fixes.named_release import named_release
from abiscan.diagnosis.fixes.safe_names import normalised, safe
from abiscan.diagnosis.fixes.wheel_rows import is_on_windows
from abiscan.diagnosis.missing_name import MissingName, kept_for_file
from abiscan.model import versions
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.gpu_libraries import needs_gpu_build

_SITE = r"(?:site|dist)-packages/([^/]+)/"
# `NAME-1.0-py3.7-linux-x86_64.egg`, a folder of setup.py install.
_EGG = r"-\d[^/]*-py\d[^/]*\.egg$"


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
    release = "" if known is None else _release_of_package(missing, known)
    which = f"release {release}" if release else "your release"
    port = None if known is None else hip_port(known, missing)
    if known is not None and port is not None:
        return f"a checkout of {which} of {known.name} for ROCm ({clone_command(port)})"
    if known is not None and known.repository and not known.checkout:
        address, _, branch = known.repository.partition("@")
        return f"a checkout of {known.name} (git clone --recursive{f' --branch {branch}' if branch else ''} {address})"
    if known is not None and known.checkout:
        tag = known.checkout_tag.replace("RELEASE", safe(release, "RELEASE") if release else "RELEASE")
        if not tag:
            clone = f"git clone --recursive {known.checkout}"
            return f"{known.checkout_folder or 'the root'} of a checkout ({clone}) at the commit of {which}"
        return f"a checkout of {which} of {known.name} (git clone --recursive --branch {tag} {known.checkout})"
    name = (package(missing) or normalised(project)) if known is None else known.name
    return f"the source tree of {name or 'the extension'}"


def rewrite_const_data_ptr(missing: MissingName) -> str:
    """The command that writes data_ptr<T>() for const_data_ptr<T>() in the source tree of the extension."""
    tree = source_tree(missing)
    return f"abiscan fix --apply --select const-data-ptr DIRECTORY  # DIRECTORY: {tree}; {REWRITES}"


def _release_of_package(missing: MissingName, known: Package) -> str:
    """The release of a package, of the file or as the text gives it; empty if unknown."""
    return (missing.file.distribution_version or "").partition("+")[0] or named_release(known, missing)


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
    if known is not None and known.guide and not (known.sdist or known.repository or known.checkout):
        return f"Build {known.name} again, as its guide says: {known.guide}"
    notes = [f"in DIRECTORY, with {_torch(missing)} installed"]
    if known is not None and known.cuda_only and missing.target_variant == "cpu":
        notes = [f"in DIRECTORY, with torch {missing.target_version} for CUDA installed, not its CPU build"]
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
    port = hip_port(known, missing)
    if port is not None:
        notes = [*notes, NEEDS_HIPCC, *([port.note] if port.note else ())]
        command = build_commands.in_shell(port.environment, command, missing)
        return build_commands.with_build_tools(
            " && ".join((*first, command)), missing, notes, known.requires, since=since
        )
    environment: tuple[str, ...] = (*build_commands.environment_of(known, missing), *known.checkout_environment)
    archs = [each.removeprefix(_ARCHITECTURES) for each in environment if each.startswith(_ARCHITECTURES)]
    if archs and missing.log.capability:
        of_gpu = f"{_ARCHITECTURES}{missing.log.capability}"
        environment = tuple(of_gpu if each.startswith(_ARCHITECTURES) else each for each in environment)
        archs = []
    release = versions.order(_release_of_package(missing, known)) or ()
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


# First words of a way that is a sentence, and no command.
_VERB: Final = r"\A(?i:build|compile|install|load|rebuild|replace|take|update|use|with|without|write)(?= )"
# What a way of a fix needs that has sources and a compiler.
_OF_BUILD: Final = r"--no-build-isolation|\bDIRECTORY\b|\bcompile\b|\bsetup\.py\b"


def without_build_first(fix: str) -> str:
    """A fix with the ways first that build nothing."""
    ways = fix.split("\nor: ")
    ordered = sorted(ways, key=lambda way: re.search(_OF_BUILD, way) is not None)
    if ordered == ways:
        return fix
    first, *others = (re.sub(_VERB, lambda found: found[0].lower(), way) for way in ordered)
    return "\nor: ".join((re.sub(_VERB, lambda found: found[0].capitalize(), first), *others))


def use_another_system(fix: str, missing: MissingName) -> str:
    """A fix without commands that build, if the package of the text is not made for the system."""
    known = package_commands.find_package(missing, missing.log.project)
    elsewhere = None if known is None else package_commands.on_another_system(known, missing)
    if elsewhere is None:
        return fix
    kept = [line for line in fix.splitlines() if re.search(_OF_BUILD, line) is None]
    other = [line for line in kept if line not in elsewhere]
    return fix if kept == fix.splitlines() else "\n".join((elsewhere, *other))


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
    if is_on_windows(missing):
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
    on_windows = is_on_windows(missing)
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
    return _build_checkout(known, f"python setup.py {step}", missing, notes, before=_remove_build(missing, file))


def _remove_build(missing: MissingName, file: str = "") -> str:
    """The command that removes the folder build of a source tree, and the file that was built."""
    if is_on_windows(missing):
        return f"({f'del {chr(34)}{file}{chr(34)} & ' if file else ''}if exist build rmdir /s /q build)"
    return f"rm -rf build {file}".rstrip()


def rebuild(missing: MissingName, project: str | None = None, others: Sequence[str] = ()) -> str:
    """Build the extension from source for the installed torch, with those of the text if that was built from source.
    Packages with other variables are built by another command.

    Args:
        project: name in a message, if there is no other.
        others: more names in a message.
    """
    if is_of_android(missing):
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
    is_of_text = missing.is_torch_name and not package(missing)  # no torch-cluster beside a file of torch_x
    if known is None and project is None and is_of_text and missing.log.projects:
        project, *others = missing.log.projects
        known = package_commands.find_package(missing, project)
    if known is not None and project is None:
        others = (*others, *missing.built_packages)
    command = None if known is None else _build_each(known, missing, others)
    if command is not None:
        return command
    name = package(missing) or normalised(project)
    base = re.sub(r"\.(?:cpython-\d|abi3|cp\d)[\w.-]*$", "", re.split(r"[/\\!]", missing.file.path)[-1])
    # `_C` is a module of any package.
    shown = name or ("" if base.startswith("_") else safe(base, ""))
    tree = f"in the source directory of {shown or 'the extension'}"
    # A single file may belong to no package: it is built in its source tree.
    gpu = needs_gpu_build(missing.file.needed)
    archs = ", and TORCH_CUDA_ARCH_LIST set to its GPU architectures" if gpu else ""
    # setuptools compiles no file again for another torch.
    command = f"{_remove_build(missing)} && {build_commands.BUILD} ."
    return build_commands.with_build_tools(command, missing, [f"{tree}, with {_torch(missing)} installed{archs}"])


def _build_each(first: Package, missing: MissingName, others: Sequence[str]) -> str | None:
    """The commands that build packages, those with the same variables together."""
    named = {each.name: each for each in (first, *filter(None, map(packages_by_name().get, others)))}
    alike: dict[tuple[str, ...], list[Package]] = {}
    for package in named.values():
        key = build_commands.variables_of_build(package)
        alike.setdefault(key if build_commands.is_built_by_pip(package) else (package.name,), []).append(package)
    commands = (build_commands.build(lead, missing, [each.name for each in more]) for lead, *more in alike.values())
    return "\n".join(filter(None, commands)) or None


def check_others(missing: MissingName) -> tuple[str, ...]:
    """The command that finds the other extensions that a torch from source needs built; empty on Windows."""
    command = 'abiscan env --python "$(which python)"  # checks every installed package: build each that does not load'
    return () if is_on_windows(missing) else (command,)


@kept_for_file
def reinstall(missing: MissingName) -> tuple[str, ...]:
    """The ways to get the extension for the installed torch: its wheel, else a build."""
    # `pip install` leaves the loaded file as it is.
    stays = compile_again(missing) is not None or _source_tree(missing) is not None
    known = (
        None
        if is_of_android(missing) or find_program(missing) is not None or stays
        else package_commands.find_package(missing)
    )
    ways = () if known is None else package_commands.install(known, missing)
    if known is not None and missing.log.built_packages and ways == (build_commands.build(known, missing),):
        return (rebuild(missing), *check_others(missing))
    needless = known is not None and known.optional and missing.file.path
    without_it = (f"or, where the program does not need it: {uninstall(known)}",) if known and needless else ()
    if ways:
        return (*ways, *without_it)
    in_tree = package_commands.find_package(missing) if is_in_source_tree(missing) else None
    without = None if in_tree is None else package_commands.without_file(in_tree, missing)
    release = other_release(missing) if without is None else f"with only the wheel: {without}"
    command = rebuild(missing)
    return (command, *without_it) if release is None else (command, f"or: {release}", *without_it)


def uninstall(package: Package) -> str:
    """The command that removes a package, with the one that only refers to its build for torch."""
    return f"pip uninstall -y {' '.join(dict.fromkeys((package.name.removesuffix('-torch'), package.name)))}"


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


def is_of_android(missing: MissingName) -> bool:
    """Whether an app on Android loads the file."""
    path = missing.file.path
    # Servers have such folders too, with a Python.
    of_python = "-packages/" in path or "-linux-gnu" in path
    return path.startswith(("/data/app/", "/data/data/", "/data/user/")) and not of_python


def _torch(missing: MissingName) -> str:
    """The torch to build an extension for: the target if it has a version and is not assumed."""
    target = missing.target
    if target is not None and versions.order(target.version) is not None and not missing.knowledge.target_is_assumed:
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
