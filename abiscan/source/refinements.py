"""Rules whose pattern finds candidates and whose code decides, with the function of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from abiscan.source.code import Code
from abiscan.source.flagged_place import FlaggedPlace, Refined
from abiscan.source.half_intrinsic import refine_half
from abiscan.source.pybind_functions import refine_pybind
from abiscan.source.source_set import SourceSet
from abiscan.source.tensor_accessors import refine_member, refine_type
from abiscan.source.warp_functions import refine_warp_function

# Rule -> function of its places in a file (at least one), the file, and the included files. The result for a place is
# None if it is correct.
REFINEMENTS: Mapping[str, Callable[[Sequence[FlaggedPlace], Code, SourceSet], list[Refined | None]]] = {
    "const-data-ptr": refine_member,
    "deprecated-type-properties": refine_type,
    "half-intrinsic": refine_half,
    "masked-warp-function": refine_warp_function,
    "op-not-registered": refine_pybind,
    "tensor-data": refine_member,
}
