"""Table of facts for templates and conditions of the message catalogue, besides captured values. A fact is computed
from captured values, the file and the target; None if unknown. It is safe in a command."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from abiscan.diagnosis import file_package, fixes, package_commands, torch_commands, wheel_rows
from abiscan.diagnosis.build_commands import wheels_for_rocm
from abiscan.diagnosis.catalogue.companion_facts import COMPANION_FACTS
from abiscan.diagnosis.catalogue.load_packages import package_of_file, packages_by_name
from abiscan.diagnosis.catalogue.source_facts import SOURCE_FACTS
from abiscan.diagnosis.causes import template_mangling
from abiscan.diagnosis.hip_sources import is_for_hip, rocm_of, vendor_of
from abiscan.diagnosis.messages.gpu_vendors import AMD, DCU, NO_GPU, NPU, NVIDIA
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.system_packages import install_headers, library_of_header
from abiscan.model import versions
from abiscan.model.gpu_toolkits import first_toolkit, last_toolkit
from abiscan.model.module_name import operator_namespace
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.ownership.torch_names import is_torch_library
from abiscan.releases import companions
from abiscan.releases.companions import built_for
from abiscan.releases.pythons import with_wheels

Values = Mapping[str, str]


def _rebuild(values: Values, missing: MissingName) -> str | None:
    """The commands that build the extensions from source: of the value `project`, else of the package of the text.
    Those with other variables are built by another command."""
    named = [fixes.normalised(each) or "" for each in (_built_project(values, missing) or "").split()]
    known = packages_by_name()
    alike: dict[tuple[str, ...], list[str]] = {}
    for each in named:
        alike.setdefault(tuple(known[each].environment) if each in known else (), []).append(each)
    if len(alike) < 2:
        return fixes.rebuild(missing, project=named[0] if named else None, others=named[1:])
    return "\n".join(fixes.rebuild(missing, project=first, others=others) for first, *others in alike.values())


def _companion_build(values: Values, missing: MissingName) -> str | None:
    """The command that builds the companion of torch whose operators the message names (value `project`)."""
    package = companions.registers(values.get("project", ""))
    return None if package is None else fixes.rebuild(missing, project=package)


def _reinstall_package(values: Values, missing: MissingName) -> str | None:
    """The commands that install the package (value `project` or `needed_by`) for the target's torch, or for its CUDA
    (value `torch_cuda`); None if it is not in the package catalogue."""
    package = package_commands.find_package(missing, values.get("project") or values.get("needed_by"))
    if package is None and missing.knowledge.project:
        package = package_commands.find_package(missing, missing.knowledge.project)
    if missing.target is None and "here" in values:
        missing = _with_torch(values["here"], missing) or missing
    cuda = values.get("torch_cuda", "").replace(".", "")
    ways = () if package is None else package_commands.install(package, missing, variant=f"cu{cuda}" if cuda else None)
    return "\n".join(ways) or None


def _install_built_torch(values: Values, missing: MissingName) -> str | None:
    """The command that installs the torch that an extension was built for (value `built`, with its label)."""
    version = values.get("built", "").partition("+")[0]
    there = _with_torch(values.get("built", ""), missing)
    return None if there is None else torch_commands.install_torch(version, there) or f"pip install torch=={version}"


def _with_torch(text: str, missing: MissingName) -> MissingName | None:
    """The same with an installed torch (`2.1.0+cu121`); None if the text is no release."""
    version, _, label = text.partition("+")
    if not versions.is_release(version):
        return None
    target = TorchBuild(TorchKind.RELEASE, version, label, None, None, None, None, None)
    return MissingName(missing.reference, replace(missing.knowledge, target=target), missing.file)


def _capability(values: Values, _missing: MissingName) -> str | None:
    """`8.6` for the value `gpu` sm_86 or compute_86."""
    found = re.fullmatch(r"(?:sm|compute)_(\d{1,2})(\d)[af]?", values.get("gpu", ""))
    return None if found is None else f"{found[1]}.{found[2]}"


def _gpu_first_cuda(values: Values, missing: MissingName) -> str | None:
    """The first CUDA release that compiles for the value `gpu`."""
    return first_toolkit(_capability(values, missing) or "")


def _gpu_last_cuda(values: Values, missing: MissingName) -> str | None:
    """The last CUDA release that compiles for the value `gpu`."""
    return last_toolkit(_capability(values, missing) or "")


def _torch_lacks_gpu(values: Values, missing: MissingName) -> str | None:
    """Given where the target's CUDA is older than the first release for the value `gpu`."""
    first, there = (
        versions.order(_gpu_first_cuda(values, missing) or ""),
        versions.order(_target_cuda(values, missing) or ""),
    )
    return "yes" if first and there and there < first else None


