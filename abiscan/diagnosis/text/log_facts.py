"""The facts that a text states about the environment of its error."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class LogFacts(Struct, frozen=True):
    """Facts in a text about the environment of its error; unknown ones are None.

    They are of torch, the packages, the GPU, the platform, the build, and the question, in this order.

    Attributes:
        torch: version with local label (`2.1.0a0+git7bcf7da`, `2.5.1+cu121`); `+cpu`, or the release of ROCm, is
            added if the text shows such a build.
        cxx11_abi: whether torch has the C++11 std::string, from its version, label, archive or packager, or from
            what the text prints.
        cpu_build: the words that show a CPU build of torch; empty if there are none.
        from_source: whether the text says that torch was built from source.
        packager: who packaged torch: `conda-forge`, `distribution`, `container` (NVIDIA); empty for another torch.
        is_nightly: whether torch is a nightly, for which no project has wheels.
        companions: packages released with torch (`torchvision`) -> version, as the text gives it.

        project: the only one of `projects`, else the only package that the text uses or names, normalised; empty if
            unknown.
        project_release: the release that the text gives beside the name of `project`; empty if unknown.
        failing_companion: package released with torch that could not be loaded; empty if none or another one.
        projects: every package that pip built, else those of PyG in the text, else those with a shared object in it,
            normalised.
        built_packages: if torch was built from source, the packages in the text that pip can build for it, in order.
        releases: names of packages in lower case (`vllm`) -> the release that is there, as the text gives it.
        asked_releases: names of packages in lower case -> the release that the text asks about or proposes.
        made_for: an extension, and the torch (major.minor) in its version label.
        compiled_for: the torch that the extension was built with, in words of the text; empty if unknown.
        only_wheel: whether there are no sources of the extension, or no compiler.
        sdist: archive of sources of an extension, if the text says that only this is there; empty otherwise.

        gpu: vendor of the GPU, as in `gpu_vendors.py`: `nvidia`, `amd`, `dcu`, `npu` (Ascend), `xpu` (Intel); `cpu` for
            a build without GPU; empty if unknown.
        capability: compute capability of the only GPU of NVIDIA; empty if unknown.
        amd_gpu: the only GPU of AMD (`gfx1151`); empty if unknown.
        rocm: release of ROCm of a GPU of AMD (`5.7`); empty if unknown.
        variant: the variant of torch for the only CUDA release that the text names, of whatever program (`cu118`);
            empty if unknown.
        toolkit: the only release of nvcc or the CUDA toolkit that the text names (`12.8`); empty if unknown.
        cuda_packages: NVIDIA's packages of CUDA libraries (`nvidia-nccl-cu12`) -> version.

        platform: as in wheel tags, if not Linux on x86_64: `win_amd64`, `macosx`, `linux_aarch64`.
        system: the distribution, for its package manager (`fedora`, `arch`, `suse`, `nixos`); empty for Debian and
            those based on it, and if the text names none or several.
        is_wsl: whether the system is Linux on Windows (WSL).
        is_apptainer: whether the text shows a container of Apptainer or Singularity.
        names_ctranslate2: whether it names CTranslate2 or a program that uses it, such as faster-whisper.
        has_pip_rocm: whether the ROCm of the text is that of AMD's packages for pip.
        is_musl: whether the system has musl (Alpine) in place of glibc.
        is_jetson: whether the machine is a Jetson of NVIDIA.
        is_jetson_container: whether it is a container on a Jetson.
        is_image_build: whether a command of a Dockerfile failed, or the text names builds of images alone.
        is_apple_silicon: whether the machine is a Mac with a processor of Apple.
        is_nvidia_image: whether the text names an image of NVIDIA with PyTorch.
        program: the kind of program without Python (`rust`, `r`); empty for Python or if unknown.
        python: (major, minor) of the interpreter.
        python_prerelease: its release, if that is an alpha, a beta or a candidate: `3.11.0a6`.
        is_free_threaded: whether the interpreter is a build of Python without the global lock (3.13t).
        python_folder: folder of the python.exe of an environment on Windows (`python_embeded`); empty if unknown.
        is_conda: whether torch is in an environment of conda.
        installer: key in `data/installers.toml` of the program in place of pip or conda (`uv`); empty if unknown.
        torch_in_lib64: whether torch is in lib64, where Python keeps packages with compiled files.
        mixes_user_site: whether torch is loaded from the user site and another package from an environment.
        library_files: shared libraries (`libcudnn_ops_infer.so.8`) -> the path that a search in the text printed.

        is_python_build: whether the text shows a build of a Python package.
        is_compiled_at_first_use: whether torch.utils.cpp_extension.load compiles the extension, and no setup.py.
        first_use: the only folder in which torch.utils.cpp_extension.load compiles; empty if the text names none.
        keeps_source: whether the source of the extension is not to be changed.

        rejected_name: whether the text says that a demangler cannot read the symbol.
        torch_is_not_linked: whether a link also misses functions of torch without a std::string, or links no torch.
        validity_asked: whether the text asks, or doubts, that the symbol is valid.
        exporting_release_asked: whether the text asks which release of torch exports a symbol.
    """

    torch: str | None = None
    cxx11_abi: bool | None = None
    cpu_build: str = ""
    from_source: bool = False
    packager: str = ""
    is_nightly: bool = False
    companions: Mapping[str, str] = field(default_factory=dict)

    project: str = ""
    project_release: str = ""
    failing_companion: str = ""
    projects: tuple[str, ...] = ()
    built_packages: tuple[str, ...] = ()
    releases: Mapping[str, str] = field(default_factory=dict)
    asked_releases: Mapping[str, str] = field(default_factory=dict)
    made_for: tuple[str, str] | None = None
    compiled_for: str = ""
    only_wheel: bool = False
    sdist: str = ""

    gpu: str = ""
    capability: str = ""
    amd_gpu: str = ""
    rocm: str = ""
    variant: str = ""
    toolkit: str = ""
    cuda_packages: Mapping[str, str] = field(default_factory=dict)

    platform: str = ""
    system: str = ""
    is_wsl: bool = False
    is_apptainer: bool = False
    names_ctranslate2: bool = False
    has_pip_rocm: bool = False
    is_musl: bool = False
    is_jetson: bool = False
    is_jetson_container: bool = False
    is_image_build: bool = False
    is_apple_silicon: bool = False
    is_nvidia_image: bool = False
    program: str = ""
    python: tuple[int, int] | None = None
    python_prerelease: str = ""
    is_free_threaded: bool = False
    python_folder: str = ""
    is_conda: bool = False
    installer: str = ""
    mixes_user_site: bool = False
    torch_in_lib64: bool = False
    library_files: Mapping[str, str] = field(default_factory=dict)

    is_python_build: bool = False
    is_compiled_at_first_use: bool = False
    first_use: str = ""
    keeps_source: bool = False

    rejected_name: bool = False
    torch_is_not_linked: bool = False
    validity_asked: bool = False
    exporting_release_asked: bool = False
