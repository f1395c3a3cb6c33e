"""Facts of the message catalogue about the package of a message (values `project`, `needed_by`, `file`): how to install
and build it."""

from __future__ import annotations

import re
from itertools import chain
from typing import Final

from msgspec.structs import replace

from abiscan.diagnosis.catalogue import load_packages
from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.facts import gpu_facts
from abiscan.diagnosis.fixes import (
    build_requirements,
    extension_fixes,
    file_package,
    package_commands,
    torch_commands,
    torch_fixes,
    wheel_choice,
    wheel_rows,
)
from abiscan.diagnosis.fixes.build_commands import wheels_for_rocm
from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of, hip_note, is_for_hip, with_gpu_of
from abiscan.diagnosis.fixes.named_release import named_release, requirement
from abiscan.diagnosis.fixes.safe_names import normalised, safe
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import AMD, NVIDIA, WITHOUT_CUDA_CODE
from abiscan.model import versions
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.releases import companions


def rebuild(values: Values, missing: MissingName) -> str | None:
    """The commands that build the extensions from source: of the value `project`, else of the package of the text."""
    named = [normalised(each) or "" for each in (built_project(values, missing) or "").split()]
    others = (*named[1:], *_others_built(values, missing))
    return extension_fixes.rebuild(missing, project=named[0] if named else None, others=others)


def _others_built(values: Values, missing: MissingName) -> tuple[str, ...]:
    """The other packages of a text that says that torch was built from source: what one of them lacks, all lack."""
    return missing.log.built_packages if values.get("project") and missing.knowledge.target_from_source else ()


def several_built(values: Values, missing: MissingName) -> str | None:
    """These and the packages of the value `project`, if there are several: `torch-scatter, torch-sparse`."""
    names = dict.fromkeys(
        (*(normalised(each) or "" for each in values.get("project", "").split()), *_others_built(values, missing))
    )
    return ", ".join(names) if len(names) > 1 else None


def rebuild_by_python(values: Values, missing: MissingName) -> str | None:
    """The same with the pip of `python`, where `pip` may belong to another Python."""
    return re.sub(r"(?<![\w-])pip (?=(?:un)?install)", "python -m pip ", rebuild(values, missing) or "") or None


def rebuild_for_known(values: Values, missing: MissingName) -> str | None:
    """The same without what an older torch than the unknown one needs, which `older_torch_needs` says."""
    return _rebuild_and_needs(values, missing)[0] or None


def older_torch_needs(values: Values, missing: MissingName) -> str | None:
    """What an older torch needs in these commands, if the release of torch is unknown."""
    needs = _rebuild_and_needs(values, missing)[1]
    return f"{needs}: write this in the next line" if needs else None


def _rebuild_and_needs(values: Values, missing: MissingName) -> tuple[str, str]:
    command, found = rebuild(values, missing) or "", ""
    torch = missing.target_version
    for imports in (("numpy",), ()):
        needs = "; ".join(build_requirements.notes_for_unknown(torch, imports))
        if needs and needs in command:
            command = command.replace(f"; {needs}", "").replace(f"  # {needs}", "")
            found = found or needs
    return command, found


def packages_in_conflict(values: Values, _missing: MissingName) -> str | None:
    """The packages of the values `first` and `second` in a command, which may be two releases of one."""
    names = (normalised(values.get(each)) for each in ("first", "second"))
    return " ".join(dict.fromkeys(filter(None, names))) if "second" in values else None


def named_on_page(values: Values, missing: MissingName) -> str | None:
    """The releases of the packages (value `project`) that the text names, as requirements: `torch-scatter==2.1.1`."""
    known = filter(None, map(packages_by_name().get, (values.get("project") or "").lower().replace("_", "-").split()))
    asked = missing.log.asked_releases
    found = ((each, named_release(each, missing) or asked.get(each.name, "")) for each in known)
    return " ".join(requirement(package, release) for package, release in found if release) or None


def projects(values: Values, _missing: MissingName) -> str | None:
    """The packages of the value `project` in a sentence: `torch-scatter, torch-sparse`."""
    return ", ".join(normalised(each) or "" for each in values.get("project", "").split()) or None


def is_other_label(values: Values, _missing: MissingName) -> bool:
    """Whether the values `label_of_wheel` and `label_of_torch` name two releases of CUDA."""
    label = values.get("label_of_wheel")
    return bool(label) and label != values.get("label_of_torch")


