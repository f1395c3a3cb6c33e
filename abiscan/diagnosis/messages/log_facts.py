"""Facts in a log about its process: torch, CUDA and Python versions.

Sources are `python -m torch.utils.collect_env`, `pip list`, `pip show`, `conda list`, `torch.__version__` at a prompt,
and versions in sentences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

from msgspec import Struct, field

from abiscan.diagnosis.catalogue.load_packages import program_of_text
from abiscan.diagnosis.messages.gpu_vendors import AMD, find_capability, find_gpu_vendor, find_rocm
from abiscan.diagnosis.messages.packaged_torch import packager_of
from abiscan.diagnosis.messages.packages_in_log import (
    find_cuda_packages,
    find_made_for,
    find_only_sdist,
    find_project,
    find_projects,
    find_release,
)
from abiscan.diagnosis.messages.rejected_names import find_rejected_name
from abiscan.diagnosis.messages.source_builds import find_source_build, find_source_release
from abiscan.diagnosis.messages.text_facts import first_shown, is_shown
from abiscan.diagnosis.messages.torch_in_log import (
    MOST_PLACES,
    find_companions,
    find_cxx11_abi,
    find_label,
    find_torch,
    find_variant,
)
from abiscan.model.versions import is_release
from abiscan.releases.build import has_the_new_string

_PYTHON = re.compile(
    r"[Pp]ython(?: [Vv]ersion| ?\u7248\u672c)?(?: {1,20}|[:=\uff1a] {0,20})(\d)\.(\d{1,2})(?:\.\d{1,2})?"
    r"(?![\w+-]|\.\d)",
    re.ASCII,
)
_FOLDER = re.compile(r"[/\\]python(\d)\.(\d{1,2})[/\\]")
# `load()` prints it before it compiles.
_BUILD_FILE = re.compile(r"Emitting ninja build file ([^\n]{1,512})[/\\]build\.ninja")


class LogFacts(Struct, frozen=True):
    """Facts in a text about the environment of its error; unknown ones are None.

    Attributes:
        torch: version with local label (`2.1.0a0+git7bcf7da`, `2.5.1+cu121`); `+cpu` is added if the text shows a build
            without CUDA and ROCm.
        python: (major, minor) of the interpreter.
        cxx11_abi: whether torch has the C++11 std::string, if printed or in the label.
        made_for: an extension, and the torch (major.minor) in its version label.
        companions: packages released with torch (`torchvision`) -> version with local label.
        from_source: whether the text says that torch was built from source.
        packager: who packaged torch with the new std::string: `conda-forge`, `distribution`; empty for another torch.
        platform: as in wheel tags, if not Linux on x86_64: `win_amd64`, `macosx`, `linux_aarch64`.
        rejected_name: whether the text says that a demangler cannot read the symbol.
        gpu: vendor of the GPU: `nvidia`, `amd`, `dcu`; `cpu` for a build without GPU; empty if unknown.
        rocm: release of ROCm of a GPU of AMD (`5.7`); empty if unknown.
        projects: all of these packages.
        variant: of the only CUDA release that a text names, whatever it is of (`cu118`); empty if unknown.
        is_jetson: whether the machine is a Jetson of NVIDIA.
        cuda_packages: NVIDIA's packages of CUDA libraries (`nvidia-nccl-cu12`) -> version.
        is_wsl: whether the system is Linux on Windows (WSL).
        program: the kind of program without Python (`rust`, `r`); empty for Python or if unknown.
        is_conda: whether torch is in an environment of conda.
        is_nvidia_image: whether the text names an image of NVIDIA with PyTorch.
        is_apple_silicon: whether the machine is a Mac with a processor of Apple.
        is_compiled_at_first_use: whether torch.utils.cpp_extension.load compiles the extension, and no setup.py.
        first_use: the only folder in which it does; empty if the text names none.
        sdist: archive of sources of an extension, if a text says that only this is there; empty otherwise.
        capability: compute capability of the only GPU of NVIDIA; empty if unknown.
        project: the package that pip built, else the only one of PyG in the text, else the only one with a shared
            object in it, normalised; empty if unknown.
        project_release: its release, as the text gives it beside its name; empty if unknown.
    """

    torch: str | None = None
    python: tuple[int, int] | None = None
    cxx11_abi: bool | None = None
    companions: Mapping[str, str] = field(default_factory=dict)
    made_for: tuple[str, str] | None = None
    platform: str = ""
    from_source: bool = False
    gpu: str = ""
    project: str = ""
    rejected_name: bool = False
    rocm: str = ""
    capability: str = ""
    sdist: str = ""
    projects: tuple[str, ...] = ()
    variant: str = ""
    packager: str = ""
    program: str = ""
    project_release: str = ""
    is_jetson: bool = False
    is_conda: bool = False
    is_nvidia_image: bool = False
    is_apple_silicon: bool = False
    is_compiled_at_first_use: bool = False
    first_use: str = ""
    cuda_packages: Mapping[str, str] = field(default_factory=dict)
    is_wsl: bool = False


def log_facts(text: str) -> LogFacts:
    """Read the facts of a (cleaned) text in one pass."""
    torch = find_torch(text) or find_source_release(text)
    if torch is not None and "+" not in torch:
        torch += find_label(text)
    abi = find_cxx11_abi(text)
    if abi is None and torch is not None and has_the_new_string(torch):
        abi = True
    gpu, projects = find_gpu_vendor(text), find_projects(text)
    rocm = find_rocm(text) if gpu == AMD else ""
    if torch is not None and rocm and "+" not in torch and is_release(torch):
        torch += f"+rocm{rocm}"
    project = find_project(text, projects)
    return LogFacts(
        torch=torch,
        python=_python(text),
        cxx11_abi=abi,
        companions=find_companions(text),
        made_for=find_made_for(text),
        platform=first_shown("platform", text),
        from_source=find_source_build(text) is not None,
        gpu=gpu,
        project=project,
        rejected_name=find_rejected_name(text),
        rocm=rocm,
        capability=find_capability(text),
        sdist=find_only_sdist(text),
        projects=projects,
        variant=find_variant(text),
        packager=packager_of(text),
        program=_program(text),
        project_release=find_release(project, text),
        is_jetson=is_shown("is_jetson", text),
        is_conda=is_shown("is_conda", text),
        is_nvidia_image=is_shown("is_nvidia_image", text),
        is_apple_silicon=is_shown("is_apple_silicon", text),
        is_compiled_at_first_use=is_shown("is_compiled_at_first_use", text),
        first_use=_folder_of_first_use(text),
        cuda_packages=find_cuda_packages(text),
        is_wsl=is_shown("is_wsl", text),
    )


def _folder_of_first_use(text: str) -> str:
    found = {match[1] for match in itertools.islice(_BUILD_FILE.finditer(text), MOST_PLACES)}
    # The temporary folder of a setup.py has the same line.
    found = {each for each in found if re.search(r"[/\\]build[/\\]temp\.", each) is None}
    return found.pop() if len(found) == 1 else ""


def _program(text: str) -> str:
    found = program_of_text(text)
    return "" if found is None else found.id


def _python(text: str) -> tuple[int, int] | None:
    for pattern in (_PYTHON, _FOLDER):
        found = {(int(match[1]), int(match[2])) for match in itertools.islice(pattern.finditer(text), MOST_PLACES)}
        if len(found) == 1:
            return found.pop()
    return None
