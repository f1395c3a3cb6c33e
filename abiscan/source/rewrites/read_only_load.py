"""Rewrite of `__ldg` on a possible c10::Half."""

from __future__ import annotations

import re

from abiscan.rules.rule import Language
from abiscan.source.flagged_place import FlaggedPlace
from abiscan.source.rewrites.edited_source import Edit, NotRewritten, Written

HEADER = "ATen/cuda/DeviceUtils.cuh"


def read_only_load(place: FlaggedPlace, written: Written) -> list[Edit] | NotRewritten:
    """`__ldg(p)` to `doLdg(p)`, which is `__ldg` with CUDA and a plain read with HIP for every type
    (ATen/cuda/DeviceUtils.cuh of torch 1.13 to 2.15; torch's hipify maps the include)."""
    if place.pattern.languages == (Language.HIP,):
        return NotRewritten(
            f"hipify generates and overwrites it: run abiscan fix on its source, probably {_source_of(written.path)}; "
            f"in a file that is written by hand, write `*p` for `__ldg(p)`"
        )
    index = written.index(place.at)
    edits = [written.replaced(index, "doLdg")]
    included = written.include(HEADER, place.at)
    if included is None:
        return NotRewritten(f"it has no #include before it that <{HEADER}> could follow")
    return [*included, *edits]


def _source_of(path: str) -> str:
    """The CUDA source of a file that hipify generated: its path has hip instead of cuda
    (torch/utils/hipify/hipify_python.py, get_hip_file_path)."""
    stem = path.rpartition(".")[0]
    renamed = re.sub(r"(?<![A-Za-z])hip(?![A-Za-z])", "cuda", stem)
    return f"{renamed}.cu"