def built_in_place(values: Values, missing: MissingName) -> bool:
    """Whether the extensions of the package are built into its source tree, from which Python imports them."""
    package = package_commands.find_package(missing, values.get("project") or values.get("needed_by"))
    command = "" if package is None else package.command.partition("  #")[0]
    return any(way in command for way in (" develop", "--inplace", " -e ."))


def compiled_when_used(values: Values, missing: MissingName) -> bool:
    """Whether torch.utils.cpp_extension compiles the package when it is first used."""
    package = package_commands.find_package(missing, values.get("project") or values.get("needed_by"))
    return package is not None and "torch_extensions" in package.command


def companion_build(values: Values, missing: MissingName) -> str | None:
    """The command that builds the companion of torch that has the operators of the message (value `project`)."""
    package = companions.registers(values.get("project", ""))
    if package is None:
        return None
    return torch_commands.hip_for_windows(missing) or extension_fixes.rebuild(missing, project=package)


def reinstall_package(values: Values, missing: MissingName) -> str | None:
    """The commands that install the package (value `project` or `needed_by`) for the target's torch, or for its CUDA
    (value `torch_cuda`); None if it is not in the package catalogue."""
    package = package_commands.find_package(missing, _project_of(values))
    if package is None and missing.log.project:
        package = package_commands.find_package(missing, missing.log.project)
    package = package or load_packages.package_of_file(values.get("name") or values.get("file", ""))
    if missing.target is None and "here" in values:
        missing = _with_torch(values["here"], missing) or missing
    cuda = values.get("torch_cuda", "").replace(".", "")
    variant = f"cu{cuda}" if cuda else None
    names = (values.get("project", ""), *_others_built(values, missing))
    groups = _packages_together(" ".join(names), missing) or ([] if package is None else [[package]])
    ways = (package_commands.install(first, missing, variant=variant, others=others) for first, *others in groups)
    return "\n".join(chain.from_iterable(ways)) or None


def _project_of(values: Values) -> str | None:
    return values.get("project") or values.get("crashing") or values.get("needed_by")


def _packages_together(names: str, missing: MissingName) -> list[list[Package]]:
    """The packages that a value names, those with the same wheels together."""
    groups: dict[tuple[str, ...], list[Package]] = {}
    for package in filter(None, (package_commands.find_package(missing, each) for each in names.split())):
        group = groups.setdefault(package.wheels, [])
        group.extend([package] if package not in group else [])
    return list(groups.values())


def module_of_project(values: Values, missing: MissingName) -> str | None:
    """The first module of the package (value `project`): `flash_attn` of flash-attn."""
    package = package_commands.find_package(missing, values.get("project"))
    return package.modules[0] if package is not None and package.modules else None


def clone_address(values: Values, missing: MissingName) -> str | None:
    """The address of the git repository of the package of the message; None if unknown."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return None if package is None else package.checkout or package.repository.partition("@")[0] or None


def reinstalled_alone(values: Values, missing: MissingName) -> bool:
    """Whether the commands of `reinstall_package` leave torch as it is."""
    return "--no-deps" in (reinstall_package(values, missing) or "")


def build_of_clone(values: Values, missing: MissingName) -> str | None:
    """The command that builds the package of the message from its repository, which pip clones with its submodules;
    None if the package index has its source."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return (
        extension_fixes.rebuild(missing, project=package.name) if package is not None and package.repository else None
    )


def reinstall_with_cuda(values: Values, missing: MissingName) -> str | None:
    """The same where a CPU build of torch is of no use."""
    if not missing.log.gpu and not is_for_hip(missing):
        missing = missing.with_knowledge(log=replace(missing.log, gpu=NVIDIA))
    return reinstall_package(values, missing)


_BY_TORCH: Final = 'TORCH_CUDA_ARCH_LIST="{capability}"'


def build_for_capability(values: Values, missing: MissingName) -> str:
    """The commands that build the package of the message for the value `gpu`, or for the GPU of the text."""
    package = package_commands.find_package(missing, built_project(values, missing))
    capability = gpu_facts.capability(values, missing) or missing.log.capability
    digits = capability.replace(".", "") or "XY"
    build = rebuild(values, missing) or ""
    setting = (None if package is None else package.architectures) or _BY_TORCH
    if "=" not in setting:
        flag = f"-gencode arch=compute_{digits},code=sm_{digits}"
        return f"add {flag} to {setting} of {package and package.name}, which lists the GPUs; {build}"
    setting = setting.format(digits=digits, capability=capability or "X.Y")
    return f"export {setting}; {build}"


