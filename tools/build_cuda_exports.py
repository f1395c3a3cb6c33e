"""Make abiscan/data/cuda_exports.txt.gz: the C names that each CUDA release exports from each library.

    python tools/build_cuda_exports.py CUDA_TYPEDEFS_H [LIBRARY ...]

Downloads the x86_64 wheels of NVIDIA libraries with pip, one at a time, and reads them without running anything. For
the CUDA runtime and NCCL, every minor release is read. Other libraries have version numbers of their own: the first and
the last release for each CUDA major release are read (11.7 and 11.8, 12.0 and 12.9, 13.0 and the newest).

The driver is in no wheel: `cudaTypedefs.h` of a toolkit names each function of its API with its first release
(`PFN_cuTensorMapEncodeTiled_v12000`: 12.0).

The table is text: `library: releases` in order; then each name with a bit mask of the releases that export it, the
first release in the lowest bit. `cuda: 12.0 cuTensorMapEncodeTiled` is a function of the driver.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from abiscan.data import data_file  # noqa: E402 - of this work tree, installed or not
from abiscan.elf import open_elf  # noqa: E402

# Library -> its distributions, up to each CUDA major release, and its file names in them.
LIBRARIES = {
    "cudart": "nvidia-cuda-runtime",
    "nvrtc": "nvidia-cuda-nvrtc",
    "cublas": "nvidia-cublas",
    "cublasLt": "nvidia-cublas",
    "cufft": "nvidia-cufft",
    "curand": "nvidia-curand",
    "cusolver": "nvidia-cusolver",
    "cusparse": "nvidia-cusparse",
    "cupti": "nvidia-cuda-cupti",
    "nccl": "nvidia-nccl",
}
_PLATFORMS = tuple(f"manylinux_2_{minor}" for minor in range(17, 36))
_MAJORS = (11, 12, 13)
_ENDS = {11: ("11.7", "11.8"), 12: ("12.0", "12.9")}
_VERSION = re.compile(r"Available versions: (.+)")
# The C API, and functions that compilers call (`__cudaRegisterFatBinary`). C++ names are internal.
_PUBLIC = re.compile(r"_{0,2}[a-z]\w+")
_TYPEDEF = re.compile(r"PFN_(cu\w+?)_v(\d{4,5})(?:_pts[zd])?\)")


def _versions(distribution: str) -> list[str]:
    """Every version of a distribution on the package index, oldest first."""
    command = [sys.executable, "-m", "pip", "index", "versions", distribution]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = _VERSION.search(said)
    versions = [] if found is None else found[1].split(", ")
    return sorted((v for v in versions if v != "0.0.1"), key=_order)


def _order(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def _wanted(library: str, major: int) -> dict[str, str]:
    """CUDA release -> the version to read."""
    stem = LIBRARIES[library]
    if library == "nccl":
        # NCCL has releases of its own, each for several CUDA releases; the first ones are for CUDA 11 only.
        if major == 13:
            return {}
        first = _versions(f"{stem}-cu12")[0]
        versions = [v for v in _versions(f"{stem}-cu{major}") if major == 12 or _order(v) < _order(first)]
        return {".".join(version.split(".")[:2]): f"{stem}-cu{major}=={version}" for version in versions}
    distribution = f"{stem}-cu{major}" if major < 13 else stem
    versions = [v for v in _versions(distribution) if major < 13 or not v.startswith(("11.", "12.0.1", "0."))]
    if library == "cudart":
        return {".".join(version.split(".")[:2]): f"{distribution}=={version}" for version in versions}
    if major == 13:
        runtime = [".".join(version.split(".")[:2]) for version in _versions("nvidia-cuda-runtime")]
        return {runtime[0]: f"{distribution}=={versions[0]}", runtime[-1]: f"{distribution}=={versions[-1]}"}
    return dict(zip(_ENDS[major], (f"{distribution}=={v}" for v in (versions[0], versions[-1])), strict=True))


def _exports(requirement: str, libraries: list[str], folder: Path) -> dict[str, set[str]]:
    """The names that the libraries of a wheel export."""
    platforms = [f"--platform={each}_x86_64" for each in (*_PLATFORMS, "manylinux2014", "manylinux1")]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *platforms]
    subprocess.run([*command, "-d", str(folder), requirement], check=True)
    found: dict[str, set[str]] = {library: set() for library in libraries}
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            base = member.rpartition("/")[2]
            library = next((each for each in libraries if re.fullmatch(rf"lib{each}\.so\.[\d.]+", base)), None)
            if library is None:
                continue
            file = Path(archive.extract(member, folder))
            found[library] |= {export.name for export in open_elf(str(file)).exports()}
            file.unlink()
    wheel.unlink()
    return {library: {name for name in names if _PUBLIC.fullmatch(name)} for library, names in found.items()}


def _of_driver(header: Path) -> list[str]:
    first: dict[str, int] = {}
    for name, release in _TYPEDEF.findall(header.read_text(encoding="utf-8")):
        first[name] = min(int(release), first.get(name, 1 << 30))
    return [f"cuda: {release // 1000}.{release % 1000 // 10} {name}" for name, release in sorted(first.items())]


def main() -> None:
    lines = _of_driver(Path(sys.argv[1]))
    wanted = sys.argv[2:] or list(LIBRARIES)
    by_distribution: dict[str, list[str]] = {}
    for library in wanted:
        by_distribution.setdefault(LIBRARIES[library], []).append(library)
    for libraries in by_distribution.values():
        exported: dict[str, dict[str, set[str]]] = {library: {} for library in libraries}
        for major in _MAJORS:
            for release, requirement in _wanted(libraries[0], major).items():
                with tempfile.TemporaryDirectory() as folder:
                    for library, names in _exports(requirement, libraries, Path(folder)).items():
                        exported[library][release] = names
                        print(f"{library} of CUDA {release} ({requirement}): {len(names)} names", flush=True)
        for library, of in exported.items():
            releases = sorted(of, key=_order)
            lines.append(f"{library}: {' '.join(releases)}")
            for name in sorted(set().union(*of.values())):
                bits = sum(1 << at for at, release in enumerate(releases) if name in of[release])
                lines.append(f"{bits:x} {name}")
    Path(data_file("cuda_exports.txt.gz")).write_bytes(gzip.compress("\n".join(lines).encode("ascii"), mtime=0))


if __name__ == "__main__":
    main()
