"""Facts in a log about its process: torch, CUDA and Python versions.

Sources are `python -m torch.utils.collect_env`, `pip list`, `pip show`, `conda list`, `torch.__version__` at a prompt,
and versions in sentences."""

from __future__ import annotations

from typing import Final

from abiscan.diagnosis.catalogue.load_packages import program_of_text
from abiscan.diagnosis.text.gpu_vendors import AMD, DCU, NO_GPU, NVIDIA
from abiscan.diagnosis.text.log_facts import LogFacts
from abiscan.diagnosis.text.packages_in_log import (
    find_cuda_packages,
    find_failing_companion,
    find_made_for,
    find_only_sdist,
    find_project,
    find_projects,
    find_release,
    find_releases,
)
from abiscan.diagnosis.text.releases_in_sentences import is_proposed, present_values
from abiscan.diagnosis.text.source_builds import (
    CONTAINER,
    built_packages,
    find_source_build,
    find_source_release,
    packager_of,
)
from abiscan.diagnosis.text.text_facts import is_shown, matches_by_row, only_value, pattern_of, shown, values
from abiscan.diagnosis.text.torch_in_log import (
    find_companions,
    find_compiled_for,
    find_cxx11_abi,
    find_label,
    find_label_beside,
    find_torch_version,
    find_variant,
)
from abiscan.model import versions
from abiscan.model.gpu_toolkits import capability_of_name, target_of_amd_gpu
from abiscan.model.versions import is_release
from abiscan.releases.build import has_the_new_string

WINDOWS: Final = "win_amd64"
# The packages torch and torchvision of R have releases of their own, below those of libtorch.
_R: Final = "r"
_FIRST_LIBTORCH: Final = (1,)
# Facts that hold where the text shows the row of `text_facts.toml` of the same name.
_SHOWN: Final = (
    *(
        "only_wheel",
        "is_wsl",
        "is_apptainer",
        "names_ctranslate2",
        "has_pip_rocm",
        "is_musl",
        "is_jetson",
        "is_apple_silicon",
    ),
    *("is_nvidia_image", "torch_in_lib64"),
    *("is_free_threaded", "is_conda", "is_python_build", "is_compiled_at_first_use", "keeps_source"),
    *("rejected_name", "torch_is_not_linked", "validity_asked", "exporting_release_asked"),
)


def log_facts(text: str) -> LogFacts:
    """Read the facts of a (cleaned) text in one pass."""
    gpu, projects = find_gpu_vendor(text), find_projects(text)
    rocm = find_rocm(text) if gpu == AMD else ""
    program = _program(text)
    torch = _torch(text, gpu, rocm)
    prerelease = only_value(values("python_prerelease", text))
    if program == _R and torch is not None and (versions.order(torch) or ()) < _FIRST_LIBTORCH:
        torch = None
    abi = find_cxx11_abi(text)
    if abi is None and torch is not None and has_the_new_string(torch):
        abi = True
    project, variant = find_project(text, projects), find_variant(text)
    packager = packager_of(text)
    if packager == CONTAINER and is_shown("file_of_image", text):
        packager = ""  # the loaded torch is another one: these packages fit that of the container
    releases, asked_releases = find_releases(text)
    from_source = find_source_build(text) is not None
    return LogFacts(
        torch=torch,
        cxx11_abi=abi,
        cpu_build=_cpu_build(text, gpu),
        from_source=from_source,
        packager=packager,
        is_nightly=any(origin == "nightly" for origin, _ in shown("torch_origin", text)),
        companions={} if program == _R else find_companions(text),
        project=project,
        project_release=find_release(project, text),
        failing_companion=find_failing_companion(text),
        projects=projects,
        built_packages=built_packages(text) if from_source else (),
        releases=releases,
        asked_releases=asked_releases,
        made_for=find_made_for(text),
        compiled_for=find_compiled_for(text),
        sdist=find_only_sdist(text),
        gpu=gpu,
        capability=find_capability(text),
        amd_gpu=only_value(target_of_amd_gpu(each) or each for each in values("amd_gpu", text)),
        rocm=rocm,
        variant="" if gpu in (AMD, DCU) and variant.startswith("cu") else variant,
        toolkit=only_value(values("toolkit", text)),
        cuda_packages=find_cuda_packages(text),
        # The tags of wheels that pip refuses are not of this machine.
        platform=find_platform(pattern_of("wheel_name").sub(" ", text) if is_shown("refuses_wheel", text) else text),
        system=only_value(value for value, _ in shown("system", text)).removeprefix("debian"),
        program=program,
        python=_python(text) or _minor_of(prerelease),
        python_prerelease=prerelease,
        python_folder=_python_folder(text),
        installer=_installer(text),
        mixes_user_site=is_shown("torch_of_user_site", text) and is_shown("package_of_environment", text),
        library_files={}
        if is_shown("lists_places_without_library", text)
        else {path.rpartition("/")[2]: path for path in values("library_file", text)},
        first_use=only_value(values("folder_of_first_use", text)),
        is_image_build=is_shown("is_image_build", text)
        or (is_shown("names_image_build", text) and not is_shown("names_image_run", text)),
        is_jetson_container=is_shown("is_jetson", text) and is_shown("in_container", text),
        **{name: is_shown(name, text) for name in _SHOWN},
    )


