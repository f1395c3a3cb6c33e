"""Whether a file's device code runs on the GPUs that a run names: what `--gpu` adds to a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from abiscan.analysis.provenance_facts import toolkit_of_ptx
from abiscan.binary import open_binary
from abiscan.environment.installed_torch import InstalledTorch
from abiscan.errors import UnreadableFile
from abiscan.model.device_code import DeviceImages, GpuModule
from abiscan.model.gpu_architecture import (
    GpuArchitecture,
    Runs,
    best,
    code_runs,
    module_runs,
    parse_architecture,
    runs_on,
)
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.releases.build import Build
from abiscan.releases.kernel_lists import kernel_list
from abiscan.rules import rule

# The libraries of torch that hold its kernels.
_WITH_KERNELS = frozenset(("libtorch_cuda.so", "libtorch_hip.so"))


def with_kernels(
    report: ArtifactReport, code: DeviceImages, gpus: Sequence[GpuArchitecture], module: str
) -> ArtifactReport:
    """The report with what `--gpu` asks: a finding for each GPU that no kernel of the file runs on, notes where not all
    of them do, and no verdict where nobody can say.

    Args:
        module: the file's identity over rebuilds.
    """
    if not code.images and code.unread is None:
        return report
    from abiscan.rules.computed import gpu_rules

    findings = (each for name, look in gpu_rules().items() for each in look(rule(name), code, gpus, module))
    notes = (note for gpu in gpus for note in _notes(code, gpu))
    unknown = any(code_runs(code, gpu) is Runs.UNKNOWN for gpu in gpus)
    undecided = unknown and report.verdict in (ArtifactVerdict.LOADS, ArtifactVerdict.NOT_TORCH)
    return replace(
        report,
        verdict=ArtifactVerdict.UNDECIDED if undecided else report.verdict,
        findings=(*report.findings, *findings),
        notes=(*notes, *report.notes),
    )


def torchs_own(torch: InstalledTorch, gpus: Sequence[GpuArchitecture]) -> Iterator[str]:
    """A note for each GPU that no kernel of a torch itself runs on, whatever the files of the run have."""
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


def of_released(build: Build, gpus: Sequence[GpuArchitecture]) -> Iterator[str]:
    """The same of a released build, by the list that it was compiled with; a build without CUDA has nothing to ask
    for."""
    if build.cuda is None:
        return
    listed = kernel_list(build)
    named = f"torch {build.torch} ({build.variant})"
    if listed is None:
        asked = " ".join(map(str, gpus))
        yield f"whether {named} itself has kernels for {asked} is not known: there is no list of that build"
        return
    for gpu in gpus:
        if best(runs_on(image, gpu) for image in listed) is Runs.NO:
            yield f"{named} itself has no kernel image for {gpu}: it is compiled for {' '.join(listed)}"


def _notes(code: DeviceImages, gpu: GpuArchitecture) -> Iterator[str]:
    if code_runs(code, gpu) is Runs.UNKNOWN:
        reason = code.unread or f"its images are for features that --gpu {gpu} does not tell ({_features(code, gpu)})"
        yield f"whether its device code runs on {gpu} cannot be known: {reason}"
        return
    linked = [module for module in code.modules if not module.relocatable]
    runs = [module for module in linked if module_runs(module, gpu) is not Runs.NO]
    total, served = (sum(module.count for module in modules) for modules in (linked, runs))
    if not served:
        return  # the rule says so, or the driver links what is relocatable
    if served < total:
        yield f"{total - served} of {total} modules of its device code have no image that runs on {gpu}"
    compiled = sum(module.count for module in runs if _by_ptx_alone(module, gpu))
    if compiled:
        which = "its device code" if compiled == total else f"{compiled} of {total} modules of its device code"
        yield f"{which} runs on {gpu} as PTX, which {_compiler(code, gpu)} compiles at the first use"


def _compiler(code: DeviceImages, gpu: GpuArchitecture) -> str:
    """Which driver compiles the PTX that fits: one for the CUDA that wrote the newest of it, or a newer one. An older
    one answers CUDA_ERROR_UNSUPPORTED_PTX_VERSION (CUDA Driver API, "CUresult")."""
    fitting = [i.ptx_version for i in code.images if i.ptx_version and runs_on(i.architecture, gpu) is Runs.YES]
    newest = max(fitting, key=lambda version: [int(part) for part in version.split(".")], default=None)
    toolkit = None if newest is None else toolkit_of_ptx(newest)
    return "the driver" if toolkit is None else f"a driver for CUDA {toolkit.partition(' ')[0]} or newer"


def _by_ptx_alone(module: GpuModule, gpu: GpuArchitecture) -> bool:
    fitting = [name for name in module.architectures if runs_on(name, gpu) is not Runs.NO]
    return all(name.startswith("compute_") for name in fitting)


def _features(code: DeviceImages, gpu: GpuArchitecture) -> str:
    images = {image.architecture for image in code.images}
    named = (parse_architecture(name) for name in images)
    return ", ".join(sorted(str(each) for each in named if each is not None and each.processor == gpu.processor))
