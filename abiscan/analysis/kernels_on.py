"""Checks of `--gpu`: whether the device code of a file runs on the given GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from abiscan.analysis.pass_results import GpuCheck
from abiscan.binary import open_binary
from abiscan.environment.installed_torch import InstalledTorch
from abiscan.errors import UnreadableFile
from abiscan.model.cuda_driver import branch_for_runtime, toolkit_of_ptx
from abiscan.model.device_code import DeviceImages
from abiscan.model.finding import Finding
from abiscan.model.gpu_architecture import (
    GpuArchitecture,
    Runs,
    best,
    by_ptx_alone,
    code_runs,
    module_runs,
    parse_architecture,
    runs_on,
)
from abiscan.releases.build import Build
from abiscan.releases.kernel_lists import kernel_list
from abiscan.rules import rule

# Libraries of torch that contain its kernels.
_WITH_KERNELS = frozenset(("libtorch_cuda.so", "libtorch_hip.so"))


def check_kernels(
    code: DeviceImages,
    gpus: Sequence[GpuArchitecture],
    module: str,
    driver: int | None = None,
    *,
    needed: Sequence[str] = (),
) -> GpuCheck:
    """A finding for each GPU on which no kernel of the file runs, and notes on GPUs on which only some run.

    Args:
        module: `module_key` of the file.
        driver: NVIDIA driver branch; None if none is given.
        needed: sonames that the file needs.
    """
    findings = tuple(_findings(code, gpus, module, driver, needed))
    if not code.images and code.unread is None:
        return GpuCheck(findings)
    notes = [note for gpu in gpus for note in _notes(code, gpu, driver)]
    if driver is not None and not findings:
        notes += _runtime_notes(code, driver)
    return GpuCheck(findings, tuple(notes), any(code_runs(code, gpu, driver) is Runs.UNKNOWN for gpu in gpus))


def _findings(
    code: DeviceImages, gpus: Sequence[GpuArchitecture], module: str, driver: int | None, needed: Sequence[str]
) -> Iterator[Finding]:
    from abiscan.rules.computed.gpu_rules import find_no_image

    yield from find_no_image(rule("no-kernel-image"), code, gpus, module)
    if driver is None or all(gpu.kind == "gfx" for gpu in gpus):
        return
    from abiscan.rules.computed.gpu_rules import find_newer_cuda, find_newer_ptx

    yield from find_newer_ptx(rule("ptx-newer-than-driver"), code, gpus, module, driver)
    yield from find_newer_cuda(rule("cuda-newer-than-driver"), needed, module, driver)


def notes_on_installed_torch(torch: InstalledTorch, gpus: Sequence[GpuArchitecture]) -> Iterator[str]:
    """A note for each GPU on which no kernel of the installed torch runs."""
    for path in torch.libraries:
        if path.rpartition("/")[2] not in _WITH_KERNELS:
            continue
        try:
            code = open_binary(torch.files.host(path)).device_images()
        except (OSError, UnreadableFile):
            continue
        listed = " ".join(dict.fromkeys(image.architecture for image in code.images))
        for gpu in gpus:
            if code.images and code_runs(code, gpu) is Runs.NO:
                yield f"torch {torch.version} itself has no kernel image for {gpu}: it has {listed}"


def notes_on_released_torch(build: Build, gpus: Sequence[GpuArchitecture]) -> Iterator[str]:
    """A note for each GPU on which no kernel of a released build runs, from its list of architectures. Empty for a
    build without CUDA."""
    if build.cuda is None:
        return
    listed = kernel_list(build)
    named = f"torch {build.torch} ({build.variant})"
    if listed is None:
        asked = " ".join(map(str, gpus))
        yield f"whether {named} itself has kernels for {asked} is unknown: its GPU list is not in the index"
        return
    for gpu in gpus:
        if best(runs_on(image, gpu) for image in listed) is Runs.NO:
            yield f"{named} itself has no kernel image for {gpu}: it is compiled for {' '.join(listed)}"


def _notes(code: DeviceImages, gpu: GpuArchitecture, driver: int | None) -> Iterator[str]:
    if code_runs(code, gpu) is Runs.UNKNOWN:
        reason = code.unread or f"its images need features that --gpu {gpu} does not state ({_features(code, gpu)})"
        yield f"whether its device code runs on {gpu} is unknown: {reason}"
        return
    linked = [module for module in code.modules if not module.relocatable]
    runs = [module for module in linked if module_runs(module, gpu) is not Runs.NO]
    total, served = (sum(module.count for module in modules) for modules in (linked, runs))
    if not served:
        if code_runs(code, gpu, driver) is Runs.UNKNOWN:
            yield f"whether driver {driver} compiles its PTX for {gpu} is unknown"
        return  # the rule reports it, or the driver links relocatable code
    if served < total:
        yield f"{total - served} of {total} modules of its device code have no image that runs on {gpu}"
    as_ptx = [module for module in runs if by_ptx_alone(module, gpu)]
    compiled = dict.fromkeys(Runs, 0)
    for module in as_ptx:
        compiled[Runs.YES if driver is None else module_runs(module, gpu, driver)] += module.count
    for answer, text in (
        (Runs.YES, f"runs on {gpu} as PTX, which {_compiler(code, gpu, driver)} compiles at the first use"),
        (Runs.UNKNOWN, f"runs on {gpu} as PTX; unknown whether driver {driver} compiles that version"),
        (Runs.NO, f"runs on {gpu} as PTX alone, of a version that driver {driver} does not compile"),
    ):
        if compiled[answer] and (answer is not Runs.NO or compiled[answer] < total):
            count = compiled[answer]
            yield f"{'its device code' if count == total else f'{count} of {total} modules of its device code'} {text}"


def _runtime_notes(code: DeviceImages, driver: int) -> Iterator[str]:
    """Driver requirement of a statically linked CUDA runtime, from the CUDA version of the compiler: it has no
    soname."""
    written = [image.ptx_version for image in code.images if image.ptx_version is not None]
    toolkits = {toolkit for version in written if (toolkit := toolkit_of_ptx(version)) is not None}
    for toolkit in sorted(toolkits):
        release = toolkit.partition(" ")[0]
        branch = branch_for_runtime(release)
        if branch is not None and branch > driver:
            yield (
                f"its PTX was written by CUDA {toolkit}: a CUDA runtime of that release, if linked in, needs driver "
                f"{branch} or newer"
            )


def _compiler(code: DeviceImages, gpu: GpuArchitecture, driver: int | None) -> str:
    """The driver that compiles the PTX: one for the CUDA release that wrote the newest PTX, or a newer one. An older
    one returns CUDA_ERROR_UNSUPPORTED_PTX_VERSION (CUDA Driver API, "CUresult")."""
    if driver is not None:
        return f"driver {driver}"
    fitting = [i.ptx_version for i in code.images if i.ptx_version and runs_on(i.architecture, gpu) is Runs.YES]
    newest = max(fitting, key=lambda version: [int(part) for part in version.split(".")], default=None)
    toolkit = None if newest is None else toolkit_of_ptx(newest)
    return "the driver" if toolkit is None else f"a driver for CUDA {toolkit.partition(' ')[0]} or newer"


def _features(code: DeviceImages, gpu: GpuArchitecture) -> str:
    images = {image.architecture for image in code.images}
    named = (parse_architecture(name) for name in images)
    return ", ".join(sorted(str(each) for each in named if each is not None and each.processor == gpu.processor))