def repeats_failed_install(values: Values, missing: MissingName) -> bool:
    """Whether `reinstall_package` asks the index that had no file (value `failed_index`) for it again."""
    index = values.get("failed_index", "").rstrip("/")
    return bool(index) and index in (reinstall_package(values, missing) or "")


def prebuilt_package(values: Values, missing: MissingName) -> str | None:
    """Where the build of the package of the message for this GPU is, if pip cannot build it."""
    package = package_commands.find_package(missing, built_project(values, missing))
    if package is None or package.sdist or package.repository or package.command:
        return None
    return "\n".join(package_commands.install(package, missing)) or None


def pip_project(values: Values, _missing: MissingName) -> str | None:
    """The project that pip was building (value `project`), as pip spells it, in the release of its command (value
    `pinned`)."""
    name = normalised(values.get("project"))
    return f"{name}=={values['pinned']}" if name and "pinned" in values else name


def pythons_on_page(values: Values, missing: MissingName) -> str | None:
    """The CPythons for which the value `torch` and the wheel of the value `project` for it exist: `3.7-3.10`."""
    package = package_commands.find_package(missing, values.get("project"))
    pythons = () if package is None else wheel_rows.pythons_of_package(package, values.get("torch", ""))
    return f"{pythons[0]}-{pythons[-1]}" if pythons else None


def newest_python_on_page(values: Values, missing: MissingName) -> str | None:
    """The newest of them."""
    return (pythons_on_page(values, missing) or "").rpartition("-")[2] or None


def wheel_of_package(values: Values, missing: MissingName) -> bool:
    """Whether the package of the message has a wheel that `reinstall_package` installs, and can also be built."""
    package = package_commands.find_package(missing, built_project(values, missing) or values.get("needed_by"))
    has_both = package is not None and package.wheels and (package.sdist or package.repository)
    return bool(has_both) and "--no-build-isolation" not in (reinstall_package(values, missing) or "")


def published_wheel(values: Values, missing: MissingName) -> bool:
    """Whether the first way of `reinstall_package` is a wheel, which needs no compiler."""
    package = package_commands.find_package(missing, built_project(values, missing) or values.get("needed_by"))
    if package is None or not (package.wheels or package.cuda) or missing.log.is_musl:
        return False
    first = (reinstall_package(values, missing) or "").partition("\n")[0]
    is_built = "--no-build-isolation" in first and "published wheel" not in first
    return (
        first.startswith(("pip install", "python -m pip install", "conda install", "Install the wheel"))
        and not is_built
    )


def build_for_torch(values: Values, missing: MissingName) -> str | None:
    """The package of the message, if its wheels are each for one torch or CUDA."""
    package = package_commands.find_package(missing, built_project(values, missing) or values.get("needed_by"))
    return None if package is None or not package.wheels else safe(package.name, "") or None


def cuda_wheels(values: Values, missing: MissingName) -> str | None:
    """The commands that install the CUDA build of the target's torch (value `label`: the preferred variant) and the
    wheel of the package (value `project`) for it; None if no such wheel is known, or the GPU is not NVIDIA's."""
    if gpu_vendor_of(missing) in WITHOUT_CUDA_CODE:
        return None
    groups = [] if is_for_hip(missing) else _packages_together(built_project(values, missing) or "", missing)
    found = (wheel_rows.together(first, others) for first, *others in groups)
    commands = [wheel_choice.with_cuda(package, missing, values.get("label", "")) for package in found]
    return "\n".join(chain(*commands[:1], *(each[-1:] for each in commands[1:]))) or None


def wheels_for_other_python(values: Values, missing: MissingName) -> str | None:
    """How to keep the target's torch where its wheels of the packages (value `project`) are for other CPythons than
    that of the text: another CPython, or a build; None where that is not so."""
    first, *_ = _packages_together(built_project(values, missing) or "", missing) or [[]]
    other = wheel_choice.for_other_python(first[0], missing) if first and not is_for_hip(missing) else None
    commands = None if other is None else cuda_wheels(values, other)
    if other is None or commands is None or missing.target is None:
        return None
    python, torch = missing.loading_python, missing.target.version
    wanted = f"No wheel of {projects(values, missing)} is for torch {versions.minor(torch)} and Python {python}."
    lead = f"{wanted} To keep torch {torch}, in an environment with Python {other.loading_python}:"
    if not torch_commands.is_installable(torch, missing):
        return f"{lead}\n{commands}"
    return "\n".join((lead, commands, f"or, for Python {python}, build from source:", rebuild(values, missing) or ""))


