"""Facts of the message catalogue about torch: the target, its CUDA and CPythons, and commands that install it;
about the interpreter."""

from __future__ import annotations

from typing import Final

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.facts.gpu_facts import torch_for_gpu
from abiscan.diagnosis.fixes import torch_commands
from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of, is_for_hip, rocm_of
from abiscan.diagnosis.fixes.wheel_rows import cuda_release, is_on_windows, platform_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import AMD, DCU, XPU
from abiscan.diagnosis.text.source_builds import CONTAINER
from abiscan.model import versions
from abiscan.model.gpu_toolkits import first_toolkit, last_toolkit
from abiscan.releases import companions
from abiscan.releases.pythons import with_wheels
from abiscan.releases.torch_indexes import INDEXES

_WITHOUT_LINUX: Final = ("win_amd64", "macosx")


def pythons_of_torch(values: Values, missing: MissingName) -> str | None:
    """The CPythons for which the value `torch` has wheels: `3.6-3.9`."""
    pythons = with_wheels(values.get("torch", ""), everywhere=missing.log.platform in _WITHOUT_LINUX)
    return f"{pythons[0]} - {pythons[-1]}" if pythons else None


def python_without_torch(values: Values, missing: MissingName) -> str | None:
    """The Python of the text, if the value `torch` has no wheel for it."""
    python, pythons = missing.log.python, with_wheels(values.get("torch", ""))
    return ".".join(map(str, python)) if python and pythons and python < (pythons[0].major, pythons[0].minor) else None


def newest_python_of_torch(values: Values, _missing: MissingName) -> str | None:
    """The newest of them, on every system."""
    pythons = with_wheels(values.get("torch", ""), everywhere=True)
    return str(pythons[-1]) if pythons else None


def python_of_torch(values: Values, missing: MissingName) -> str | None:
    """The CPython of the text or this machine, if it is one of them."""
    here = missing.loading_python
    return str(here) if here is not None and here in with_wheels(values.get("torch", "")) else None


def install_torch(values: Values, missing: MissingName) -> str | None:
    """The command that installs the value `torch` in the variant `label`, else of the target, else the build of the
    package index."""
    label = values.get("label", "")
    if label.startswith("cu") and (is_for_hip(missing) or values.get("without_gpu")):
        label = ""  # a text for ROCm or a CPU that asks about CUDA
    version = values.get("torch", "")
    if missing.log.is_jetson:
        return f"Install torch {version}: {torch_commands.WHEELS_FOR_JETSON}"
    if (
        not label
        and gpu_vendor_of(missing) == AMD
        and not (missing.target and missing.target.variant.startswith("rocm"))
    ):
        label = f"rocm{rocm_of(missing)}"
    if missing.log.packager == CONTAINER:
        return torch_commands.image_of_nvidia(version)
    known = label or (missing.target and gpu_vendor_of(missing) != DCU)
    command = torch_commands.install_torch(version, missing, variant=label) if known else None
    return command or torch_commands.from_package_index(version, missing)


def explain_release(_values: Values, missing: MissingName) -> str:
    """`abiscan explain` for the release of the torch that the text names, else of the torch in the command's Python."""
    return _explain('torch.__version__.split("+")[0]', missing)


def explain_torch(_values: Values, missing: MissingName) -> str:
    """The same with the label of that torch, which names its ROCm."""
    return _explain("torch.__version__", missing)


def _explain(version: str, missing: MissingName) -> str:
    if versions.is_release(missing.target_version):
        return f"abiscan explain --torch {missing.target_version}"
    if is_on_windows(missing):  # cmd.exe has no `$(...)`
        return "abiscan explain"
    return f"abiscan explain --torch \"$(python -c 'import torch; print({version})')\""


