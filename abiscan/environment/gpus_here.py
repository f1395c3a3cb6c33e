"""The GPUs of this machine, independent of `--root`.

Those of AMD come from the kernel (`gfx_target_version` of the KFD topology,
https://docs.kernel.org/gpu/amdgpu/driver-core.html). The compute capability of NVIDIA GPUs is in no file: the driver's
tool `nvidia-smi` is run (https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html).
"""

from __future__ import annotations

import re

from abiscan.filesystem import HERE
from abiscan.model.gpu_architecture import GpuArchitecture, parse_architecture

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_VERSION = re.compile(rb"^gfx_target_version (\d+)$", re.MULTILINE)
_MAX_PROPERTIES = 1 << 16
_MAX_NODES = 1024
_SECONDS = 30


def gpus_here(search_path: str | None, nodes: str = _NODES) -> tuple[GpuArchitecture, ...]:
    """The distinct GPUs of this machine.

    Args:
        search_path: directories to search for `nvidia-smi`, in the format of PATH.
        nodes: directory of the KFD topology.
    """
    return tuple(dict.fromkeys((*_nvidia(search_path), *_amd(nodes))))


def _nvidia(search_path: str | None) -> list[GpuArchitecture]:
    from abiscan.child_processes import Failed, find_tool, run_tool

    tool = find_tool("nvidia-smi", search_path)
    if tool is None:
        return []
    command = [tool, "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        done = run_tool(command, timeout=_SECONDS)
    except Failed:
        return []
    return [gpu for line in done.stdout.splitlines() if (gpu := parse_architecture(line.strip())) is not None]


def _amd(nodes: str) -> list[GpuArchitecture]:
    try:
        names = sorted(HERE.names(nodes))[:_MAX_NODES]
    except OSError:
        return []
    found = []
    for name in names:
        match = _VERSION.search(HERE.read(f"{nodes}/{name}/properties", _MAX_PROPERTIES) or b"")
        # CPU nodes have 0.
        if match is not None and int(match[1]):
            found.append(GpuArchitecture("gfx", processor=processor_of(int(match[1]))))
    return found


def processor_of(version: int) -> str:
    """The processor name, such as `gfx90a` for 90010: major, minor and stepping in two decimal digits each; the last
    two are printed in hexadecimal."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
