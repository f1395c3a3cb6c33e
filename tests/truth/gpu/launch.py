"""Launches the kernel of every library of `build.py`, each in its own process, and compares the result with the
prediction: `python3 launch.py DIRECTORY`. Needs only the driver, a GPU and Python."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
from pathlib import Path

# cudaErrorNoKernelImageForDevice; cudaErrorSymbolNotFound, the error of a kernel in relocatable device code without a
# loaded image; cudaErrorUnsupportedPtxVersion.
_NO_IMAGE, _NO_SYMBOL, _PTX_TOO_NEW = 209, 500, 222
_CODES = {"runs": (0,), "no-image": (_NO_IMAGE, _NO_SYMBOL), "ptx": (_PTX_TOO_NEW,)}
_SHOWN = {
    0: "runs",
    _NO_IMAGE: "no kernel image (209)",
    _NO_SYMBOL: "symbol not found (500)",
    _PTX_TOO_NEW: "unsupported PTX (222)",
}
_LAUNCH = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).launch())"
# The name of the loaded library on Linux, with the driver version at its end.
_KERNEL_MODULE = r"NVRM version:.*?\s(\d{3})\.\d"
_LIBRARY = r"/libcuda\.so\.(\d{3})\."


def gpu_here() -> str:
    """`sm_90`, from the driver (cuDeviceGetAttribute; attributes 75 and 76)."""
    driver = ctypes.CDLL("libcuda.so.1")
    if driver.cuInit(0):
        raise SystemExit("no GPU is here")
    values = [ctypes.c_int(), ctypes.c_int()]
    for value, attribute in zip(values, (75, 76), strict=True):
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0)
    return f"sm_{values[0].value}{values[1].value}"


def driver_here() -> int:
    """The driver branch of the library that this process loaded, from its file name, else that of the kernel."""
    for place, pattern in (("/proc/self/maps", _LIBRARY), ("/proc/driver/nvidia/version", _KERNEL_MODULE)):
        path = Path(place)
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        if (found := re.search(pattern, text)) is not None:
            return int(found[1])
    raise SystemExit("the driver tells its version nowhere")


def expected(by_driver: dict[str, str], driver: int) -> str:
    """The prediction for the newest branch that is not newer than the driver; for `ptx` without one, none."""
    known = [int(branch) for branch in by_driver if branch and int(branch) <= driver]
    return by_driver[str(max(known))] if known else by_driver[""]


def main(directory: Path) -> int:
    """1 if a launch differs from the prediction."""
    gpu, driver = gpu_here(), driver_here()
    foretold = json.loads((directory / "foretold.json").read_text(encoding="utf-8"))
    wrong = open_ends = 0
    for name, by_gpu in foretold.items():
        command = [sys.executable, "-c", _LAUNCH, str(directory / f"{name}.so")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        answer = int(done.stdout) if done.returncode == 0 else None
        told = expected(by_gpu[gpu], driver)
        # With a driver newer than the table, the newest PTX is undecided; on a GPU without memory, everything is.
        if answer is None or answer >= 10_000 or told == "open":
            word, open_ends = "OPEN", open_ends + 1
        elif answer in _CODES[told]:
            word = "as foretold"
        else:
            word, wrong = "WRONG", wrong + 1
        shown = _SHOWN.get(answer, f"error {answer} {done.stderr[-120:]!r}")
        print(f"{name:28} foretold {told:8} {shown:28} {word}")
    print(f"{gpu}, driver {driver}: {len(foretold)} libraries, {wrong} otherwise than foretold, {open_ends} open")
    return 1 if wrong or open_ends else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
