"""`masked-warp-function`: calls of CUDA's warp functions with a mask in sources for HIP.

A call is safe if HIP does not compile it, or if the file or an included one defines the name as a macro. A call in a
source for CUDA is reported only where the file or an included one overloads the function, as torch-scatter 2.0.9 does
(csrc/cuda/utils.cuh): hipify translates it, and the overload hides that HIP lacks the function."""

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
    own: list[range] = []
    if not code.path.endswith(".hip"):
        safe |= {name for name in names if not any(name in each.text and _overloads(each, name) for each in unit)}
        own = [each for name in names for each in _overloads(code, name)]
    indexes = [code.tokens.index_at(place.at) for place in places]
    return [
        None if index is None or place.text in safe or any(index in each for each in own) else Refined()
        for place, index in zip(places, indexes, strict=True)
    ]


def _overloads(code: Code, name: str) -> list[range]:
    """The tokens of each declaration of a function of the name, with its body: a result type precedes the name."""
    found: list[range] = []
    kinds, partner = code.tokens.kinds, code.partner
    for at in code.places_of(name):
        code.spend(4)
        before = code.tokens[at - 1] if at else None
        if before is None or before.kind != "name" or before.text in ("return", "else"):
            continue
        last = partner[at + 1] if at + 1 < len(kinds) else -1
        if last >= 0:
            body = last + 1 < len(kinds) and kinds[last + 1] == ord("{")
            found.append(range(at, max(partner[last + 1] if body else last, last) + 1))
    return found