# Families of Radeon GPUs -> the GPU that has code in ROCm's libraries (https://rocm.docs.amd.com, the table of
# supported GPUs) and runs theirs, as reported in its discussions.
_RADEON = (("gfx101", "10.3.0"), ("gfx103", "10.3.0"), ("gfx110", "11.0.0"), ("gfx115", "11.0.0"))


def _radeon_override(values: Values, missing: MissingName) -> str | None:
    """The value of HSA_OVERRIDE_GFX_VERSION for the value `gpu`, a Radeon without code of its own."""
    gpu = values.get("gpu", "")
    return next((version for family, version in _RADEON if gpu.startswith(family)), None)


# Builds of torch for CUDA 12.8 and later have code from 7.5 on (https://github.com/pytorch/pytorch/blob/main/RELEASE.md
# and .ci/manywheel/build_cuda.sh, 2026-11-25).
_OLDEST_SINCE_12_8 = (7, 5)


def _torch_for_gpu(values: Values, missing: MissingName) -> str | None:
    """The command that installs a torch with code for the value `gpu`, which is newer or older than most builds."""
    at = versions.order(_capability(values, missing) or "")
    if not at:
        return None
    if at >= (10, 0):
        return "pip install -U torch --index-url https://download.pytorch.org/whl/cu128  # torch 2.7 or later"
    if at[:2] < _OLDEST_SINCE_12_8:
        newer = "builds for later CUDA have no code for it"
        return f"pip install -U torch --index-url https://download.pytorch.org/whl/cu126  # {newer}"
    if _torch_lacks_gpu(values, missing) is not None:
        return "pip install -U torch --index-url https://download.pytorch.org/whl/cu126"
    return None


def _pip_project(values: Values, _missing: MissingName) -> str | None:
    """The project that pip was building (value `project`), as pip spells it."""
    return fixes.normalised(values.get("project"))


def _header_product(values: Values, _missing: MissingName) -> str | None:
    """The library of the system that has the value `header`."""
    row = library_of_header(values.get("header", ""))
    return None if row is None else row.product


def _header_package(values: Values, _missing: MissingName) -> str | None:
    """The commands that install the headers with the value `header`."""
    row = library_of_header(values.get("header", ""))
    return None if row is None else "\n".join(install_headers(row))


def _pythons_of_torch(values: Values, _missing: MissingName) -> str | None:
    """The CPythons for which the value `torch` has wheels: `3.6-3.9`."""
    pythons = with_wheels(values.get("torch", ""))
    return f"{pythons[0]} - {pythons[-1]}" if pythons else None


def _pythons_on_page(values: Values, missing: MissingName) -> str | None:
    """The CPythons for which the value `torch` and the wheel of the value `project` for it exist: `3.7-3.10`."""
    package = package_commands.find_package(missing, values.get("project"))
    pythons = () if package is None else wheel_rows.pythons_of_package(package, values.get("torch", ""))
    return f"{pythons[0]}-{pythons[-1]}" if pythons else None


def _newest_python_on_page(values: Values, missing: MissingName) -> str | None:
    """The newest of them."""
    return (_pythons_on_page(values, missing) or "").rpartition("-")[2] or None


def _newest_python_of_torch(values: Values, _missing: MissingName) -> str | None:
    """The newest of them."""
    pythons = with_wheels(values.get("torch", ""))
    return str(pythons[-1]) if pythons else None


