"""Libraries with one kernel each, built for many lists of architectures, and abiscan's predictions on several GPUs:
`python -m tests.truth.gpu.build DIRECTORY`, with nvcc of CUDA 13.0 or newer.

A machine with a GPU then only needs `launch.py` and the directory.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from abiscan.elf import fatbin
from tests.programs import run_program

GPUS = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
HERE = Path(__file__).parent


def code(*pairs: str) -> list[str]:
    """nvcc's options for `90:sm_90`."""
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
    "sm_90-ptx-uncompressed": ["-no-compress", *code("80:compute_80", "90:sm_90")],
    # Relocatable device code: linked code, and code that the driver may link again.
    "rdc-sm_90": [*RDC, *code("90:sm_90")],
    "rdc-sm_80": [*RDC, *code("80:sm_80")],
    "rdc-sm_80-ptx": [*RDC, *code("80:[sm_80,compute_80]")],
    "rdc-sm_80-compute_90a": [*RDC, *code("80:sm_80", "90a:compute_90a")],
    "rdc-sm_80-compute_100": [*RDC, *code("80:sm_80", "100:compute_100")],
    "rdc-compute_80": [*RDC, *code("80:compute_80")],
}


# PTX of another version than nvcc's own, alone and with machine code: the text keeps its length.
OWN = b"9.0"
VERSIONS = ("7.0", "8.4", "8.8", "9.1", "9.2", "9.4", "9.9")
EDITED = {
    **{f"ptx-{version}": ("ptx-uncompressed", version) for version in VERSIONS},
    "sm_90-ptx-9.9": ("sm_90-ptx-uncompressed", "9.9"),
}
FAILURES = {"no-kernel-image": "no-image", "ptx-newer-than-driver": "ptx"}
# Every driver branch that supports newer PTX than the one before it, since CUDA 12, and one after the last of them.
DRIVERS = (525, 530, 535, 545, 550, 555, 565, 570, 575, 580, 590, 595, 610, 615, 616)
GPUS_WITH_DRIVERS = ("sm_80", "sm_89", "sm_90", "sm_100", "sm_120")


def with_ptx_of(version: str, library: bytes) -> bytes:
    """The library with another PTX version in the text and in the image's header (`abiscan.elf.fatbin`)."""
    line = b".version " + OWN
    assert library.count(line) == 1
    text = library.index(line)
    container = library.rindex(fatbin.BEGINNING, 0, text)
    found = container + fatbin.CONTAINER_HEADER
    while True:
        sizes = fatbin.sizes_at(library, found, container=False)
        assert sizes is not None
        if found + sizes[0] <= text < found + sum(sizes):
            break
        found += sum(sizes)
    major, minor = (int(part) for part in version.split("."))
    edited = bytearray(library)
    edited[text : text + len(line)] = b".version " + version.encode()
    assert struct.unpack_from("<HH", edited, found + 24) == (int(OWN[2:]), int(OWN[:1]))
    struct.pack_into("<HH", edited, found + 24, minor, major)
    return bytes(edited)


def foretold(gpu: str, driver: int | None, libraries: list[str]) -> dict[str, str]:
    """Library -> `runs`, `no-image`, `ptx` or `open`, from the command."""
    named = ["--gpu", gpu, *(["--driver", str(driver)] if driver is not None else [])]
    command = [sys.executable, "-m", "abiscan", *named, "--torch", "2.13.0", "-q", "-f", "json", *libraries]
    report = json.loads(run_program(command).stdout)
    answers = {}
    for artifact in report["artifacts"]:
        rules = {finding["rule"] for finding in artifact["findings"]}
        failed = [word for rule, word in FAILURES.items() if rule in rules]
        answer = failed[0] if failed else "open" if artifact["verdict"] == "undecided" else "runs"
        answers[Path(artifact["path"]).name.removesuffix(".so")] = answer
    return answers


def build(directory: Path) -> None:
    """Build one library per list, and `foretold.json`: library -> GPU -> driver branch, or none -> prediction."""
    directory.mkdir(parents=True, exist_ok=True)
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise SystemExit("nvcc is not on PATH")
    for name, options in LISTS.items():
        command = [nvcc, "-shared", "-Xcompiler", "-fPIC", "-Xlinker", "-s", *options]
        subprocess.run([*command, str(HERE / "kernel.cu"), "-o", str(directory / f"{name}.so")], check=True)
    for name, (source, version) in EDITED.items():
        edited = with_ptx_of(version, (directory / f"{source}.so").read_bytes())
        (directory / f"{name}.so").write_bytes(edited)
    names = [*LISTS, *EDITED]
    libraries = [str(directory / f"{name}.so") for name in names]
    told: dict[str, dict[str, dict[str, str]]] = {name: {gpu: {} for gpu in GPUS} for name in names}
    for gpu in GPUS:
        for driver in (None, *(DRIVERS if gpu in GPUS_WITH_DRIVERS else ())):
            for name, answer in foretold(gpu, driver, libraries).items():
                told[name][gpu]["" if driver is None else str(driver)] = answer
    (directory / "foretold.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
