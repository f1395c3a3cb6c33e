"""Facts of the message catalogue about the package of a message (values `project`, `needed_by`, `file`): how to build
it from source."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from abiscan.diagnosis.catalogue import load_packages
from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.facts import gpu_facts
from abiscan.diagnosis.fixes import (
    build_requirements,
    extension_fixes,
    package_commands,
    torch_commands,
    wheel_rows,
)
from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of, hip_note, is_for_hip, with_gpu_of
from abiscan.diagnosis.fixes.safe_names import normalised
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import AMD, NVIDIA, WITHOUT_CUDA_CODE
from abiscan.model import versions
from abiscan.model.gpu_toolkits import newest_capability
from abiscan.releases import companions


def built_project(values: Values, missing: MissingName) -> str | None:
    """The package that the message is about: the value `project`, else the one of the whole text, else that of the
    module `name`."""
    name, found = values.get("name", ""), values.get("project") or missing.log.project
    is_module = not found or normalised(found) == normalised(name)
    of_module = load_packages.package_of_file(name) if is_module else None
    return found if of_module is None else of_module.name


def rebuild(values: Values, missing: MissingName) -> str | None:
    """The commands that build the extensions from source: of the value `project`, else of the package of the text."""
    named = [normalised(each) or "" for each in (built_project(values, missing) or "").split()]
    others = (*named[1:], *(missing.built_packages if values.get("project") else ()))
    return extension_fixes.rebuild(missing, project=named[0] if named else None, others=others)


def several_built(values: Values, missing: MissingName) -> str | None:
    """These and the packages of the value `project`, if there are several: `torch-scatter, torch-sparse`."""
    names = dict.fromkeys(
        (
            *(normalised(each) or "" for each in values.get("project", "").split()),
            *(missing.built_packages if values.get("project") else ()),
        )
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


def module_of_project(values: Values, missing: MissingName) -> str | None:
    """The first module of the package (value `project`): `flash_attn` of flash-attn."""
    package = package_commands.find_package(missing, values.get("project"))
    return package.modules[0] if package is not None and package.modules else None


def module_of_checkout(values: Values, _missing: MissingName) -> bool:
    """Whether the value `file` is a Python module outside of the folders of pip."""
    file = values.get("file", "")
    is_module = re.search(r"\.(?:cpython-\d|abi3)", file) is not None
    return is_module and not re.search(r"(?:site|dist)-packages", file)


def clone_address(values: Values, missing: MissingName) -> str | None:
    """The address of the git repository of the package of the message; None if unknown."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return None if package is None else package.checkout or package.repository.partition("@")[0] or None


def build_of_clone(values: Values, missing: MissingName) -> str | None:
    """The command that builds the package of the message from its repository, which pip clones with its submodules;
    None if the package index has its source."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return (
        extension_fixes.rebuild(missing, project=package.name) if package is not None and package.repository else None
    )


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


def own_architectures(values: Values, missing: MissingName) -> str | None:
    """The variable of the package of the message for the GPUs that it is built for, where that is not torch's; its
    value is that of the GPU of the text, or of RTX 30."""
    package = package_commands.find_package(missing, built_project(values, missing))
    if package is None or "=" not in package.architectures:
        return None
    capability = missing.log.capability or "8.6"
    return package.architectures.format(digits=capability.replace(".", ""), capability=capability)


def build_for_older_gpu(values: Values, missing: MissingName) -> str | None:
    """The commands that build the package of the message for the newest GPU that nvcc compiles for, which is older than
    the first release with the value `gpu`; None for a GPU that only later releases drop."""
    first = gpu_facts.gpu_first_cuda(values, missing) or ""
    there = missing.log.toolkit or missing.target_cuda
    at, since = versions.order(there), versions.order(first)
    is_known = at is not None and since is not None and at[:2] < since
    older = newest_capability(there) if is_known else newest_capability(first, before=True)
    package = package_commands.find_package(missing, built_project(values, missing))
    has_own_list = package is not None and package.architectures
    if not first or older is None or has_own_list or gpu_facts.gpu_is_dropped(values, missing):
        return None
    build = build_for_capability({**values, "gpu": f"sm_{older.replace('.', '')}"}, missing)
    return build.replace(f'="{older}"', f'="{older}+PTX"', 1)


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


def cuda_build(values: Values, missing: MissingName) -> str | None:
    """The commands that build the package of the message with nvcc for a torch that was built from source, which has no
    wheels; None for a release of torch, another GPU than NVIDIA's, and a package without rows of sources for HIP."""
    no_cuda = is_for_hip(missing) or gpu_vendor_of(missing) in WITHOUT_CUDA_CODE
    no_cuda = no_cuda or wheel_rows.platform_of(missing) == "macosx"
    if no_cuda or not missing.knowledge.target_from_source or hip_project(values, missing) is None:
        return None
    missing = missing.with_knowledge(log=replace(missing.log, gpu=NVIDIA))
    return extension_fixes.rebuild(missing, project=built_project(values, missing))


# --- with HIP, for GPUs of AMD ---------------------------------------------------------------------------------------


def hip_project(values: Values, missing: MissingName) -> str | None:
    """The package of the message, if its sources differ in the HIP that they compile with."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return None if package is None or not package.hip else package.name


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
