"""Which records of torch a type makes room for, by the type's text as Clang prints it and as names are demangled."""

from __future__ import annotations

from collections.abc import Iterator

OF_TORCH = ("at::", "c10::", "torch::", "c10d::", "caffe2::")
# Templates whose arguments lie in the record itself, and those that keep them elsewhere.
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
# Types that name a record without room for one: pointers, references, functions.
_REFERRING = ("*", "&", ")")


def template_of(type_: str) -> str:
    """`std::vector` of `std::__cxx11::vector<int>`; the text itself where it is no template."""
    return type_.partition("<")[0].replace("std::__cxx11::", "std::")


def elements(type_: str) -> Iterator[str]:
    """The records of torch that a container of this type makes room for, in the order of its arguments.

    `std::vector<c10::IValue>` has elements; `std::unique_ptr<c10::IValue>` refers to what anyone may have made.
    """
    if template_of(type_) in _KEEPING:
        for argument in _arguments(type_.partition("<")[2]):
            if argument.startswith(OF_TORCH) and not argument.endswith(_REFERRING):
                yield argument
            yield from elements(argument)


def made_for(parameter: str) -> Iterator[str]:
    """The records of torch that who calls a function with such a parameter makes: the parameter itself, if it is no
    reference to what may lie anywhere, and what it has of elements."""
    type_ = parameter.rstrip("&").removesuffix(" const")
    if type_.endswith(_REFERRING):
        return
    if type_.startswith(OF_TORCH) and (type_ == parameter or parameter.endswith("&&")):
        yield type_
    yield from elements(type_)


def _arguments(text: str) -> Iterator[str]:
    """Template arguments, up to the bracket that closes them."""
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
