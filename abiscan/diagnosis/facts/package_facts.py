"""Facts of the message catalogue about the package of a message (values `project`, `needed_by`, `file`): which
build of it to install."""

from __future__ import annotations

from itertools import chain

from msgspec.structs import replace

from abiscan.diagnosis.catalogue import load_packages
from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.facts.build_facts import built_project, rebuild
from abiscan.diagnosis.fixes import (
    file_package,
    package_commands,
    torch_commands,
    torch_fixes,
    wheel_choice,
    wheel_rows,
)
from abiscan.diagnosis.fixes.build_commands import wheels_for_rocm
from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of, is_for_hip
from abiscan.diagnosis.fixes.named_release import later_names, named_release, requirement
from abiscan.diagnosis.fixes.safe_names import normalised, safe
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import NVIDIA, WITHOUT_CUDA_CODE
from abiscan.model import versions
from abiscan.model.target import TorchBuild, TorchKind


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


def withdrawn_successor(values: Values, _missing: MissingName) -> str | None:
    """The newest post release of the value `asked` (`1.2.0`) in the value `listed` (`1.2.0.post1, 1.2.0.post2`)."""
    asked = values.get("asked")
    found = [each for each in values.get("listed", "").split(", ") if asked and each.startswith(f"{asked}.post")]
    return max(found, key=lambda each: versions.order(each) or (), default=None)


def projects(values: Values, _missing: MissingName) -> str | None:
    """The packages of the value `project` in a sentence: `torch-scatter, torch-sparse`."""
    return ", ".join(normalised(each) or "" for each in values.get("project", "").split()) or None


def is_other_label(values: Values, _missing: MissingName) -> bool:
    """Whether the values `label_of_wheel` and `label_of_torch` name two releases of CUDA."""
    label = values.get("label_of_wheel")
    return bool(label) and label != values.get("label_of_torch")


def reinstall_package(values: Values, missing: MissingName) -> str | None:
    """The commands that install the package (value `project` or `needed_by`) for the target's torch, or for its CUDA
    (value `torch_cuda`); None if it is not in the package catalogue."""
    named = values.get("project") or values.get("crashing") or values.get("needed_by")
    package = package_commands.find_package(missing, named)
    if package is None and missing.log.project:
        package = package_commands.find_package(missing, missing.log.project)
    package = package or load_packages.package_of_file(values.get("name") or values.get("file", ""))
    if missing.target is None and "here" in values:
        missing = _with_torch(values["here"], missing) or missing
    cuda = values.get("torch_cuda", "").replace(".", "")
    variant = f"cu{cuda}" if cuda else None
    names = (values["project"], *missing.built_packages) if values.get("project") else ()
    groups = _packages_together(" ".join(names), missing) or ([] if package is None else [[package]])
    ways = [package_commands.install(first, missing, variant=variant, others=others) for first, *others in groups]
    # Commands for two releases of torch exclude each other.
    if missing.target is not None:
        ways = [way for way in ways if not any(" torch==" in line for line in way)] or ways
    return "\n".join(chain.from_iterable(ways)) or None


def paired_command(values: Values, missing: MissingName) -> str | None:
    """The command that installs the value `torch` with its label (value `torch_label`), and the value `paired` for it;
    None without a label: the build of the package index is then asked for."""
    there = _with_torch(f"{values.get('torch', '')}+{values.get('torch_label', '')}", missing)
    if there is None or "torch_label" not in values:
        return None
    return reinstall_package({"project": values.get("paired", "")}, there)


def _packages_together(names: str, missing: MissingName) -> list[list[Package]]:
    """The packages that a value names, those with the same wheels together."""
    groups: dict[tuple[object, ...], list[Package]] = {}
    for package in filter(None, (package_commands.find_package(missing, each) for each in names.split())):
        is_newer = (versions.order(missing.target_version) or ())[:2] > (versions.order(package.last_torch) or (99,))
        group = groups.setdefault((package.wheels, is_newer), [])
        group.extend([package] if package not in group else [])
    return list(groups.values())


def reinstalled_alone(values: Values, missing: MissingName) -> bool:
    """Whether the commands of `reinstall_package` leave torch as it is."""
    return "--no-deps" in (reinstall_package(values, missing) or "")


def reinstall_with_cuda(values: Values, missing: MissingName) -> str | None:
    """The same where a CPU build of torch is of no use."""
    if not missing.log.gpu and not is_for_hip(missing):
        missing = missing.with_knowledge(log=replace(missing.log, gpu=NVIDIA))
    return reinstall_package(values, missing)


def repeats_failed_install(values: Values, missing: MissingName) -> bool:
    """Whether `reinstall_package` asks the index that had no file (value `failed_index`) for it again."""
    index = values.get("failed_index", "").rstrip("/")
    return bool(index) and index in (reinstall_package(values, missing) or "")


def unbuilt_package(values: Values, missing: MissingName) -> str | None:
    """The command that installs the package of the message without its compiled modules, if it works without them."""
    package = package_commands.find_package(missing, values.get("project"))
    if package is None or not package.works_unbuilt:
        return None
    again = "--force-reinstall --no-deps " if "inside" in values else ""
    return f"pip install {again}{package.name}  # {package.works_unbuilt}"


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


def wheels_page(values: Values, missing: MissingName) -> str | None:
    """The page of releases with wheels of the package of the message for the platform of the text."""
    package = package_commands.find_package(missing, built_project(values, missing))
    if package is None:
        return None
    rows = (row.install for row in wheel_rows.rows_of(package, missing))
    pages = (install.partition("/download/")[0] for install in rows if "/releases/download/" in install)
    return next((page for page in pages if "{" not in page), None)


def other_system(values: Values, missing: MissingName) -> str | None:
    """The system to use the package of the message on; None if it is made for this one."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return None if package is None else package_commands.on_another_system(package, missing)


def namesake(values: Values, missing: MissingName) -> bool:
    """Whether the distribution of the package's name on the package index is another project."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return package is not None and bool(package.namesake)


def not_for_windows(values: Values, missing: MissingName) -> str | None:
    """What to use in place of Windows, if the text shows no platform and the package of the message is not made for
    Windows."""
    package = package_commands.find_package(missing, built_project(values, missing))
    if package is None or missing.log.platform:
        return None
    return package_commands.not_made_for("win_amd64", package)


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
    # Commands for two releases of torch exclude each other.
    wanted = f" torch=={(missing.target_version or '').rpartition('.')[0]}."
    commands = [each for each in commands if each and wanted in each[0]] or commands
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


def package_of_file(values: Values, _missing: MissingName) -> str | None:
    """The package on a package index that has the value `file`, by its path."""
    return file_package.distribution_of_file(values.get("file", ""))


def reinstall_file(values: Values, _missing: MissingName) -> str | None:
    """The commands that install the package with the value `file` again, by its path."""
    return file_package.reinstall_file(values.get("file", ""))


def older_name(values: Values, missing: MissingName) -> str | None:
    """The distribution with older releases of the package (value `project`), if the text names no later release."""
    package = _with_former(values, missing)
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
    package = _with_former(values, missing)
    return None if package is None or package.former is None else package.former.before


def _with_former(values: Values, missing: MissingName) -> Package | None:
    """The package, by the name of its later releases."""
    package = package_commands.find_package(missing, values.get("project"))
    later = () if package is None else later_names(package.name)
    return packages_by_name()[later[0]] if later else package


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


def rocm_wheels(values: Values, missing: MissingName) -> str | None:
    """Where wheels of the package for ROCm are, if the GPU is AMD's."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return None if package is None else wheels_for_rocm((package,), missing)
