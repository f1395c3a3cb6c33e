"""`no-kernel-image`: a GPU that no device code of a file supports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from abiscan.model.device_code import DeviceCode, DeviceImages, GpuImage
from abiscan.model.finding import Finding
from abiscan.model.gpu_architecture import GpuArchitecture, Runs, code_runs
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule


def find_no_image(rule: Rule, code: DeviceImages, gpus: Iterable[GpuArchitecture], module: str) -> Iterator[Finding]:
    """One finding for each such GPU.

    Args:
        module: the module key of the file.
    """
    for gpu in gpus:
        if not code.images or code_runs(code, gpu) is not Runs.NO:
            continue
        listed = ", ".join(dict.fromkeys(map(_named, code.images)))
        how = f"PYTORCH_ROCM_ARCH={gpu}" if gpu.kind == "gfx" else f'TORCH_CUDA_ARCH_LIST="{gpu.capability}"'
        yield make_finding(rule, {"target": str(gpu), "detail": listed, "name": how}, (module, str(gpu)))


def _named(image: GpuImage) -> str:
    return f"{image.architecture} (PTX)" if image.code is DeviceCode.PTX else image.architecture
