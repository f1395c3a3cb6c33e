"""Operators that a file registers with torch, from the schemas and names among its strings.

A schema is a string of the program: `ns::name.overload(Tensor x, int y=1) -> Tensor`
(aten/src/ATen/native/README.md), or the same without the namespace if `TORCH_LIBRARY(ns, m)` has it: the macro makes a
function with the namespace in its name, which is among the symbols of a file that is not stripped (torch/library.h,
torch/csrc/stable/library.h).

Optimizers split short strings: the end of one may be in the code, and the next may follow without a zero byte. A
complete schema is reported as such, an incomplete one by its name. `m.def("ns::name", function)` and
`m.impl("ns::name", ...)` leave only the name, which counts if the file has a function for its namespace.
`m.impl("name", ...)` and `m.def("name", function)` leave nothing that differs from any other word.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping

from msgspec.structs import replace

from abiscan.binary import Binary
from abiscan.binary.stored_binary import StoredBinary
from abiscan.model.cause import Confidence
from abiscan.model.operators import Operator, Registration

# Prefixes of the imports of a registration.
_INTERFACES = (
    ("_ZNR5torch7Library4_def", Registration.TORCH_LIBRARY),
    ("aoti_torch_library_def", Registration.STABLE_TORCH_LIBRARY),
    ("torch_library_def", Registration.STABLE_TORCH_LIBRARY),
    ("_ZN3c1017RegisterOperators", Registration.LEGACY),
    ("_ZNR5torch7Library5_impl", Registration.TORCH_LIBRARY),
    ("aoti_torch_library_impl", Registration.STABLE_TORCH_LIBRARY),
    ("torch_library_impl", Registration.STABLE_TORCH_LIBRARY),
)
_DEFINING = tuple(start for start, _ in _INTERFACES if not start.endswith("_impl"))
# The function that a macro makes, in its mangled name: the length of the identifier, then the identifier. After the
# namespace come the dispatch key and a number, or only the number.
_MACRO = rb"(\d+)((?:STABLE_)?TORCH_LIBRARY_(?:(FRAGMENT|IMPL)_)?init_)"
_MACRO_MARK = b"TORCH_LIBRARY_"
_BEFORE_MACRO = 16
_BEHIND = {b"": r"", b"FRAGMENT": r"_\d+", b"IMPL": r"_[A-Za-z0-9]+_\d+"}
# Far more than a file has; lambdas inside such a function repeat its name.
_MOST_MACROS = 2_000
_NAME = r"([A-Za-z_]\w*)::([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?"
# A type in a schema (torch/csrc/jit/frontend/schema_type_parser.cpp); arguments end with `)`.
_TYPES = (
    r"Tensor|int|SymInt|float|bool|str|Scalar|ScalarType|Device|Layout|MemoryFormat|Generator|Dimname|Storage|Stream|complex"
    r"|QScheme|Dict|Any|number|SymBool|SymFloat|DeviceIndex|__torch__"
)
# Namespace, name, overload, and the start of the arguments.
_HEAD = (
    r"(?<!\w)(?:([A-Za-z_]\w*+)::)?+([A-Za-z_]\w*+)(?:\.([A-Za-z_]\w*+))?+\s*+\("
    rf"(?=\)\s*+->|\s*+(?:\*\s*+,\s*+)?+(?:{_TYPES})\b(?!\s*+[),]))"
)
# The rest; `Tensor(a!)? x` and `Dict(str, Tensor) y` contain brackets.
_REST = (
    r"(?:[^()]++|\([^()]*+\))*+\)\s*->\s*"
    r"(?:\((?:[^()]++|\([^()]*+\))*+\)(?:\[\])?|[A-Za-z_][\w.\[\]!?()| ]*)\s*"
)
_MOST = 10_000
# Maximum length of a string in bytes; the longest schema of torch's operators has 2,000.
_LONGEST = 1 << 16
_LONGEST_NAME = 512
# The largest distance between two such strings of one section in the extensions of the corpus is 0.2 MB.
_GAP = 1 << 19
_MOST_DIGITS = 4
# The size of an SSE register, and a part of the mangled names of members of an unnamed namespace.
_VECTOR = 16
_MANGLED = "_GLOBAL__N_"
# A complete schema contains the first, most incomplete ones the second.
_MARKS = (b" -> ", b"(Tensor")
# Namespaces of torch itself: such a schema in an extension usually only means that it knows an operator of torch.
_TORCHS_OWN = frozenset(("aten", "prim", "prims", "quantized", "c10d", "profiler"))


def find_operators(binary: Binary, imports: Collection[str]) -> tuple[Operator, ...]:
    """The operators, sorted; none if no import registers operators.

    Args:
        imports: mangled names.
    """
    if isinstance(binary, StoredBinary):
        return binary.operators
    interface = next((kind for start, kind in _INTERFACES if any(name.startswith(start) for name in imports)), None)
    if interface is None:
        return ()
    found_in = dict.fromkeys(raw for mark in _MARKS for raw in binary.strings_with(mark, _GAP) if len(raw) <= _LONGEST)
    texts = [raw.decode("utf-8", "surrogateescape") for raw in found_in]
    defined, implemented = _namespaces(binary)
    only = next(iter(defined)) if len(defined) == 1 else None
    found: dict[tuple[str, str], Operator] = {}
    broken: list[str] = []
    head, rest = re.compile(_HEAD).match, re.compile(_REST).fullmatch
    for text in texts:
        whole = text.strip()
        match = head(whole)
        if match is None or rest(whole, match.end()) is None:
            broken.append(text)
            continue
        sure = Confidence.LOW if match[1] in _TORCHS_OWN else Confidence.HIGH
        operator = Operator(_name(match[1] or only, match[2]), interface, match[3] or "", whole, sure)
        found.setdefault((operator.name, operator.overload), operator)
    namespaces = {name.partition("::")[0] for name, _ in found if "::" in name} | defined
    for text in broken:
        for operator in _parts(text, namespaces, interface):
            if only is not None and "::" not in operator.name:
                operator = replace(operator, name=f"{only}::{operator.name}")  # noqa: PLW2901
            found.setdefault((operator.name, operator.overload), operator)
    # Without any definition, a name belongs to an implementation.
    defines = None if any(name.startswith(_DEFINING) for name in imports) else False
    for namespace in sorted(defined | implemented):
        for operator in _named(binary, namespace, interface, defines=defines):
            found.setdefault((operator.name, operator.overload), operator)
    return tuple(sorted(_settled(found), key=lambda each: (each.name, each.overload)))[:_MOST]


def _settled(found: Mapping[tuple[str, str], Operator]) -> Iterator[Operator]:
    """Each operator once: a schema without a namespace belongs to the only operator of that name; the rest of an
    incomplete string is dropped if the complete name was found."""
    by_base: dict[tuple[str, str], list[Operator]] = {}
    whole = [each.name for each in found.values() if "::" in each.name]
    for each in found.values():
        if "::" in each.name and each.schema is None:
            by_base.setdefault((each.name.rpartition("::")[2], each.overload), []).append(each)
    endings = "\0".join((*whole, ""))
    merged = {}
    for each in found.values():
        same = by_base.get((each.name, each.overload), ())
        if "::" not in each.name and each.schema is not None and len(same) == 1:
            merged[same[0].name, each.overload] = replace(each, name=same[0].name)
    taken = {(name.rpartition("::")[2], overload) for name, overload in merged}
    for key, each in found.items():
        left_over = each.schema is None and f"{each.name}\0" in endings
        if "::" in each.name:
            yield merged.get(key, each)
        elif not left_over and (each.name, each.overload) not in taken:
            yield each


def _namespaces(binary: Binary) -> tuple[set[str], set[str]]:
    """The namespaces of `TORCH_LIBRARY` and `TORCH_LIBRARY_FRAGMENT`, and those of `TORCH_LIBRARY_IMPL`."""
    defined: set[str] = set()
    implemented: set[str] = set()
    macro = re.compile(_MACRO)  # `re.search` takes no start position
    seen: set[bytes] = set()
    for name in itertools.islice(binary.symbol_names_with(_MACRO_MARK, _GAP), _MOST_MACROS):
        # Its length and STABLE_ precede it; the rest of the text before may be long.
        match = macro.search(name, max(0, name.index(_MACRO_MARK) - _BEFORE_MACRO))
        if match is None or len(match[1]) > _MOST_DIGITS:
            continue
        kind = match[3] or b""
        identifier = name[match.start(2) : match.start(2) + int(match[1])]
        if identifier in seen:
            continue
        seen.add(identifier)
        namespace = re.fullmatch(
            rf"([A-Za-z_]\w*?){_BEHIND[kind]}", identifier[len(match[2]) :].decode("ascii", "replace")
        )
        if namespace is not None:
            (implemented if kind == b"IMPL" else defined).add(namespace[1])
    return defined, implemented


def _named(binary: Binary, namespace: str, interface: Registration, *, defines: bool | None) -> Iterator[Operator]:
    """The operators of a namespace whose names are separate strings."""
    fullmatch, start = re.compile(_NAME).fullmatch, f"{namespace}::".encode()
    for raw in binary.strings_with(start, _GAP):
        if not raw.startswith(start) or len(raw) > _LONGEST_NAME:
            continue
        match = fullmatch(_join_constants(raw.decode("utf-8", "replace")))
        if match is not None and match[1] == namespace:
            # Names of operators are not mangled: this string runs into the next.
            sure = Confidence.LOW if _MANGLED in match[2] else Confidence.MEDIUM
            yield Operator(_name(match[1], match[2]), interface, match[3] or "", None, sure, defines)


def _join_constants(text: str) -> str:
    """The name in a string that is a sequence of 16-byte constants: GCC copies a literal of 17 to 31 bytes with two of
    them, the second of which repeats the end of the first. Other constants may follow without a zero byte."""
    if len(text) % _VECTOR or len(text) < 2 * _VECTOR:
        return text
    first, second = text[:_VECTOR], text[_VECTOR : 2 * _VECTOR]
    # One common character is usually a coincidence.
    common = next((n for n in range(_VECTOR - 1, 1, -1) if first.endswith(second[:n])), 0)
    if common:
        return first + second[common:]
    return first + second if _MANGLED in text else text


def _parts(text: str, namespaces: set[str], interface: Registration) -> Iterator[Operator]:
    """The operators in a string that has other text before or after them."""
    for match in re.finditer(_HEAD, text):
        namespace, name = match[1], match[2]
        if namespace is None and match.start() > 0:
            continue  # the text before may be its start, or the end of another word
        if namespace is not None and match.start() > 0:
            known = max((each for each in namespaces if namespace.endswith(each)), key=len, default=None)
            namespace = namespace if known is None else known
        sure = Confidence.LOW if namespace in _TORCHS_OWN else Confidence.MEDIUM
        yield Operator(_name(namespace, name), interface, match[3] or "", None, sure)


def _name(namespace: str | None, name: str) -> str:
    return name if namespace is None else f"{namespace}::{name}"
