"""`const-data-ptr`, `tensor-data` and `deprecated-type-properties`: places that are members of a tensor."""

from __future__ import annotations

import re
from collections.abc import Sequence

from abiscan.model.cause import Confidence
from abiscan.source.code import Code
from abiscan.source.flagged_place import FlaggedPlace, Refined
from abiscan.source.object_types import Kind, ObjectTypes
from abiscan.source.source_set import SourceSet

# Member of at::DeprecatedTypeProperties -> equivalent member of at::Tensor (ATen/core/DeprecatedTypeProperties.h,
# TensorBase.h; torch 1.13 to 2.15).
SAME_ON_TENSOR = {
    "scalarType": "scalar_type()",
    "typeMeta": "dtype()",
    "is_cuda": "is_cuda()",
    "is_sparse": "is_sparse()",
    "device_type": "device().type()",
    "toString": "toString()",
}
# Members of `type()` that no other known class has.
ONLY_ON_TENSOR = frozenset({"scalarType", "typeMeta", "is_cuda"})
# Accessors of a const type call const_data_ptr (ATen/core/TensorBase.h), others do not.
_ACCESSOR = re.compile(r"(?:generic_)?(?:packed_)?accessor(?:32|64)?<")
_UNKNOWN_RECEIVER = "; unknown whether the object is a torch tensor ({})"


def is_accessor(place: FlaggedPlace) -> bool:
    """Whether a place of `const-data-ptr` is an accessor: its result has the type, too."""
    return _ACCESSOR.match(place.text) is not None


def refine_member(places: Sequence[FlaggedPlace], code: Code, others: SourceSet) -> list[Refined | None]:
    """Refine each `x.data<T>()`, `x.const_data_ptr<T>()` or `x.accessor<const T, N>()`; None if x is not a tensor."""
    types = ObjectTypes(code, others)
    result: list[Refined | None] = []
    for place in places:
        known = types.receiver(place.at)
        if known.kind is Kind.OTHER or (is_accessor(place) and "const" not in (place.element or "").split()):
            result.append(None)
        elif known.kind is Kind.TENSOR:
            result.append(Refined())
        else:
            unknown = _UNKNOWN_RECEIVER.format(known.reason)
            result.append(Refined(confidence=Confidence.LOW, fields={"detail": unknown}, variant="unknown object"))
    return result


def member_of_type(text: str, at: int) -> str | None:
    """The member of `type()` that is used at a character offset, or empty; None if `type` has arguments."""
    found = re.compile(r"type\s{0,99}\(\s{0,99}\)(?:\s{0,99}\.\s{0,99}(\w{1,99}))?").match(text, at)
    return None if found is None else found[1] or ""


def refine_type(places: Sequence[FlaggedPlace], code: Code, others: SourceSet) -> list[Refined | None]:
    """Refine each `x.type()`; None if x is not a tensor, or its use is correct."""
    types = ObjectTypes(code, others)
    return [_type(place, code, types) for place in places]


def _type(place: FlaggedPlace, code: Code, types: ObjectTypes) -> Refined | None:
    member = member_of_type(code.text, place.at)
    if member is None:
        return None
    known = types.receiver(place.at)
    if known.kind is Kind.OTHER:
        return None
    confidence = None if known.kind is Kind.TENSOR else Confidence.LOW
    if place.inside:
        return Refined(confidence=confidence)
    if known.kind is not Kind.TENSOR and member not in ONLY_ON_TENSOR:
        return None
    same = SAME_ON_TENSOR.get(member)
    instead = same or "scalar_type(), options() or device(), as the use requires"
    text = f"type().{member}()" if member else "type()"
    return Refined(confidence=confidence, fields={"detail": text, "instead": instead}, variant=member)
