"""GPUs that the device code of several files supports."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.model.device_code import DeviceImages
from abiscan.model.gpu_architecture import NVIDIA_GPUS, Runs, code_runs, parse_architecture
from abiscan.model.report import ArtifactReport

# AMD GPUs with ROCm libraries.
_AMD = (
    *("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030"),
    *("gfx1100", "gfx1101", "gfx1102", "gfx1150", "gfx1151", "gfx1200", "gfx1201"),
)
# All known GPUs.
KNOWN = tuple(found for name in (*(f"sm_{n}" for n in NVIDIA_GPUS), *_AMD) if (found := parse_architecture(name)))


# Tegra: only on boards with an Arm processor.
_TEGRA = frozenset(("sm_53", "sm_62", "sm_72", "sm_87", "sm_110"))


def gpus_of(files: Sequence[ArtifactReport]) -> tuple[str, ...] | None:
    """Known GPUs that some device code of the files supports, in the order of `KNOWN`; None if no file has device code.
    A package may ship one file per architecture, so not all files must support a GPU."""
    codes = [(code, file.machine) for file in files if (code := device_code(file)).modules or code.unread]
    if not codes:
        return None
    return tuple(
        str(gpu)
        for gpu in KNOWN
        if any(
            code_runs(code, gpu) is not Runs.NO and (machine == "aarch64" or str(gpu) not in _TEGRA)
            for code, machine in codes
        )
    )


def device_code(file: ArtifactReport) -> DeviceImages:
    """The device code of a file."""
    made = file.provenance
    return DeviceImages(made.gpu_images, made.gpu_modules, made.gpu_not_read)
