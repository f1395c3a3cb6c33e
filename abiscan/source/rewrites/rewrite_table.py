"""Rules with a mechanical rewrite."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from abiscan.source.flagged_place import FlaggedPlace
from abiscan.source.rewrites.accessors import const_data_ptr, packed_accessor, tensor_data, type_properties
from abiscan.source.rewrites.edited_source import Edit, EditableSource, NotRewritten
from abiscan.source.rewrites.error_macros import error_macro
from abiscan.source.rewrites.read_only_load import read_only_load
from abiscan.source.rewrites.successors import successor

# Rule -> function from a place to edits, or the reason why there are none.
REWRITES: Mapping[str, Callable[[FlaggedPlace, EditableSource], list[Edit] | NotRewritten]] = {
    "const-data-ptr": const_data_ptr,
    "deprecated-type-properties": type_properties,
    "half-intrinsic": read_only_load,
    "packed-accessor": packed_accessor,
    "removed-macros": error_macro,
    "removed-name": successor,
    "tensor-data": tensor_data,
    "thc-api": successor,
}
# The rule whose rewrite is a new file.
STUB_RULE = "op-not-registered"