def _install_torch(values: Values, missing: MissingName) -> str | None:
    """The command that installs the value `torch` in the variant `label`, else of the target, else the build of the
    package index."""
    label = values.get("label", "")
    version = values.get("torch", "")
    if not label and vendor_of(missing) == AMD and not (missing.target and missing.target.variant.startswith("rocm")):
        label = f"rocm{rocm_of(missing)}"
    known = label or (missing.target and vendor_of(missing) != DCU)
    command = torch_commands.install_torch(version, missing, variant=label) if known else None
    return command or torch_commands.from_package_index(version, missing)


def _wheel_of_package(values: Values, missing: MissingName) -> str | None:
    """Given where the package of the message has a wheel that `reinstall_package` installs, and can also be built."""
    package = package_commands.find_package(missing, values.get("project") or values.get("needed_by"))
    has_both = package is not None and package.wheels and (package.sdist or package.repository)
    return "yes" if has_both and "--no-build-isolation" not in (_reinstall_package(values, missing) or "") else None


def _cuda_wheels(values: Values, missing: MissingName) -> str | None:
    """The commands that install the CUDA build of the target's torch (value `label`: the preferred variant) and the
    wheel of the package (value `project`) for it; None if no such wheel is known, or the GPU is not NVIDIA's."""
    package = package_commands.find_package(missing, _built_project(values, missing))
    if package is None or _is_not_nvidia(values, missing):
        return None
    return "\n".join(package_commands.with_cuda(package, missing, values.get("label", ""))) or None


def _built_project(values: Values, missing: MissingName) -> str | None:
    """The package that the message is about: the value `project`, else the one of the whole text, else that of the
    module `name`."""
    found = values.get("project") or missing.knowledge.project
    of_module = None if found else package_of_file(values.get("name", ""))
    return found or (None if of_module is None else of_module.name)


def _gpu_vendor(_values: Values, missing: MissingName) -> str | None:
    """The vendor of the GPU, according to the text or the variant of torch: `nvidia`, `amd`, `dcu`."""
    return vendor_of(missing) or None


def _is_not_nvidia(_values: Values, missing: MissingName) -> str | None:
    """Set if the text names a GPU of AMD or Hygon, or torch is for ROCm."""
    return "yes" if is_for_hip(missing) else None


def _for_hip(_values: Values, missing: MissingName) -> str | None:
    """Set if the GPU is AMD's or Hygon's, or torch is for ROCm."""
    return "yes" if is_for_hip(missing) else None


def _with_hip(values: Values, missing: MissingName) -> str | None:
    """Set if HIP's compiler failed: the message shows it (value `hip`), the GPU is AMD's or Hygon's, or the text
    retells the message (value `prose`) and names no GPU of NVIDIA."""
    return "yes" if values.get("hip") or is_for_hip(missing) or _retold_of_hip(values, missing) else None


def _retold_of_hip(values: Values, missing: MissingName) -> bool:
    return "prose" in values and vendor_of(missing) != NVIDIA


def _hip_is_likely(values: Values, missing: MissingName) -> str | None:
    """Set if only the form of the message shows HIP, as Clang prints it for CUDA, too."""
    is_shown = "generated" in values or is_for_hip(missing)
    return "yes" if values.get("hip") == "__ldg" and not is_shown else None


def _build_tree(values: Values, missing: MissingName) -> str:
    """The command that builds the sources of the package in DIRECTORY."""
    return fixes.build_tree(missing, _built_project(values, missing))


def _rocm_wheels(values: Values, missing: MissingName) -> str | None:
    """Where wheels of the package for ROCm are, if the GPU is AMD's."""
    package = package_commands.find_package(missing, _built_project(values, missing))
    return None if package is None else wheels_for_rocm((package,), missing)


def _torch_from_source(_values: Values, missing: MissingName) -> str | None:
    """Set if torch was built from source, according to its version or the text."""
    return "yes" if missing.knowledge.target_from_source else None


