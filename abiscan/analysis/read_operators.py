"""Which operators a file registers with torch, by the schemas among its texts.

A schema is a text of the program, `ns::name.overload(Tensor x, int y=1) -> Tensor` (aten/src/ATen/native/README.md), or
the same without the namespace where `TORCH_LIBRARY(ns, m)` has it. Optimizers take a short text apart: the end of one
may be in the code, and the next may follow without a zero byte. What is whole is told with its schema, what is not by
its name. Operators that are given an implementation alone (`m.impl`) have no schema in the file and are not told.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from abiscan.binary import Binary
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
# Namespace, name, overload, and how the arguments begin.
_HEAD = (
    r"(?<!\w)(?:([A-Za-z_]\w*+)::)?+([A-Za-z_]\w*+)(?:\.([A-Za-z_]\w*+))?+\s*+\("
    rf"(?=\)\s*+->|\s*+(?:\*\s*+,\s*+)?+(?:{_TYPES})\b(?!\s*+[),]))"
)
# The rest; `Tensor(a!)? x` and `Dict(str, Tensor) y` have brackets of their own.
_REST = r"(?:[^()]|\([^()]*\))*\)\s*->\s*(?:\((?:[^()]|\([^()]*\))*\)(?:\[\])?|[A-Za-z_][\w.\[\]!?()| ]*)\s*"
_MOST = 10_000
# Of the texts that are read, in bytes; the longest schema of the operators of torch has 2,000.
_LONGEST = 1 << 16
# A text that holds a whole schema holds the first, most of those that are taken apart the second.
_MARKS = (b" -> ", b"(Tensor")
# Of torch itself: a schema of theirs in an extension mostly says which of torch's operators it knows.
_TORCHS_OWN = frozenset(("aten", "prim", "prims", "quantized", "c10d", "profiler"))


def operators_of(binary: Binary, imports: Collection[str]) -> tuple[Operator, ...]:
    """The operators, sorted; none for a file whose imports have nothing by which one is defined.

    Args:
        imports: mangled names.
    """
    interface = next((kind for start, kind in _INTERFACES if any(name.startswith(start) for name in imports)), None)
    if interface is None:
        return ()
    found_in = dict.fromkeys(raw for mark in _MARKS for raw in binary.strings_with(mark) if len(raw) <= _LONGEST)
    texts = [raw.decode("utf-8", "surrogateescape") for raw in found_in]
    head, rest = re.compile(_HEAD), re.compile(_REST)
    found: dict[tuple[str, str], Operator] = {}
    broken: list[str] = []
    for text in texts:
        match = head.match(text.strip())
        if match is None or rest.fullmatch(text.strip(), match.end()) is None:
            broken.append(text)
            continue
        sure = Confidence.LOW if match[1] in _TORCHS_OWN else Confidence.HIGH
        operator = Operator(_name(match[1], match[2]), interface, match[3] or "", text.strip(), sure)
        found.setdefault((operator.name, operator.overload), operator)
    namespaces = {name.partition("::")[0] for name, _ in found if "::" in name}
    for text in broken:
        for operator in _parts(text, namespaces, interface):
            found.setdefault((operator.name, operator.overload), operator)
    return tuple(sorted(found.values(), key=lambda each: (each.name, each.overload)))[:_MOST]


def _parts(text: str, namespaces: set[str], interface: Registration) -> Iterator[Operator]:
    """The operators of a text in which what stands before one, or behind it, is something else."""
    for match in re.finditer(_HEAD, text):
        namespace, name = match[1], match[2]
        if namespace is None and match.start() > 0:
            continue  # what stands before may be its beginning, or another word's end
        if namespace is not None and match.start() > 0:
            known = max((each for each in namespaces if namespace.endswith(each)), key=len, default=None)
            namespace = namespace if known is None else known
        sure = Confidence.LOW if namespace in _TORCHS_OWN else Confidence.MEDIUM
        yield Operator(_name(namespace, name), interface, match[3] or "", None, sure)


def _name(namespace: str | None, name: str) -> str:
    return name if namespace is None else f"{namespace}::{name}"
