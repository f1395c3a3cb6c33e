"""Torch releases, accelerators and instruction sets in names of files, folders and packages."""

from __future__ import annotations

import re

# Some projects ship one build per torch release and put the release in the name of a folder or file: `torch-2.9/`,
# `libtorch-2.4.X/`, `libx_torch24.so`, `_C_torch2_4.so`. Two digits without a point are major and minor.
_OF_A_TORCH = (
    r"(?a)(?:^|[/_.-])(?:py|lib)?torch[-_.]?v?(?P<version>[12](?:[._]\d{1,2}(?:[._]\d)?|\d{1,2}))(?:[._][xX])?"
    r"(?=$|[/_.-])"
)


# A Python module has seldom a version of its own in its name: mooncake imports `pg_2_11_0` for torch 2.11.0. The third
# number of a release of torch 2 is 2 at most.
_OF_A_MODULE = r"(?a)(?<=[a-z])_(?P<version>2_\d{1,2}_[012])(?=\.(?:abi3|cpython-|cp3))"


def release_in_name(place: str) -> str | None:
    """The torch release in a path of a package: `2.9` for `torch-2.9/lib/x.so`, `2.4` for `libx_torch24.so`, `2.11.0`
    for the module `pg_2_11_0.cpython-311-x86_64-linux-gnu.so`."""
    # Most paths have the name without a release; compiling the pattern takes 1.2 of 680 million instructions.
    behind = place.split("torch")[1:]
    is_possible = any(each.lstrip("-_.v").startswith(("1", "2")) for each in behind)
    found = re.search(_OF_A_TORCH, place) if is_possible else None
    if found is None and "_2_" in place:
        found = re.search(_OF_A_MODULE, place)
    return None if found is None else dotted(found["version"])


def names_release(place: str, version: str) -> bool | None:
    """Whether a path names the release of a torch version: `torch-2.9/lib/x.so` that of `2.9.1`. None if it names
    none."""
    named = release_in_name(place)
    return None if named is None else f"{version}.".startswith(f"{named}.")


# Parts of a name that distinguish the builds of one module, besides the torch release: accelerator, instruction set.
_OF_A_BUILD = (
    r"(?<=[/_.-])(?:cu(?:da)?(?:[-_]?(?P<cuda>[89]|1\d)(?:[._]?\d)?x?)?|rocm[-_]?[\d.]*|hip|cpu|xpu|sm_?\d+[a-z]?|gfx\w+|avx\w*|sse[\d_]*|amx\w*|neon|sve\d*)"
    r"(?=[/_.-])"
)


def without_build(place: str, cuda: str | None) -> str:
    """The path without torch release, accelerator and instruction set: the same text for all builds of one module.

    Args:
        cuda: the CUDA version that the file was built with, if known. A different number in the name is not a version:
            `x_cuda_128` and `x_cuda_64` are two kernels.
    """

    def shortened(found: re.Match[str]) -> str:
        contradicted = cuda is not None and found["cuda"] not in (None, cuda.partition(".")[0])
        return found[0] if contradicted else ""

    without_release = re.sub(_OF_A_MODULE, "", re.sub(_OF_A_TORCH, "torch", f"/{place}"))
    return re.sub(_OF_A_BUILD, shortened, without_release)


def dotted(text: str) -> str:
    """`24` to `2.4`, `210` to `2.10`, `2_9` to `2.9`."""
    dotted = text.replace("_", ".")
    return dotted if "." in dotted else f"{dotted[0]}.{dotted[1:]}"
