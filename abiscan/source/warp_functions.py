"""`masked-warp-function`: calls of CUDA's warp functions with a mask in sources for HIP.

A call is safe if HIP does not compile it, or if the file or an included one defines the name as a macro."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.source.code import Code
from abiscan.source.flagged_place import FlaggedPlace, Refined
from abiscan.source.source_set import SourceSet, with_included


def refine_warp_function(places: Sequence[FlaggedPlace], code: Code, others: SourceSet) -> list[Refined | None]:
    """Refine each call in a file; None if it is safe."""
    unit = list(with_included(code, others))
    names = {place.text for place in places}
    safe = {name for name in names if any(name in each.text and each.macro(name) is not None for each in unit)}
    skipped = [code.index_at(place.at) is None for place in places]
    return [None if no or place.text in safe else Refined() for place, no in zip(places, skipped, strict=True)]