def _torch(text: str, gpu: str, rocm: str) -> str | None:
    """The version of torch, with the label that the text shows; None if it names none."""
    torch = find_torch_version(text) or find_source_release(text)
    if torch is None or "+" in torch:
        return torch
    torch += find_label(text)
    if "+" in torch or not is_release(torch):
        return torch
    if rocm:
        return f"{torch}+rocm{rocm}"
    if gpu in ("", NVIDIA):
        torch += find_label_beside(torch, text)
    return f"{torch}+cpu" if gpu == NO_GPU and is_shown("only_cpu", text) else torch


def _cpu_build(text: str, gpu: str) -> str:
    """The words that show a CPU build of torch; `torch.version.cuda` is None with other vendors' GPUs, too."""
    found = shown("cpu_build", text)
    return next((" ".join(words.split()) for value, words in found if not value or gpu in ("", NVIDIA, NO_GPU)), "")


def find_platform(text: str) -> str:
    """The platform in wheel tags; a Mac that is only mentioned beside another machine is not that of the error."""
    found = (value for value, _ in shown("platform", text) if value != WINDOWS or not is_shown("kernel_of_wsl", text))
    named = next((value for value in found if value != "mac" or not is_shown("beside_mac", text)), "")
    return "macosx" if named == "mac" else named


def _installer(text: str) -> str:
    """The program that installs packages; empty if the text names several."""
    found = [value for value, _ in shown("installer", text)]
    return found[0] if len({value.removesuffix("-project") for value in found}) == 1 else ""


def _program(text: str) -> str:
    found = program_of_text(text)
    return "" if found is None else found.id


def _python(text: str) -> tuple[int, int] | None:
    for row in matches_by_row("python", text):
        stated = (
            (*match.span(), tuple(filter(None, match.groups())))
            for match in row
            if not is_proposed(text, match.start(), match.end())
        )
        found = {(int(major), int(minor)) for major, minor in present_values(text, stated)}
        if len(found) == 1:
            return found.pop()
    return None


def _minor_of(release: str) -> tuple[int, int] | None:
    major, _, rest = release.partition(".")
    return (int(major), int(rest.partition(".")[0])) if rest else None


def _python_folder(text: str) -> str:
    portable = only_value(values("portable_python", text))
    environment = only_value(values("venv_on_windows", text))
    return portable or (f"{environment}\\Scripts" if environment else "")


def find_gpu_vendor(text: str) -> str:
    """`nvidia`, `amd`, `dcu`, `npu` or `xpu`; `cpu` for a build of torch without GPU; empty if the text names none, or
    GPUs of NVIDIA and of another vendor."""
    without_amd = is_shown("without_amd", text)
    found = [vendor for vendor, _ in shown("gpu", text) if vendor != AMD or not without_amd]
    if NVIDIA not in found and find_capability(text):
        found.append(NVIDIA)
    if not found and is_shown("only_cpu", text) and not is_shown("torch_for_cuda", text):
        return NO_GPU
    # DTK uses AMD's names of architectures.
    if not found and not without_amd:
        with_rocm = is_shown("with_rocm", text) and not is_shown("with_cuda", text)
        # A release of CUDA is the user's; a path is that of the torch which was installed by mistake.
        if with_rocm or (is_shown("rocm_folder", text) and not is_shown("cuda", text)):
            return AMD
    if not found:
        return NO_GPU if is_shown("without_gpu", text) or is_shown("cpu_build", text) else ""
    return "" if NVIDIA in found and len(found) > 1 else found[0]


def find_rocm(text: str) -> str:
    """The only release of ROCm (or of HIP, which has the same number) in a text, `5.7`; empty if there is none."""
    return only_value(values("rocm_release", text) or values("hip_release", text))


def find_capability(text: str) -> str:
    """The compute capability of the only GPU of NVIDIA that a text names: `9.0` for H100; empty if unknown."""
    return only_value(filter(None, map(capability_of_name, values("nvidia_gpu", text))))
