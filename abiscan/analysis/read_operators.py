"""Which operators a file registers with torch, by the schemas among its texts.

A schema is a text of the program, `ns::name.overload(Tensor x, int y=1) -> Tensor` (aten/src/ATen/native/README.md), or
the same without the namespace where `TORCH_LIBRARY(ns, m)` has it. Optimizers take a short text apart: the end of one
may be in the code, and the next may follow without a zero byte. What is whole is told with its schema, what is not by its
name. Operators that are given an implementation alone (`m.impl`) have no schema in the file and are not told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from abiscan.binary import Binary
from abiscan.model.binding import BoundImport
from abiscan.model.cause import Confidence
from abiscan.model.operators import Operator, Registration

# How the names begin that a registration imports.
_INTERFACES = (
    ("_ZNR5torch7Library4_def", Registration.TORCH_LIBRARY),
    ("aoti_torch_library_def", Registration.STABLE_TORCH_LIBRARY),
    ("torch_library_def", Registration.STABLE_TORCH_LIBRARY),
    ("_ZN3c1017RegisterOperators", Registration.LEGACY),
)
# A type of a schema, by its name (torch/csrc/jit/frontend/schema_type_parser.cpp); arguments end with `)`.
_TYPES = (
    r"Tensor|int|SymInt|float|bool|str|Scalar|ScalarType|Device|Layout|MemoryFormat|Generator|Dimname|Storage|Stream|complex"
    r"|QScheme|Dict|Any|number|SymBool|SymFloat|DeviceIndex|__torch__"
)
# Namespace, name, overload, arguments; `Tensor(a!)? x` and `Dict(str, Tensor) y` have brackets of their own.
_DEFINITION = re.compile(
    r"(?:([A-Za-z_]\w*)::)?([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?"
    rf"\((\)|(?:\*,\s*)?(?:{_TYPES})\b(?:[^()\0]|\([^()]*\))*\)?)"
)
_WHOLE = re.compile(_DEFINITION.pattern + r"\s*->\s*(?:\((?:[^()]|\([^()]*\))*\)|[A-Za-z_][\w.\[\]!?()| ]*)\s*")
_MOST = 10_000
# A text that holds a schema holds one of these: its arguments, or none and a result.
_MARKS = (
    b"(Tensor",
    b"(int ",
    b"(SymInt",
    b"(str ",
    b"(float ",
    b"(bool ",
    b"(Scalar",
    b"(Device",
    b"(__torch__",
    b"() ->",
)


def operators_of(binary: Binary, imports: Sequence[BoundImport]) -> tuple[Operator, ...]:
    """The operators, sorted; none for a file that imports nothing by which one is defined."""
    interface = next((kind for start, kind in _INTERFACES if any(b.name.startswith(start) for b in imports)), None)
    if interface is None:
        return ()
    texts = dict.fromkeys(text for mark in _MARKS for text in binary.texts_with(mark))
    found: dict[tuple[str, str], Operator] = {}
    broken: list[str] = []
    for text in texts:
        match = _WHOLE.fullmatch(text.strip())
        if match is None:
            broken.append(text)
            continue
        operator = Operator(_name(match[1], match[2]), interface, match[3] or "", text.strip(), Confidence.HIGH)
        found.setdefault((operator.name, operator.overload), operator)
    namespaces = {name.partition("::")[0] for name, _ in found if "::" in name}
    for text in broken:
        for operator in _parts(text, namespaces, interface):
            found.setdefault((operator.name, operator.overload), operator)
    return tuple(sorted(found.values(), key=lambda each: (each.name, each.overload)))[:_MOST]


def _parts(text: str, namespaces: set[str], interface: Registration) -> Iterator[Operator]:
    """The operators of a text in which what stands before one, or behind it, is something else."""
    for match in _DEFINITION.finditer(text):
        namespace, name = match[1], match[2]
        if namespace is None and match.start() > 0:
            continue  # what stands before may be its beginning, or another word's end
        if namespace is not None and match.start() > 0:
            known = max((each for each in namespaces if namespace.endswith(each)), key=len, default=None)
            namespace = namespace if known is None else known
        yield Operator(_name(namespace, name), interface, match[3] or "", None, Confidence.MEDIUM)


def _name(namespace: str | None, name: str) -> str:
    return name if namespace is None else f"{namespace}::{name}"