def on_conda_forge(values: Values, missing: MissingName) -> bool:
    """Whether torch is a build of conda-forge, which also has the packages (value `project`)."""
    known = map(packages_by_name().get, values.get("project", "").split())
    return missing.log.packager == "conda-forge" and any(each is not None and each.conda_forge for each in known)


def needs_cuda_torch(values: Values, missing: MissingName) -> bool:
    """Whether the package of the message works with CUDA alone, and its torch (value `here`) is a CPU build, as every
    one is on macOS."""
    package = package_commands.find_package(missing, built_project(values, missing))
    is_cpu = values.get("here", "").endswith("+cpu") or wheel_rows.platform_of(missing) == "macosx"
    return is_cpu and package is not None and package.cuda_only


def cuda_build(values: Values, missing: MissingName) -> str | None:
    """The commands that build the package of the message with nvcc for a torch that was built from source, which has no
    wheels; None for a release of torch, another GPU than NVIDIA's, and a package without rows of sources for HIP."""
    no_cuda = is_for_hip(missing) or gpu_vendor_of(missing) in WITHOUT_CUDA_CODE
    no_cuda = no_cuda or wheel_rows.platform_of(missing) == "macosx"
    if no_cuda or not missing.knowledge.target_from_source or hip_project(values, missing) is None:
        return None
    missing = missing.with_knowledge(log=replace(missing.log, gpu=NVIDIA))
    return extension_fixes.rebuild(missing, project=built_project(values, missing))


def cuda_torch(_values: Values, missing: MissingName) -> str | None:
    """The command that installs the CUDA build of the target's torch, if the text names a GPU of NVIDIA and does not
    say that torch was built from source."""
    if missing.target is None or gpu_vendor_of(missing) != NVIDIA or missing.knowledge.target_from_source:
        return None
    version = missing.target.version
    command = torch_commands.install_torch(version, missing, cuda="")
    if command is None and _indexed_variant(missing):
        command = torch_commands.from_package_index(version, missing)
    return command and torch_commands.force_reinstall(command)


def install_beside_cuda(values: Values, missing: MissingName) -> str | None:
    """The commands that install the package for that torch."""
    target = missing.target
    if target is None:
        return None
    found = torch_commands.find_torch(target.version, missing, cuda="")
    variant = _indexed_variant(missing) if found is None else found[1]
    return reinstall_package(values, _with_torch(f"{target.version}+{variant}", missing) or missing)


def _indexed_variant(missing: MissingName) -> str:
    """The CUDA variant of the target's release on the package index for Linux on x86_64; empty if unknown."""
    return torch_fixes.cuda_variant(missing) if wheel_rows.platform_of(missing) == "linux_x86_64" else ""


def built_project(values: Values, missing: MissingName) -> str | None:
    """The package that the message is about: the value `project`, else the one of the whole text, else that of the
    module `name`."""
    found = values.get("project") or missing.log.project
    of_module = None if found else load_packages.package_of_file(values.get("name", ""))
    return found or (None if of_module is None else of_module.name)


def build_of_project(values: Values, missing: MissingName) -> str | None:
    """The command that builds the package of the message, if its sources are not on the package index."""
    package = package_commands.find_package(missing, built_project(values, missing))
    is_elsewhere = package is not None and bool(package.command or (package.repository and not package.sdist))
    return rebuild(values, missing) if is_elsewhere else None


def build_tree(values: Values, missing: MissingName) -> str:
    """The command that builds the sources of the package in DIRECTORY."""
    if gpu_facts.with_hip(values, missing) and not gpu_vendor_of(missing):
        missing = with_gpu_of(AMD, missing)
    return extension_fixes.build_tree(missing, built_project(values, missing))


def source_tree(values: Values, missing: MissingName) -> str:
    """The source tree of the package of the message, for a comment about DIRECTORY."""
    return extension_fixes.source_tree(missing, built_project(values, missing))