def _for_cpu(_values: Values, missing: MissingName) -> str | None:
    """Set if torch has no code for a GPU of NVIDIA or AMD: a CPU build or one for an NPU, according to the text or its
    variant; on macOS."""
    is_cpu = vendor_of(missing) in (NO_GPU, NPU) or (missing.target and missing.target.variant == "cpu")
    return "yes" if is_cpu or wheel_rows.platform_of(missing) == "macosx" else None


def _platform(_values: Values, missing: MissingName) -> str:
    """The platform, as in wheel tags: `linux_x86_64`, `win_amd64`."""
    return wheel_rows.platform_of(missing)


def _hip_rebuild(values: Values, missing: MissingName) -> str | None:
    """The builds of the package of the message that compile with HIP; None if no such source is known."""
    if _hip_project(values, missing) is None:
        return None
    if not is_for_hip(missing):
        known = replace(missing.knowledge, gpu=AMD, target=_without_variant(missing.target))
        missing = MissingName(missing.reference, known, missing.file)
    return fixes.rebuild(missing, project=_built_project(values, missing))


def _without_variant(target: TorchBuild | None) -> TorchBuild | None:
    return None if target is None else replace(target, variant="", cuda=None)


def _hip_project(values: Values, missing: MissingName) -> str | None:
    """The package of the message, if its sources differ in the HIP that they compile with."""
    package = package_commands.find_package(missing, _built_project(values, missing))
    return None if package is None or not package.hip else package.name


def _torch_of_release(values: Values, _missing: MissingName) -> str | None:
    """The torch release of the value `release` of the value `project`, a package released with torch: `1.8`."""
    return built_for(values.get("project", ""), values.get("release", ""))


def _pythons_of_release(values: Values, missing: MissingName) -> str | None:
    """The CPythons with wheels of that torch."""
    return _pythons_of_torch({"torch": f"{_torch_of_release(values, missing)}.0"}, missing)


def _newest_python_of_release(values: Values, missing: MissingName) -> str | None:
    """The newest of them."""
    return _newest_python_of_torch({"torch": f"{_torch_of_release(values, missing)}.0"}, missing)


def _torch_for_toolkit(values: Values, missing: MissingName) -> str | None:
    """The command that installs a torch for the value `toolkit_cuda`: the target's release if it has that variant."""
    variant = f"cu{values.get('toolkit_cuda', '').replace('.', '')}"
    # A toolkit compiles for every torch of its CUDA major release.
    command = torch_commands.torch_of_variant(variant, missing)
    command = command or torch_commands.torch_for_cuda(values.get("toolkit_cuda", ""), missing, same_major=True)
    return None if command is None else command.replace("pip install", "pip install --force-reinstall", 1)


def _torch_of_other_cuda(_values: Values, missing: MissingName) -> str | None:
    """The command that installs the target's torch for another CUDA, preferably a newer one."""
    here = (_target_cuda(_values, missing) or "").partition(".")[0]
    if not here or missing.target is None:
        return None
    ways = (torch_commands.install_torch(missing.target.version, missing, cuda=str(int(here) + by)) for by in (1, -1))
    command = next(filter(None, ways), None)
    return None if command is None else command.replace("pip install", "pip install --force-reinstall", 1)


def _torch_for_driver(values: Values, missing: MissingName) -> str | None:
    """The command that installs the newest torch for a CUDA that the driver (value `driver_cuda`) supports."""
    command = torch_commands.torch_for_cuda(values.get("driver_cuda", ""), missing)
    return None if command is None else command.replace("pip install", "pip install --force-reinstall", 1)


def _module_of_checkout(values: Values, _missing: MissingName) -> str | None:
    """Given where the value `file` is a Python module outside of the folders of pip."""
    file = values.get("file", "")
    is_module = re.search(r"\.(?:cpython-\d|abi3)", file) is not None
    return "yes" if is_module and not re.search(r"(?:site|dist)-packages", file) else None


def _torch_itself(_values: Values, missing: MissingName) -> str | None:
    """Arguments of `pip install` for the target's torch."""
    found = None if missing.target is None else torch_commands.find_torch(missing.target.version, missing)
    return None if found is None else found[0]


