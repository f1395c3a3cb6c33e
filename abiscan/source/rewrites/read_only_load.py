"""Rewrite of `__ldg` on what may be a c10::Half."""

from __future__ import annotations

import re

from abiscan.rules.rule import Language
from abiscan.source.flagged_place import FlaggedPlace
from abiscan.source.rewrites.edited_source import Edit, NotRewritten, Written

HEADER = "ATen/cuda/DeviceUtils.cuh"


def read_only_load(place: FlaggedPlace, written: Written) -> list[Edit] | NotRewritten:
    """`__ldg(p)` to `doLdg(p)`, which is `__ldg` under CUDA and a plain read under HIP for every type
    (ATen/cuda/DeviceUtils.cuh of torch 1.13 to 2.15; torch's hipify maps the include)."""
    if place.pattern.languages == (Language.HIP,):
        return NotRewritten(
            f"hipify generates and overwrites it: run abiscan fix on its source, probably {_source_of(written.path)}; "
            f"in a file that is written by hand, write `*p` for `__ldg(p)`"
        )
    index = written.index(place.at)
    edits = [written.replaced(index, "doLdg")]
    if HEADER in written.code.includes:
        return edits
    at = written.included.get(HEADER)
    if at is None:
        at = _behind_includes(written, place.at)
    if at is None:
        return NotRewritten(f"it has no #include before it that <{HEADER}> could follow")
    written.included[HEADER] = at
    return [Edit(at, at, f"#include <{HEADER}>\n"), *edits]


def _source_of(path: str) -> str:
    """The CUDA source from which hipify made a file: it writes hip for cuda in the path
    (torch/utils/hipify/hipify_python.py, get_hip_file_path)."""
    stem = path.rpartition(".")[0]
    renamed = re.sub(r"(?<![A-Za-z])hip(?![A-Za-z])", "cuda", stem)
    return f"{renamed}.cu"


def _behind_includes(written: Written, before: int) -> int | None:
    """The offset behind the last `#include` that stands above a place outside of conditions."""
    depth = 0
    found = None
    for index, token in enumerate(written.tokens):
        if token.at >= before:
            break
        if token.kind == "include" and depth == 0:
            end = written.text.find("\n", token.at)
            found = None if end < 0 else end + 1
        elif token.text == "#" and written.word(index + 1) in ("if", "ifdef", "ifndef"):
            # The guard of a header is around all of it.
            guard = written.word(index + 1) == "ifndef" and not any(t.kind == "include" for t in written.tokens[:index])
            depth += not guard
        elif token.text == "#" and written.word(index + 1) == "endif":
            depth = max(0, depth - 1)
    return found
