"""Libraries with one kernel each, built for many lists of architectures, and what abiscan foretells of each on several
GPUs: `python -m tests.truth.gpu.build DIRECTORY`, with nvcc of CUDA 13.0 or newer.

`launch.py` and the directory are then all that a machine with a GPU needs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

GPUS = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
HERE = Path(__file__).parent


def code(*pairs: str) -> list[str]:
    """`90:sm_90` -> nvcc's options for it."""
    return [option for pair in pairs for option in ("-gencode", "arch=compute_{},code={}".format(*pair.split(":")))]


RDC, ZSTD = ["-rdc=true"], ["-Xfatbin", "-compress-all"]
LZ4 = [*ZSTD, "-compress-mode=speed"]
MACHINE_CODE = ("75", "80", "86", "87", "89", "90", "90a", "100", "100a", "100f", "103", "110", "120", "120a")
PTX = ("75", "80", "86", "89", "90", "90a", "100", "100a", "100f", "120")
LISTS: dict[str, list[str]] = {
    **{f"sm_{each}": code(f"{each}:sm_{each}") for each in MACHINE_CODE},
    **{f"compute_{each}": code(f"{each}:compute_{each}") for each in PTX},
    "sm_75-ptx": code("75:[sm_75,compute_75]"),
    "sm_86-ptx": code("86:[sm_86,compute_86]"),
    "sm_80-compute_90a": code("80:sm_80", "90a:compute_90a"),
    "sm_80-compute_100": code("80:sm_80", "100:compute_100"),
    "sm_80-sm_90a": code("80:sm_80", "90a:sm_90a"),
    "without-9.0": code("75:sm_75", "86:sm_86", "100f:sm_100f", "120:sm_120"),
    "zstd": [*ZSTD, *code("80:sm_80", "90:[sm_90,compute_90]")],
    "zstd-without-9.0": [*ZSTD, *code("80:sm_80", "100:[sm_100,compute_100]")],
    "lz4": [*LZ4, *code("80:sm_80", "90a:sm_90a")],
    "lz4-without-9.0": [*LZ4, *code("80:sm_80", "100a:sm_100a")],
    "ptx-uncompressed": ["-no-compress", *code("80:compute_80")],
    # Relocatable device code: what was linked, and what the driver may link anew.
    "rdc-sm_90": [*RDC, *code("90:sm_90")],
    "rdc-sm_80": [*RDC, *code("80:sm_80")],
    "rdc-sm_80-ptx": [*RDC, *code("80:[sm_80,compute_80]")],
    "rdc-sm_80-compute_90a": [*RDC, *code("80:sm_80", "90a:compute_90a")],
    "rdc-sm_80-compute_100": [*RDC, *code("80:sm_80", "100:compute_100")],
    "rdc-compute_80": [*RDC, *code("80:compute_80")],
}


def build(directory: Path) -> None:
    """A library a list, and `foretold.json`: library -> GPU -> whether a kernel runs."""
    directory.mkdir(parents=True, exist_ok=True)
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise SystemExit("nvcc is not on PATH")
    for name, options in LISTS.items():
        command = [nvcc, "-shared", "-Xcompiler", "-fPIC", "-Xlinker", "-s", *options]
        subprocess.run([*command, str(HERE / "kernel.cu"), "-o", str(directory / f"{name}.so")], check=True)
    libraries = [str(directory / f"{name}.so") for name in LISTS]
    foretold: dict[str, dict[str, bool]] = {name: {} for name in LISTS}
    for gpu in GPUS:
        command = [sys.executable, "-m", "abiscan", "--gpu", gpu, "--torch", "2.13.0", "-q", "-f", "json", *libraries]
        report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        for artifact in report["artifacts"]:
            rules = {finding["rule"] for finding in artifact["findings"]}
            foretold[Path(artifact["path"]).stem][gpu] = "no-kernel-image" not in rules
    (directory / "foretold.json").write_text(json.dumps(foretold, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