def _cuda_of_no_release(values: Values, _missing: MissingName) -> str | None:
    """Set if no release of torch has the CUDA of the value `torch_cuda`."""
    return "yes" if torch_commands.is_cuda_of_no_release(values.get("torch_cuda", "")) else None


def _target_torch(_values: Values, missing: MissingName) -> str | None:
    """The target's torch if it is a CUDA build: `torch 2.6.0 (cu124)`."""
    return missing.target_label if _target_cuda(_values, missing) else None


def _target_cuda(_values: Values, missing: MissingName) -> str | None:
    """The CUDA release of the target's torch."""
    return None if missing.target is None else missing.target.cuda


def _target(_values: Values, missing: MissingName) -> str | None:
    """The target in a sentence: `torch 2.6.0 (cu124)`."""
    return None if missing.target is None else missing.target_label


def _target_version(_values: Values, missing: MissingName) -> str | None:
    """The version of the target's torch: `2.6.0`."""
    return None if missing.target is None else missing.target.version


def _operator_module(values: Values, _missing: MissingName) -> str | None:
    """The module that most likely registers the operators of the namespace `project`."""
    namespace = values.get("project", "")
    return fixes.safe(namespace.lstrip("_") or namespace, "PACKAGE")


def _gpu_is_newer(values: Values, _missing: MissingName) -> str | None:
    """Set if the value `gpu` is newer than each of `supported`."""
    gpu, supported = _number(values.get("gpu")), [_number(each) for each in values.get("supported", "").split(", ")]
    return "yes" if gpu and any(supported) and gpu > max(supported) else None


def _gpu_is_older(values: Values, _missing: MissingName) -> str | None:
    """Set if the value `gpu` is older than each of `supported`, or the message has the value `too_old`."""
    gpu, supported = _number(values.get("gpu")), [_number(each) for each in values.get("supported", "").split(", ")]
    return "yes" if "too_old" in values or (gpu and any(supported) and gpu < min(supported)) else None


def _of_torch(values: Values, _missing: MissingName) -> str | None:
    """Set if the DLL (values `name`, `folder`) belongs to torch, or torch was imported and none but its `_C` is
    named."""
    name, folder = values.get("name", ""), values.get("folder", "").replace("\\", "/").lower()
    own = is_torch_library(name) or folder.endswith("/torch/lib/")
    return "yes" if own or (name in ("", "_C") and "torch_imported" in values) else None


def _dll(values: Values, _missing: MissingName) -> str | None:
    """The value `name` if it is a DLL."""
    name = values.get("name", "")
    return fixes.safe(name, "FILE") if name.lower().endswith(".dll") else None


def _extension_of_dll(values: Values, _missing: MissingName) -> str | None:
    """The value `name` if it is a module with a name of its own: many are called `_C`."""
    name = values.get("name", "")
    return None if name.startswith("_") else fixes.safe(name, "") or None


def _foreign_dll(values: Values, missing: MissingName) -> str | None:
    """The value `name` if it is a DLL that does not belong to torch."""
    return None if _of_torch(values, missing) else _dll(values, missing)


def _built_for(values: Values, _missing: MissingName) -> str | None:
    """`older` or `newer`: the torch that the extension was built for (value `built`) compared with the installed one
    (`here`)."""
    built, here = versions.order(values.get("built", "")), versions.order(values.get("here", ""))
    return None if built is None or here is None or built == here else "older" if built < here else "newer"


def _distribution(values: Values, _missing: MissingName) -> str | None:
    """The package in the message (value `needed_by`), normalised."""
    return fixes.normalised(values.get("needed_by"))


def _python(_values: Values, missing: MissingName) -> str | None:
    """The interpreter: `3.12`."""
    python = None if missing.environment is None else missing.environment.python
    return None if python is None else str(python)


def _is_this_python(values: Values, missing: MissingName) -> str | None:
    """`yes` if the interpreter is one of `for_python`, `no` if it is another."""
    python, for_python = _python(values, missing), values.get("for_python")
    if python is None or for_python is None:
        return None
    return "yes" if python.removesuffix("t") in for_python.split(", ") else "no"


