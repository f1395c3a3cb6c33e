"""The facts that a text states about the environment of its error."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class LogFacts(Struct, frozen=True):
    """Facts in a text about the environment of its error; unknown ones are None.

    Attributes:
        torch: version with local label (`2.1.0a0+git7bcf7da`, `2.5.1+cu121`); `+cpu` is added if the text shows a build
            without CUDA and ROCm.
        python: (major, minor) of the interpreter.
        cxx11_abi: whether torch has the C++11 std::string, if printed or in the label.
        made_for: an extension, and the torch (major.minor) in its version label.
        only_wheel: whether there are no sources of the extension, or no compiler.
        keeps_source: whether the source of the extension is not to be changed.
        exporting_release_asked: whether the text asks which release of torch exports a symbol.
        cpu_build: the words that show a CPU build of torch; empty if there are none.
        validity_asked: whether the text asks, or doubts, that the symbol is valid.
        compiled_for: the torch that the extension was built with, in words of the text; empty if unknown.
        companions: packages released with torch (`torchvision`) -> version with local label.
        from_source: whether the text says that torch was built from source.
        packager: who packaged torch: `conda-forge`, `distribution`, `container` (NVIDIA); empty for another torch.
        platform: as in wheel tags, if not Linux on x86_64: `win_amd64`, `macosx`, `linux_aarch64`.
        rejected_name: whether the text says that a demangler cannot read the symbol.
        gpu: vendor of the GPU: `nvidia`, `amd`, `dcu`; `cpu` for a build without GPU; empty if unknown.
        rocm: release of ROCm of a GPU of AMD (`5.7`); empty if unknown.
        projects: all of these packages.
        built_packages: those that pip can build and the text names, if torch was built from source, in order.
        variant: of the only CUDA release that a text names, whatever it is of (`cu118`); empty if unknown.
        toolkit: the only release of nvcc or the CUDA toolkit that a text names (`12.8`); empty if unknown.
        is_nightly: whether torch is a nightly, for which no project has wheels.
        mixes_user_site: whether torch is loaded from the user site and another package from an environment.
        is_jetson: whether the machine is a Jetson of NVIDIA.
        cuda_packages: NVIDIA's packages of CUDA libraries (`nvidia-nccl-cu12`) -> version.
        python_folder: folder of the python.exe of an environment on Windows (`python_embeded`); empty if unknown.
        installer: key in `data/installers.toml` of the program in place of pip or conda (`uv`); empty if unknown.
        library_files: shared libraries (`libcudnn_ops_infer.so.8`) -> the path that a search in the text printed.
        is_wsl: whether the system is Linux on Windows (WSL).
        program: the kind of program without Python (`rust`, `r`); empty for Python or if unknown.
        is_conda: whether torch is in an environment of conda.
        is_nvidia_image: whether the text names an image of NVIDIA with PyTorch.
        is_free_threaded: whether the interpreter is a build of Python without the global lock (3.13t).
        is_apple_silicon: whether the machine is a Mac with a processor of Apple.
        is_compiled_at_first_use: whether torch.utils.cpp_extension.load compiles the extension, and no setup.py.
        is_python_build: whether the text shows a build of a Python package.
        first_use: the only folder in which it does; empty if the text names none.
        sdist: archive of sources of an extension, if a text says that only this is there; empty otherwise.
        capability: compute capability of the only GPU of NVIDIA; empty if unknown.
        project: the package that pip built, else the only one of PyG in the text, else the only one with a shared
            object in it, normalised; empty if unknown.
        project_release: its release, as the text gives it beside its name; empty if unknown.
        releases: names of packages in lower case (`vllm`) -> the release that is there, as the text gives it.
        asked_releases: the same of releases that the text asks about or proposes.
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
    built_packages: tuple[str, ...] = ()
    variant: str = ""
    toolkit: str = ""
    packager: str = ""
    program: str = ""
    project_release: str = ""
    releases: Mapping[str, str] = field(default_factory=dict)
    asked_releases: Mapping[str, str] = field(default_factory=dict)
    is_nightly: bool = False
    mixes_user_site: bool = False
    is_jetson: bool = False
    is_conda: bool = False
    is_nvidia_image: bool = False
    is_free_threaded: bool = False
    is_apple_silicon: bool = False
    is_compiled_at_first_use: bool = False
    is_python_build: bool = False
    first_use: str = ""
    cuda_packages: Mapping[str, str] = field(default_factory=dict)
    library_files: Mapping[str, str] = field(default_factory=dict)
    is_wsl: bool = False
    python_folder: str = ""
    installer: str = ""
    compiled_for: str = ""
    only_wheel: bool = False
    cpu_build: str = ""
    validity_asked: bool = False
    exporting_release_asked: bool = False
    keeps_source: bool = False
