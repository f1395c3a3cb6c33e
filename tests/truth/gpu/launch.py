"""Launches the kernel of every library that `build.py` made, each in a process of its own, and compares what happened
with what was foretold: `python3 launch.py DIRECTORY`. It needs the driver, a GPU and nothing but Python.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path

# cudaErrorNoKernelImageForDevice, cudaErrorUnsupportedPtxVersion (a driver older than the compiler: says nothing).
_NO_IMAGE, _PTX_TOO_NEW = 209, 222
_LAUNCH = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).launch())"


def gpu_here() -> str:
    """`sm_90`, by the driver (cuDeviceGetAttribute; attributes 75 and 76)."""
    driver = ctypes.CDLL("libcuda.so.1")
    if driver.cuInit(0):
        raise SystemExit("no GPU is here")
    values = [ctypes.c_int(), ctypes.c_int()]
    for value, attribute in zip(values, (75, 76), strict=True):
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0)
    return f"sm_{values[0].value}{values[1].value}"


def main(directory: Path) -> int:
    """1 where a launch went otherwise than foretold."""
    gpu = gpu_here()
    foretold = json.loads((directory / "foretold.json").read_text(encoding="utf-8"))
    wrong = open_ends = 0
    for name, by_gpu in foretold.items():
        command = [sys.executable, "-c", _LAUNCH, str(directory / f"{name}.so")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        answer = int(done.stdout) if done.returncode == 0 else None
        expected = by_gpu[gpu]
        if answer is None or answer >= 10_000 or answer == _PTX_TOO_NEW:
            word, open_ends = "OPEN", open_ends + 1
        elif (answer == 0) == expected:
            word = "as foretold"
        else:
            word, wrong = "WRONG", wrong + 1
        shown = {0: "runs", _NO_IMAGE: "no kernel image (209)"}.get(answer, f"error {answer} {done.stderr[-120:]!r}")
        print(f"{name:28} foretold {'runs' if expected else 'fails':6} {shown:28} {word}")
    print(f"{gpu}: {len(foretold)} libraries, {wrong} otherwise than foretold, {open_ends} open")
    return 1 if wrong or open_ends else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