def package_of_file(values: Values, _missing: MissingName) -> str | None:
    """The package on a package index that has the value `file`, by its path."""
    return file_package.distribution_of_file(values.get("file", ""))


def reinstall_file(values: Values, _missing: MissingName) -> str | None:
    """The commands that install the package with the value `file` again, by its path."""
    return file_package.reinstall_file(values.get("file", ""))


def older_name(values: Values, missing: MissingName) -> str | None:
    """The distribution with older releases of the package (value `project`), if the text names no later release."""
    package = package_commands.find_package(missing, values.get("project"))
    if package is None or package.former is None:
        return None
    there, first = versions.order(missing.log.releases.get(package.name, "")), versions.order(package.former.before)
    return None if there is not None and first is not None and there >= first else package.former.name


def is_older(values: Values, missing: MissingName) -> bool:
    """Whether the text names a release of the package that is of this distribution."""
    there = versions.order(missing.log.releases.get(values.get("project", ""), ""))
    return there is not None and there < (versions.order(older_before(values, missing) or "") or ())


def older_before(values: Values, missing: MissingName) -> str | None:
    """The first release of the package that is not of this distribution."""
    package = package_commands.find_package(missing, values.get("project"))
    return None if package is None or package.former is None else package.former.before


def install_older(values: Values, missing: MissingName) -> str | None:
    """The commands that install this distribution."""
    return reinstall_package({"project": older_name(values, missing) or ""}, missing)


def distribution(values: Values, _missing: MissingName) -> str | None:
    """The package in the message (value `needed_by`), normalised."""
    return normalised(values.get("needed_by"))


def _with_torch(text: str, missing: MissingName) -> MissingName | None:
    """The same with an installed torch (`2.1.0+cu121`); None if the text is no release."""
    version, _, label = text.partition("+")
    if not versions.is_release(version):
        return None
    return missing.with_knowledge(target=TorchBuild(TorchKind.RELEASE, version, label, None, None, None, None, None))


def replace_with_built_torch(values: Values, missing: MissingName) -> str | None:
    """The same for a torch of that release in another variant, which pip takes for the same: `2.1.0+cpu` fits
    `torch==2.1.0`."""
    command = install_built_torch(values, missing)
    return command and torch_commands.force_reinstall(command)


def install_built_torch(values: Values, missing: MissingName) -> str | None:
    """The command that installs the torch that an extension was built for (value `built`, with its label): any patch
    release if only the minor one is known."""
    version, _, label = values.get("built", "").partition("+")
    there = _with_torch(values.get("built", ""), missing)
    if there is None:
        return None
    wanted = f"torch=={version}" if version.count(".") > 1 else f'"torch=={version}.*"'
    return torch_commands.install_torch(version, there, variant=label) or f"pip install {wanted}"


def hip_project(values: Values, missing: MissingName) -> str | None:
    """The package of the message, if its sources differ in the HIP that they compile with."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return None if package is None or not package.hip else package.name


def module_of_checkout(values: Values, _missing: MissingName) -> bool:
    """Whether the value `file` is a Python module outside of the folders of pip."""
    file = values.get("file", "")
    is_module = re.search(r"\.(?:cpython-\d|abi3)", file) is not None
    return is_module and not re.search(r"(?:site|dist)-packages", file)


# --- with HIP, for GPUs of AMD ---------------------------------------------------------------------------------------


def rocm_wheels(values: Values, missing: MissingName) -> str | None:
    """Where wheels of the package for ROCm are, if the GPU is AMD's."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return None if package is None else wheels_for_rocm((package,), missing)


def hip_rebuild(values: Values, missing: MissingName) -> str | None:
    """The builds of the package of the message that compile with HIP; None if no such source is known."""
    if hip_project(values, missing) is None:
        return None
    there = missing if is_for_hip(missing) else with_gpu_of(AMD, missing)
    project, named = built_project(values, missing), missing.log.projects
    # A file in the message may be of another package than those that the text names.
    return extension_fixes.rebuild(there, project, named if project in named else ())


def compiles_with_hip(values: Values, missing: MissingName) -> str | None:
    """A sentence: with which HIP the release of the package in the text compiles; None without a release or for any
    HIP."""
    name = hip_project(values, missing) or ""
    release = missing.log.project_release or missing.log.asked_releases.get(name, "")
    note = hip_note(name, release) if release else None
    return None if note is None else f"{note.partition('. ')[0]}."