def string_of_wheel(_values: Values, missing: MissingName) -> str | None:
    """The std::string of the wheel on the package index of the target, or of the torch that the text asks about:
    `wheel of torch 2.5.1 on PyPI for Linux on x86_64 has the old std::string`; None for another build."""
    target, asked = missing.target, (missing.log.asked_releases.get(each, "") for each in ("torch", "pytorch"))
    version = next(filter(None, asked), "") if target is None else target.version
    if not version or missing.knowledge.target_from_source or platform_of(missing) != "linux_x86_64":
        return None
    releases = (each for each in missing.knowledge.known_versions if f"{each}.".startswith(f"{version}."))
    builds = (build for release in releases for build in missing.knowledge.released_builds(release))
    abis = {build.cxx11_abi for build in builds if target is None or build.variant == target.variant}
    if len(abis) != 1 or (is_new := abis.pop()) is None:
        return None
    string = "new" if is_new else "old"
    return f"wheel of torch {version} on PyPI for Linux on x86_64 has the {string} std::string"


def torch_of_release(values: Values, _missing: MissingName) -> str | None:
    """The torch release of the value `release` of the value `project`, a package released with torch: `1.8`."""
    return companions.built_for(values.get("project", ""), values.get("release", ""))


def pythons_of_release(values: Values, missing: MissingName) -> str | None:
    """The CPythons with wheels of that torch."""
    return pythons_of_torch({"torch": f"{torch_of_release(values, missing)}.0"}, missing)


def newest_python_of_release(values: Values, missing: MissingName) -> str | None:
    """The newest of them."""
    return newest_python_of_torch({"torch": f"{torch_of_release(values, missing)}.0"}, missing)


# Minor releases of one CUDA.
_MOST_MINORS: Final = 10


def torch_for_toolkit(values: Values, missing: MissingName) -> str | None:
    """The command that installs a torch for the value `toolkit_cuda`: the target's release if it has that variant."""
    variant = f"cu{values.get('toolkit_cuda', '').replace('.', '')}"
    # A toolkit compiles for every torch of its CUDA major release.
    command = torch_commands.torch_of_variant(variant, missing)
    major, _, minor = values.get("toolkit_cuda", "").partition(".")
    later = range(int(minor), _MOST_MINORS) if minor.isdigit() else ()
    others = (torch_commands.torch_for_cuda(f"{major}.{each}", missing, same_major=True) for each in later)
    command = command or next(filter(None, others), None)
    return command and torch_commands.force_reinstall(command)


def built_beside_other_torch(values: Values, missing: MissingName) -> bool:
    """Whether the torch that the text names is for the value `toolkit_cuda`, and the message is about a torch for
    another CUDA (value `torch_cuda`)."""
    cuda = cuda_release((missing.log.torch or "").partition("+")[2])
    return bool(cuda) and cuda == values.get("toolkit_cuda") != values.get("torch_cuda", cuda)


# The oldest index of PyTorch with builds of each release from 2.6 on, and code for GPUs from 5.0 on.
_OF_MOST_DRIVERS: Final = "cu126"


def install_cuda_build(_values: Values, missing: MissingName) -> str | None:
    """The command that replaces a CPU build of torch by one for CUDA, with code for the GPU that the text names: the
    target's release, else the newest; None if none is known."""
    if platform_of(missing) == "macosx" or gpu_vendor_of(missing) in (AMD, DCU, XPU) or missing.log.is_jetson:
        return None
    capability, version = missing.log.capability, missing.target_version
    if capability and not _has_code(capability):
        if last_toolkit(capability) is not None:
            return None  # an older torch, which other packages here may not accept
        command = torch_for_gpu({"gpu": f"sm_{capability.replace('.', '')}"}, missing)
        return command and torch_commands.force_reinstall(command).replace(" -U ", " ")
    if not version and torch_commands.newest_of_variant(_OF_MOST_DRIVERS, missing):
        command = f"pip install torch --index-url {INDEXES}{_OF_MOST_DRIVERS}"
    elif _OF_MOST_DRIVERS not in torch_commands.variants_of(version, missing):
        command = torch_commands.install_torch(version, missing, cuda="")
    else:
        # For the CUDA that the text names: the project has an index, packages or a toolkit for it.
        named = missing.log.variant or missing.target_variant
        is_there = named.startswith("cu") and named in torch_commands.variants_of(version, missing)
        command = torch_commands.torch_of_variant(named if is_there else _OF_MOST_DRIVERS, missing)
    return command and torch_commands.force_reinstall(command)


