"""Rewrites of tensor accessors: the same pointer with the same type, from a function that every release exports."""

from __future__ import annotations

import re

from abiscan.source.declarations import DeclaredIn, origin_of, split_arguments
from abiscan.source.flagged_place import FlaggedPlace
from abiscan.source.object_types import Kind
from abiscan.source.rewrites.edited_source import Edit, EditableSource, NotRewritten
from abiscan.source.tensor_accessors import ONLY_ON_TENSOR, SAME_ON_TENSOR, is_accessor, member_of_type

# libtorch for Linux has no accessors for these types: int64_t is `long` there.
_LONG_LONG = ("long long", "long long int", "unsigned long long")


def const_data_ptr(place: FlaggedPlace, written: EditableSource) -> list[Edit] | NotRewritten:
    """`x.const_data_ptr<T>()` to `x.data_ptr<T>()`, as a pointer to const if the context requires it.
    at::TensorBase::data_ptr<T> is exported for the same types and accepts no const type (ATen/core/TensorBase.h)."""
    index = written.index(place.at)
    reason = _no_tensor(place, written)
    if reason is not None:
        return NotRewritten(reason)
    if is_accessor(place):
        plain = re.sub(r"\bconst\b ?| const\b", "", place.text)
        return NotRewritten(f"{place.text} calls const_data_ptr; write {plain}, and so where its class is named")
    close = written.angle_end(index + 1)
    start = written.object_start(index)
    if close is None or written.word(close) != "(" or written.word(close + 1) != ")":
        return NotRewritten("it is not called with template arguments alone")
    if start is None:
        return NotRewritten("the start of the expression before it is unknown")
    element = _without_const(written, index + 2, close - 1)
    if element is None:
        return NotRewritten("it has several template arguments")
    if element in _LONG_LONG:
        return NotRewritten(f"replace {element} with int64_t first, which is another type on Linux")
    plain = element
    if origin_of(written.code, place.at, element) is DeclaredIn.PARAMETER:
        plain = f"std::remove_const_t<{element}>"
    edits = [Edit(written.tokens[index].at, written.end(close - 1), f"data_ptr<{plain}>")]
    if not _is_const_already(written, start, close + 2):
        edits.append(Edit(written.tokens[start].at, written.tokens[start].at, f"static_cast<const {element}*>("))
        edits.append(Edit(written.end(close + 1), written.end(close + 1), ")"))
    return edits


def _without_const(written: EditableSource, first: int, last: int) -> str | None:
    """A template argument without its outermost const."""
    if len(split_arguments(written.tokens[first:last])) != 1:
        return None
    if last - first > 1 and written.word(first) == "const":
        first += 1
    if last - first > 1 and written.word(last - 1) == "const":
        last -= 1
    return written.between(first, last)


def _is_const_already(written: EditableSource, start: int, after: int) -> bool:
    """Whether the expression initializes a variable declared `const T*`, or is the operand of a cast: a pointer to T
    gives the same result. `auto`, function templates and overloads may deduce another type."""
    if written.word(start - 1) == "(":
        before = start - 2
        if written.word(before) != ">" or written.word(after) != ")":
            return False
        words = [written.word(at) for at in range(max(0, before - 12), before)]
        casts = ("reinterpret_cast", "static_cast", "const_cast")
        opened = max((at for at, word in enumerate(words) if word in casts), default=None)
        return opened is not None and ("const" in words[opened:] or words[opened] == "const_cast")
    if written.word(start - 1) != "=" or written.word(after) not in (";", ","):
        return False
    at = start - 3  # before the name
    words = []
    while at >= 0 and len(words) < 16 and written.word(at) not in (";", "{", "}", "(", ")", ","):
        words.append(written.word(at))
        at -= 1
    # The outermost const belongs to the pointer; the one before `*` counts.
    stars = [position for position, word in enumerate(words) if word == "*"]
    return len(stars) == 1 and "const" in words[stars[0] :]


def tensor_data(place: FlaggedPlace, written: EditableSource) -> list[Edit] | NotRewritten:
    """`x.data<T>()` to `x.data_ptr<T>()`, which it calls (ATen/core/TensorBase.h), if x is a tensor."""
    index = written.index(place.at)
    reason = _no_tensor(place, written)
    return NotRewritten(reason) if reason else [written.replaced(index, "data_ptr")]


def type_properties(place: FlaggedPlace, written: EditableSource) -> list[Edit] | NotRewritten:
    """`AT_DISPATCH_...(x.type(), ...)` to `x.scalar_type()`, which the macro calls (ATen/Dispatch.h), and
    `x.type().is_cuda()` and others to the tensor's own member. Not `x.type()` as options of a new tensor: `x.options()`
    has the device of x, but type() the current one (ATen/core/DeprecatedTypeProperties.h)."""
    index = written.index(place.at)
    member = member_of_type(written.text, place.at)
    reason = _no_tensor(place, written)
    # A macro argument is a tensor if the body calls a member of type() that only a tensor has.
    if reason is not None and not (member in ONLY_ON_TENSOR and written.code.is_in_directive(place.at)):
        return NotRewritten(reason)
    if place.inside:
        return [written.replaced(index, "scalar_type")]
    same = SAME_ON_TENSOR.get(member or "")
    if same is None:
        return NotRewritten("ambiguous: replace it with scalar_type(), options() or device()")
    if [written.word(at) for at in range(index + 5, index + 7)] != ["(", ")"]:
        return NotRewritten(f"`{member}` is not called without arguments")
    return [Edit(written.tokens[index].at, written.end(index + 6), same)]


def packed_accessor(place: FlaggedPlace, written: EditableSource) -> list[Edit] | NotRewritten:
    """`packed_accessor<T, N, Traits, index>()` to the accessor with that index type (default: int64_t)."""
    index = written.index(place.at)
    close = written.angle_end(index + 1)
    if close is None:
        return NotRewritten("the end of its template arguments is unknown")
    arguments = split_arguments(written.tokens[index + 2 : close - 1])
    if len(arguments) < 4:
        return [written.replaced(index, "packed_accessor64")]
    comma = written.index(arguments[3][0].at) - 1
    width = {"int64_t": "64", "int32_t": "32", "int": "32"}.get(written.between(comma + 1, close - 1))
    if width is None:
        return [written.replaced(index, "generic_packed_accessor")]
    without = Edit(written.tokens[comma].at, written.end(close - 2), "")
    return [written.replaced(index, f"packed_accessor{width}"), without]


def _no_tensor(place: FlaggedPlace, written: EditableSource) -> str | None:
    """Why the object of a member is not known to be a tensor; None if it is one."""
    known = written.objects.receiver(place.at)
    return None if known.kind is Kind.TENSOR else known.reason
