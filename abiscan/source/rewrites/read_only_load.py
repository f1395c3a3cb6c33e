"""Rewrite of `__ldg` on a possible c10::Half."""

from __future__ import annotations

import re

from abiscan.rules.rule import Language
from abiscan.source.flagged_place import FlaggedPlace
from abiscan.source.rewrites.edited_source import Edit, EditableSource, NotRewritten

# Postfix operators, which bind tighter than `*`.
_POSTFIX = ("[", "(", ".", "->", "++", "--")


def read_only_load(place: FlaggedPlace, written: EditableSource) -> list[Edit] | NotRewritten:
    """`__ldg(p)` to `*(p)`, which compiles for every type with CUDA and HIP."""
    if place.pattern.languages == (Language.HIP,):
        return NotRewritten(
            f"hipify generates and overwrites it: run abiscan fix on its source, probably {_source_of(written.path)}; "
            f"in a file that is written by hand, write `*p` for `__ldg(p)`"
        )
    index = written.index(place.at)
    close = written.partner[index + 1]
    if close < 0:
        return NotRewritten("its parentheses do not match")
    start = written.tokens[index].at
    before = " " if written.text[start - 1 : start] == "/" else ""
    end = written.end(close)
    if written.word(close + 1) not in _POSTFIX:
        if close == index + 3:
            return [Edit(start, end, f"{before}*{written.word(index + 2)}")]
        return [written.replaced(index, f"{before}*")]
    return [written.replaced(index, "(*"), Edit(end, end, ")")]


def _source_of(path: str) -> str:
    """The CUDA source of a file that hipify generated: its path has hip instead of cuda
    (torch/utils/hipify/hipify_python.py, get_hip_file_path)."""
    stem = path.rpartition(".")[0]
    renamed = re.sub(r"(?<![A-Za-z])hip(?![A-Za-z])", "cuda", stem)
    return f"{renamed}.cu"
