"""Torch records for which a type allocates memory, from the type's text as printed by Clang and demanglers."""

from __future__ import annotations

from collections.abc import Iterator

OF_TORCH = ("at::", "c10::", "torch::", "c10d::", "caffe2::")
# Templates that store their arguments in the record itself, and those that store them elsewhere.
HOLDERS = frozenset(("std::array", "std::pair", "std::tuple", "std::optional", "std::variant", "c10::optional"))
CONTAINERS = frozenset(
    (
        *("std::vector", "std::deque", "std::list", "std::forward_list"),
        *("std::set", "std::map", "std::multiset", "std::multimap"),
        *("std::unordered_set", "std::unordered_map", "std::unordered_multiset", "std::unordered_multimap"),
        *("c10::ArrayRef", "c10::SmallVector", "c10::SmallVectorImpl"),
    )
)
_KEEPING = HOLDERS | CONTAINERS
# Types that name a record without storing one: pointers, references, functions.
_REFERRING = ("*", "&", ")")


def template_of(type_: str) -> str:
    """`std::vector` for `std::__cxx11::vector<int>`; the text itself if it is not a template."""
    return type_.partition("<")[0].replace("std::__cxx11::", "std::")


def elements(type_: str) -> Iterator[str]:
    """The torch records that a container of this type allocates, in the order of its arguments.

    `std::vector<c10::IValue>` has elements; `std::unique_ptr<c10::IValue>` refers to an object that other code may have
    created.
    """
    if template_of(type_) in _KEEPING:
        for argument in _arguments(type_.partition("<")[2]):
            if argument.startswith(OF_TORCH) and not argument.endswith(_REFERRING):
                yield argument
            yield from elements(argument)


def made_for(parameter: str) -> Iterator[str]:
    """The torch records that the caller of a function with this parameter creates: the parameter itself unless it
    refers to an existing object, and its elements."""
    type_ = parameter.rstrip("&").removesuffix(" const")
    if type_.endswith(_REFERRING):
        return
    if type_.startswith(OF_TORCH) and (type_ == parameter or parameter.endswith("&&")):
        yield type_
    yield from elements(type_)


def _arguments(text: str) -> Iterator[str]:
    """Template arguments, up to the closing bracket."""
    depth = start = 0
    for at, character in enumerate(text):
        if character in "<(":
            depth += 1
        elif character in ">)" and depth:
            depth -= 1
        elif character in ",>" and not depth:
            yield text[start:at].strip()
            start = at + 1
            if character == ">":
                return
