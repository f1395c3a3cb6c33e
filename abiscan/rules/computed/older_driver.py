"""`ptx-newer-than-driver` and `cuda-newer-than-driver`: what NVIDIA's driver of a version does not take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from abiscan.model.cuda_driver import branch_for_ptx, branch_for_runtime, newest_ptx, toolkit_of_ptx
from abiscan.model.device_code import DeviceImages
from abiscan.model.finding import Finding
from abiscan.model.gpu_architecture import GpuArchitecture, Runs, code_runs, oldest_ptx
from abiscan.ownership.gpu_libraries import toolkit_of
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule


def find_newer_ptx(
    rule: Rule, code: DeviceImages, gpus: Iterable[GpuArchitecture], module: str, driver: int
) -> Iterator[Finding]:
    """One finding for each GPU on which the file runs as PTX alone, none of which the driver compiles.

    Args:
        module: the file's identity over rebuilds; driver: its branch.
    """
    for gpu in gpus:
        if code_runs(code, gpu) is not Runs.YES or code_runs(code, gpu, driver) is not Runs.NO:
            continue
        version = oldest_ptx(code, gpu)
        if version is None:
            continue
        toolkit, branch = toolkit_of_ptx(version), branch_for_ptx(version)
        written = "by a newer CUDA than any that is known" if toolkit is None else f"by CUDA {toolkit}"
        needed = "a newer driver" if branch is None else f"driver {branch} or newer"
        texts = {
            "target": str(gpu),
            "name": needed,
            "detail": f"PTX ISA {version}, written {written}, and driver {driver} ends {newest_ptx(driver)}",
        }
        yield make_finding(rule, texts, (module, str(gpu)))


def find_newer_cuda(rule: Rule, sonames: Iterable[str], module: str, driver: int) -> Iterator[Finding]:
    """A finding where the file needs a runtime of a major release that the driver does not serve.

    Args:
        module, driver: as above.
    """
    toolkit = toolkit_of(sonames)
    if toolkit is None or toolkit.kind != "CUDA":
        return
    branch = branch_for_runtime(toolkit.version)
    if branch is not None and driver < branch:
        texts = {
            "name": f"{toolkit.soname} (CUDA {toolkit.version.partition('.')[0]})",
            "target": f"driver {branch} or newer",
            "detail": f"driver {driver}",
        }
        yield make_finding(rule, texts, (module, toolkit.soname))
