"""`const-data-ptr`, `tensor-data` and `deprecated-type-properties`: which of their places are members of a tensor."""

from __future__ import annotations

import re
from collections.abc import Sequence

from abiscan.model.cause import Confidence
from abiscan.source.code import Code
from abiscan.source.flagged_place import FlaggedPlace, Refined
from abiscan.source.object_types import Kind, ObjectTypes
from abiscan.source.source_set import SourceSet

# Member of at::DeprecatedTypeProperties -> what at::Tensor has for it, which gives the same
# (ATen/core/DeprecatedTypeProperties.h, TensorBase.h; torch 1.13 to 2.15).
SAME_ON_TENSOR = {
    "scalarType": "scalar_type()",
    "typeMeta": "dtype()",
    "is_cuda": "is_cuda()",
    "is_sparse": "is_sparse()",
    "device_type": "device().type()",
    "toString": "toString()",
}
# Those that no other class is known to have behind `type()`.
ONLY_ON_TENSOR = frozenset({"scalarType", "typeMeta", "is_cuda"})
_UNTOLD = "; whether it is called on a tensor of torch's is not known ({})"


def refine_member(places: Sequence[FlaggedPlace], code: Code, others: SourceSet) -> list[Refined | None]:
    """What is known of each `x.data<T>()` or `x.const_data_ptr<T>()`; None where x is something else than a tensor."""
    types = ObjectTypes(code, others)
    result: list[Refined | None] = []
    for place in places:
        known = types.receiver(place.at)
        if known.kind is Kind.OTHER:
            result.append(None)
        elif known.kind is Kind.TENSOR:
            result.append(Refined())
        else:
            untold = _UNTOLD.format(known.reason)
            result.append(Refined(confidence=Confidence.LOW, fields={"detail": untold}, variant="unknown object"))
    return result


def asked_of_type(text: str, at: int) -> str | None:
    """The member that is asked of `type()` at a character offset, empty for none; None where it is called with
    arguments."""
    found = re.compile(r"type\s{0,99}\(\s{0,99}\)(?:\s{0,99}\.\s{0,99}(\w{1,99}))?").match(text, at)
    return None if found is None else found[1] or ""


def refine_type(places: Sequence[FlaggedPlace], code: Code, others: SourceSet) -> list[Refined | None]:
    """What is known of each `x.type()`; None where x is something else, or what is done with it is in order."""
    types = ObjectTypes(code, others)
    return [_type(place, code, types) for place in places]


def _type(place: FlaggedPlace, code: Code, types: ObjectTypes) -> Refined | None:
    member = asked_of_type(code.text, place.at)
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