def _operator_namespace(values: Values, _missing: MissingName) -> str | None:
    """The namespace of an operator that replaces a function of the value `module`."""
    return fixes.safe(operator_namespace(values["module"]), "NAMESPACE") if "module" in values else None


def _package_of_file(values: Values, _missing: MissingName) -> str | None:
    """The package on a package index that has the value `file`, by its path."""
    return file_package.package_of_file(values.get("file", ""))


def _reinstall_file(values: Values, _missing: MissingName) -> str | None:
    """The commands that install the package with the value `file` again, by its path."""
    return file_package.reinstall_file(values.get("file", ""))


def _without_const(_values: Values, missing: MissingName) -> str:
    """What to change where a text names at::TensorBase::const_data_ptr<T>(), without its mangling."""
    return template_mangling.fix_for_any_element(missing)


def _needs_checkout(_values: Values, _missing: MissingName) -> str:
    """The condition of `abiscan fix --apply`."""
    return fixes.NEEDS_CHECKOUT


def _number(name: str | None) -> int:
    found = re.search(r"\d{1,4}", name or "")
    return int(found[0]) if found is not None else 0


FACTS: Final[Mapping[str, Callable[[Values, MissingName], str | None]]] = {
    "rebuild": _rebuild,
    "reinstall_package": _reinstall_package,
    "install_built_torch": _install_built_torch,
    "capability": _capability,
    "gpu_first_cuda": _gpu_first_cuda,
    "gpu_last_cuda": _gpu_last_cuda,
    "torch_lacks_gpu": _torch_lacks_gpu,
    "torch_for_gpu": _torch_for_gpu,
    "radeon_override": _radeon_override,
    "pip_project": _pip_project,
    "header_product": _header_product,
    "header_package": _header_package,
    "pythons_of_torch": _pythons_of_torch,
    "pythons_on_page": _pythons_on_page,
    "newest_python_on_page": _newest_python_on_page,
    "newest_python_of_torch": _newest_python_of_torch,
    "install_torch": _install_torch,
    "wheel_of_package": _wheel_of_package,
    "cuda_wheels": _cuda_wheels,
    "built_project": _built_project,
    "gpu_vendor": _gpu_vendor,
    "is_not_nvidia": _is_not_nvidia,
    "for_hip": _for_hip,
    "for_cpu": _for_cpu,
    "torch_from_source": _torch_from_source,
    "with_hip": _with_hip,
    "hip_is_likely": _hip_is_likely,
    "build_tree": _build_tree,
    "rocm_wheels": _rocm_wheels,
    "companion_build": _companion_build,
    "platform": _platform,
    "hip_rebuild": _hip_rebuild,
    "hip_project": _hip_project,
    "torch_of_release": _torch_of_release,
    "pythons_of_release": _pythons_of_release,
    "newest_python_of_release": _newest_python_of_release,
    "torch_for_toolkit": _torch_for_toolkit,
    "cuda_of_no_release": _cuda_of_no_release,
    "torch_of_other_cuda": _torch_of_other_cuda,
    "torch_itself": _torch_itself,
    "torch_for_driver": _torch_for_driver,
    "module_of_checkout": _module_of_checkout,
    "target_torch": _target_torch,
    "target_cuda": _target_cuda,
    **COMPANION_FACTS,
    **SOURCE_FACTS,
    "target": _target,
    "target_version": _target_version,
    "operator_module": _operator_module,
    "gpu_is_newer": _gpu_is_newer,
    "gpu_is_older": _gpu_is_older,
    "of_torch": _of_torch,
    "dll": _dll,
    "foreign_dll": _foreign_dll,
    "extension_of_dll": _extension_of_dll,
    "built_for": _built_for,
    "distribution": _distribution,
    "python": _python,
    "is_this_python": _is_this_python,
    "operator_namespace": _operator_namespace,
    "package_of_file": _package_of_file,
    "reinstall_file": _reinstall_file,
    "without_const": _without_const,
    "needs_checkout": _needs_checkout,
}
