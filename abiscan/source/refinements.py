"""Rules of which the pattern in the catalogue finds the words, and code looks closer: each with its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from abiscan.source.bound_functions import refine_bound
from abiscan.source.code import Code
from abiscan.source.half_intrinsic import refine_half
from abiscan.source.place import Place, Refined
from abiscan.source.source_set import SourceSet

# Rule -> its places in a file (at least one), the file and where included files are, to what is known of each; None
# for one that is in order.
REFINEMENTS: Mapping[str, Callable[[Sequence[Place], Code, SourceSet], list[Refined | None]]] = {
    "half-intrinsic": refine_half,
    "op-not-registered": refine_bound,
}