def index_for_gpu(values: Values, missing: MissingName) -> str | None:
    """The index of that build."""
    return (install_cuda_build(values, missing) or "").partition("--index-url ")[2].partition(" ")[0] or None


def install_hip_build(_values: Values, missing: MissingName) -> str | None:
    """The command that replaces a torch without HIP by one for the GPU of AMD of the text."""
    return torch_commands.torch_with_hip(missing)


def _has_code(capability: str) -> bool:
    """Whether the builds for `_OF_MOST_DRIVERS` have code for a compute capability."""
    cuda = versions.order(cuda_release(_OF_MOST_DRIVERS)) or ()
    first, last = (versions.order(find(capability) or "") for find in (first_toolkit, last_toolkit))
    return (first is None or first <= cuda) and (last is None or last >= cuda)


def torch_of_other_cuda(_values: Values, missing: MissingName) -> str | None:
    """The command that installs the target's torch for another CUDA, preferably a newer one."""
    here, torch = missing.target_cuda_major, missing.target_version
    if not here:
        return None
    ways = (torch_commands.install_torch(torch, missing, cuda=str(int(here) + by)) for by in (1, -1))
    command = next(filter(None, ways), None)
    return command and torch_commands.force_reinstall(command)


def torch_for_driver(values: Values, missing: MissingName) -> str | None:
    """The command that installs torch for a CUDA that the driver (value `driver_cuda`) supports: the target's release,
    else the newest that has one."""
    command = torch_commands.torch_for_cuda(values.get("driver_cuda", ""), missing, for_driver=True)
    return command and torch_commands.force_reinstall(command)


def torch_itself(_values: Values, missing: MissingName) -> str | None:
    """Arguments of `pip install` for the target's torch."""
    found = None if missing.target is None else torch_commands.find_torch(missing.target.version, missing)
    return None if found is None else found[0]


def cuda_of_no_release(values: Values, missing: MissingName) -> bool:
    """Whether no release of torch has the CUDA of the value `torch_cuda`, and the installed torch no other."""
    cuda = values.get("torch_cuda", "")
    installed = missing.target if missing.knowledge.exact else None
    is_other = installed is not None and installed.cuda != cuda
    return not is_other and torch_commands.is_cuda_of_no_release(cuda)


def torch_has_fix(values: Values, missing: MissingName) -> bool:
    """Whether the target is not older than the value `torch`, the first release with a fix, or if the text has an
    exception that later releases alone raise (value `inductor_error`)."""
    if missing.target is None:
        return bool(values.get("inductor_error"))
    here, first = versions.order(missing.target.version), versions.order(values.get("torch", ""))
    return here is not None and first is not None and here >= first


def built_for(values: Values, _missing: MissingName) -> str | None:
    """`older` or `newer`: the torch that the extension was built for (value `built`) compared with the installed one
    (`here`)."""
    built, here = versions.order(values.get("built", "")), versions.order(values.get("here", ""))
    return None if built is None or here is None or built == here else "older" if built < here else "newer"


def is_this_python(values: Values, missing: MissingName) -> str | None:
    """`yes` if the interpreter is one of `for_python`, or at least `oldest_python`; `no` if it is another."""
    here, for_python, oldest = missing.environment.python, values.get("for_python"), values.get("oldest_python")
    if here is None or (for_python is None and oldest is None):
        return None
    if oldest is not None:
        return "yes" if (here.major, here.minor) >= tuple(map(int, oldest.split("."))) else "no"
    return "yes" if f"{here.major}.{here.minor}" in (for_python or "").split(", ") else "no"
