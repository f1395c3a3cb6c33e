"""Differences between two names of one entity, the std::string ABI of a name, and prefixes to search for other names of
its entity."""

from __future__ import annotations

import enum
import functools
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from abiscan.mangling.canonical import spellings
from abiscan.mangling.cxxname import CxxName, NameTexts, SpecialKind, parse
from abiscan.mangling.name_parts import Parts
from abiscan.mangling.parser.codes import OPERATORS
from abiscan.mangling.parser.name_nodes import (
    Conversion,
    Encoding,
    LiteralOperator,
    Local,
    Nested,
    StdAbbreviation,
    Structor,
    Tagged,
    Template,
)
from abiscan.mangling.parser.name_nodes import Special as SpecialNode
from abiscan.mangling.parser.render import Ident, Node, RenderStyle
from abiscan.model.limits import KEPT_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class DifferenceKind(enum.StrEnum):
    """STRING_ABI, NAMESPACE_ALIAS, ABI_TAG, TEMPLATE_MANGLING, CONSTRUCTOR_VARIANT: the same entity with another
    mangling. PARAMETERS, TEMPLATE_ARGS, RETURN_TYPE, QUALIFIERS, ENTITY: another overload, instance or entity.
    DECLARATION: the same function or object with other access, static, virtual, `class` or `struct`, or calling
    convention, which are parts of Microsoft's mangling."""

    STRING_ABI = "string-abi"
    ABI_TAG = "abi-tag"
    PARAMETERS = "parameters"
    TEMPLATE_ARGS = "template-args"
    TEMPLATE_MANGLING = "template-mangling"
    RETURN_TYPE = "return-type"
    QUALIFIERS = "qualifiers"
    NAMESPACE_ALIAS = "namespace-alias"
    CONSTRUCTOR_VARIANT = "constructor-variant"
    DECLARATION = "declaration"
    ENTITY = "entity"


class Difference(Struct, frozen=True):
    """One difference between two names.

    Attributes:
        index: index of the parameter or template argument, from 0, in the name that has it (in the first, if both have
            one); None for other differences.
        old, new: the texts as mangled in the first and second name; None if that name has no counterpart.
    """

    kind: DifferenceKind
    index: int | None
    old: str | None
    new: str | None


def differences(a: CxxName, b: CxxName) -> tuple[Difference, ...]:
    """Differences between two names, the most important first; empty only for identical names."""
    if a.mangled == b.mangled:
        return ()
    found: list[Difference] = []
    if a.entity != b.entity:
        found.append(Difference(DifferenceKind.ENTITY, None, a.qualified, b.qualified))
    old, new = a.in_style(RenderStyle.DISPLAY), b.in_style(RenderStyle.DISPLAY)
    # Parts with equal texts need no canonical form.
    if old.params != new.params:
        found.extend(_lists(DifferenceKind.PARAMETERS, a, b, lambda texts: texts.params))
    if old.args != new.args:
        found.extend(_lists(DifferenceKind.TEMPLATE_ARGS, a, b, lambda texts: texts.args))
    # Arguments of enclosing class templates are only in the name.
    if (
        old.name != new.name
        and a.entity == b.entity
        and a.in_style(RenderStyle.CANONICAL).args == b.in_style(RenderStyle.CANONICAL).args
    ):
        in_name = _texts(DifferenceKind.TEMPLATE_ARGS, a, b, lambda texts: texts.name)
        found.extend(difference for difference in in_name if difference.kind is not DifferenceKind.ABI_TAG)
    if old.ret != new.ret:
        found.extend(_texts(DifferenceKind.RETURN_TYPE, a, b, lambda texts: texts.ret))
    if a.qualifiers != b.qualifiers:
        found.append(Difference(DifferenceKind.QUALIFIERS, None, " ".join(a.qualifiers), " ".join(b.qualifiers)))
    if a.member != b.member:
        found.append(Difference(DifferenceKind.DECLARATION, None, a.member or None, b.member or None))
    if a.variant != b.variant:
        found.append(Difference(DifferenceKind.CONSTRUCTOR_VARIANT, None, a.variant or None, b.variant or None))
    if a.abi_tags != b.abi_tags:
        found.append(
            Difference(DifferenceKind.ABI_TAG, None, " ".join(a.abi_tags) or None, " ".join(b.abi_tags) or None)
        )
    old_abi, new_abi = string_abi(a.mangled), string_abi(b.mangled)
    if old_abi != new_abi and old_abi and new_abi and not any(d.kind is DifferenceKind.STRING_ABI for d in found):
        found.append(Difference(DifferenceKind.STRING_ABI, None, old_abi, new_abi))
    if a.declares_parameters != b.declares_parameters or not found:
        kind = DifferenceKind.DECLARATION if a.mangled.startswith("?") else DifferenceKind.TEMPLATE_MANGLING
        found.append(Difference(kind, None, a.mangled, b.mangled))
    return tuple(dict.fromkeys(found))


# Of longer lists of parameters or template arguments, only the first difference is listed.
_MAX_LISTED = 256


def _lists(
    kind: DifferenceKind, a: CxxName, b: CxxName, texts: Callable[[NameTexts], tuple[str, ...] | None]
) -> Iterator[Difference]:
    old_shown, new_shown = (texts(name.in_style(RenderStyle.DISPLAY)) or () for name in (a, b))
    old, new = (texts(name.in_style(RenderStyle.CANONICAL)) or () for name in (a, b))
    long = max(len(old), len(new)) > _MAX_LISTED
    for i, j in (_first_different if long else _aligned)(old, new):
        if i is None:
            assert j is not None
            yield Difference(kind, j, None, new_shown[j])
        elif j is None:
            yield Difference(kind, i, old_shown[i], None)
        elif old[i] != new[j]:
            yield Difference(kind, i, old_shown[i], new_shown[j])
        elif old_shown[i] != new_shown[j]:
            # Few names need their neutral form.
            old_neutral, new_neutral = (texts(name.in_style(RenderStyle.NEUTRAL)) or () for name in (a, b))
            alias = old_neutral[i] != new_neutral[j]
            spelling = DifferenceKind.NAMESPACE_ALIAS if alias else _spelling(old_shown[i], new_shown[j])
            yield Difference(spelling, i, old_shown[i], new_shown[j])


def _texts(
    kind: DifferenceKind, a: CxxName, b: CxxName, text: Callable[[NameTexts], str | None]
) -> Iterator[Difference]:
    old, new = (text(name.in_style(RenderStyle.DISPLAY)) for name in (a, b))
    if text(a.in_style(RenderStyle.CANONICAL)) != text(b.in_style(RenderStyle.CANONICAL)):
        yield Difference(kind, None, old, new)
    elif text(a.in_style(RenderStyle.NEUTRAL)) != text(b.in_style(RenderStyle.NEUTRAL)):
        yield Difference(DifferenceKind.NAMESPACE_ALIAS, None, old, new)
    elif old is not None and new is not None:
        yield Difference(_spelling(old, new), None, old, new)


def _spelling(old: str, new: str) -> DifferenceKind:
    """The kind of difference between two texts with the same neutral form."""
    if ("std::__cxx11::" in old) != ("std::__cxx11::" in new):
        return DifferenceKind.STRING_ABI
    if ("[abi:" in old) != ("[abi:" in new):
        return DifferenceKind.ABI_TAG
    return DifferenceKind.TEMPLATE_MANGLING


def _first_different(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """The first pair of indices with different entries; none if the lists are equal."""
    both = min(len(old), len(new))
    at = next((i for i in range(both) if old[i] != new[i]), both)
    if at < max(len(old), len(new)):
        yield at if at < len(old) else None, at if at < len(new) else None


def _aligned(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """Pairs of indices such that an added or removed entry does not make all later ones differ.

    The lists belong to one function, so a table of all pairs is small; larger ones are paired by position.
    """
    rows, columns = len(old), len(new)
    if (rows == columns and sum(a != b for a, b in zip(old, new, strict=True)) <= 1) or rows * columns > 10_000:
        for i in range(max(rows, columns)):
            yield i if i < rows else None, i if i < columns else None
        return
    # Longest common subsequence, from the ends.
    table = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            table[i][j] = table[i + 1][j + 1] + 1 if old[i] == new[j] else max(table[i + 1][j], table[i][j + 1])
    i = j = 0
    removed: list[int] = []
    added: list[int] = []
    while i < rows or j < columns:
        if i < rows and j < columns and old[i] == new[j]:
            yield from _gap(removed, added)
            removed, added = [], []
            yield i, j
            i += 1
            j += 1
        elif j == columns or (i < rows and table[i + 1][j] >= table[i][j + 1]):
            removed.append(i)
            i += 1
        else:
            added.append(j)
            j += 1
    yield from _gap(removed, added)


def _gap(removed: list[int], added: list[int]) -> Iterator[tuple[int | None, int | None]]:
    """Pair the entries between two common ones: replaced while both have one, the rest removed or added."""
    for k in range(max(len(removed), len(added))):
        yield removed[k] if k < len(removed) else None, added[k] if k < len(added) else None


# --- std::string --------------------------------------------------------------------------------------------------

# Types that libstdc++ has twice, in std and in std::__cxx11 (GCC 5 release notes, and
# _GLIBCXX_BEGIN_NAMESPACE_CXX11 in its headers).
_DUAL: Final = frozenset(
    {
        *("basic_string", "list", "basic_stringbuf", "basic_istringstream", "basic_ostringstream"),
        *("basic_stringstream", "collate", "messages", "moneypunct", "money_get", "money_put", "numpunct", "time_get"),
        *("basic_regex", "regex_traits", "sub_match", "match_results"),
    }
)


# `std::__cxx11`, and the spellings of a name outside of it: in full, or by an abbreviation.
_NEW_MARK: Final = "St7__cxx11"
_NEW_IDENTIFIER: Final = "7__cxx11"
# [abi:cxx11]
_TAG: Final = "B5cxx11"
_OLD_MARKS: Final = ("Ss", "Sb", *(f"St{len(name)}{name}" for name in sorted(_DUAL)))


@functools.lru_cache(maxsize=KEPT_NAMES)
def string_abi(mangled: str) -> Literal["old", "new"] | None:
    """The std::string ABI of a C++ name: "new" if it mentions std::string or another dual type in std::__cxx11, "old"
    if it mentions one outside of it; None for neither.

    An abi tag alone ([abi:cxx11]) gives None: it means that a function returns such a type, not that the name has a
    counterpart in the other ABI.
    """
    # A name without any mark need not be parsed; Microsoft's library has one ABI.
    if mangled.startswith("?"):
        return None
    if _NEW_MARK not in mangled and not any(mark in mangled for mark in _OLD_MARKS):
        return None
    name = parse(mangled)
    if name is None:
        return None
    old = False
    may_be_new = _NEW_IDENTIFIER in mangled
    seen: set[Node] = set()
    rest: list[Node] = [name.root]
    while rest and (may_be_new or not old):
        node = rest.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Nested) and isinstance(node.scope, Ident) and node.scope.text == "std":
            inner = node.name
            if isinstance(inner, Ident):
                if inner.text == "__cxx11":
                    return "new"
                old = old or inner.text in _DUAL
        elif isinstance(node, StdAbbreviation) and node.letter in "sb":
            old = True
        rest.extend(node.children())
    return "old" if old else None


def tagged_string_abi(mangled: str) -> Literal["old", "new"] | None:
    """The same, and "new" for a name with [abi:cxx11] alone: of a function that returns such a type."""
    return string_abi(mangled) or ("new" if _TAG in mangled else None)


def string_abis(names: Iterable[str]) -> dict[Literal["old", "new"], str]:
    """The ABIs that the C++ names among these mention, each with the first such name."""
    text = "\n".join([name for name in names if name.startswith("_Z")]) + "\n"
    first: dict[Literal["old", "new"], str] = {}
    for _, name in _mentioning(text, _NEW_MARK):
        if string_abi(name) == "new":
            first["new"] = name
            break
    for _, name in sorted({found for mark in _OLD_MARKS for found in _mentioning(text, mark)}):
        # A name that mentions std::__cxx11 has the new ABI, regardless of its other parts.
        if _NEW_MARK not in name and string_abi(name) == "old":
            first["old"] = name
            break
    return first


def _mentioning(text: str, mark: str) -> Iterator[tuple[int, str]]:
    """(offset, name) of the lines that contain a mark, in order."""
    at = text.find(mark)
    while at >= 0:
        start, stop = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        yield start, text[start:stop]
        at = text.find(mark, stop)


# --- search prefixes ----------------------------------------------------------------------------------------------

_CODES: Final = {
    **{"operator" + text: code for code, (text, _, _) in OPERATORS.items() if code not in ("ps", "ng", "ad", "de")}
}
# Operators whose unary and binary forms have one text but two codes.
_UNARY_CODES: Final = {"operator+": "ps", "operator-": "ng", "operator&": "ad", "operator*": "de"}
_MEMBER_QUALIFIERS: Final = ("", "K", "R", "O", "KR", "KO", "V", "VK")
_STD_CODES: Final = {
    "allocator": ("Sa",),
    "basic_string": ("Ss", "Sb"),
    "basic_istream": ("Si",),
    "basic_ostream": ("So",),
    "basic_iostream": ("Sd",),
}
_INSTANCES: Final = frozenset({"Ss", "Si", "So", "Sd"})
_ANONYMOUS: Final = "12_GLOBAL__N_1"


def search_prefixes(name: CxxName) -> tuple[str, ...]:
    """Prefixes of mangled names, sorted: every overload and instance of the entity begins with one of them, under any
    of its names in torch releases and GPU variants.

    They narrow a search in a sorted table; compare `entity` (or `gpu_neutral`) of the results. A member of a class
    template is searched up to the template's name, an entity in a function up to that function's name, a thunk with its
    offsets, and a name that is not made of identifiers by its own mangled name.
    """
    if name.mangled.startswith(("?", "__imp_?")):
        from abiscan.mangling.microsoft_prefixes import microsoft_prefixes

        return microsoft_prefixes(name)
    entity = name.searched
    lead = _lead(name)
    function = name.parameters is not None
    while (enclosing := _enclosing_function(entity)) is not None:
        lead += "Z"
        entity = enclosing
        function = True
    parts = Parts(entity)
    names = tuple(reversed(parts.names))
    codes = _last_codes(parts)
    tail = ""
    cut = len(names) - 1 - parts.first_template if parts.first_template >= 0 else len(names)
    if cut < len(names) - 1:
        names = names[: cut + 1]
        codes = None
        tail = "I"
    found: set[str] = set()
    for spelled in spellings(names):
        found.update(_mangled(lead, spelled, codes, tail, function))
    if not name.mangled.startswith(tuple(found)):
        # The path to the entity is not made of plain identifiers (a builtin type, a lambda, a tag in the middle).
        found.add(name.mangled)
    return tuple(sorted(found))


def _enclosing_function(node: Node) -> Node | None:
    """The name of the innermost function that contains an entity; None if there is none."""
    while True:
        if isinstance(node, Local):
            function = node.function
            return function.name if isinstance(function, Encoding) else function
        if isinstance(node, Nested):
            node = node.scope
        elif isinstance(node, (Template, Tagged)):
            node = node.name
        else:
            return None


def _lead(name: CxxName) -> str:
    """The text before the entity's own name: `_Z`, `_ZTV`, `_ZThn16_`."""
    mangled = name.mangled
    if not isinstance(name.root, SpecialNode):
        return "_Z"
    code = name.root.code
    if name.kind is SpecialKind.TRANSACTION_CLONE:
        return mangled[:5]
    if name.kind is SpecialKind.THUNK:
        at = 3 if code != "Tc" else 4
        for _ in range(1 if code != "Tc" else 2):
            at = mangled.index("_", at if mangled[at] == "h" else mangled.index("_", at) + 1) + 1
        return mangled[:at]
    return "_Z" + code


def _last_codes(parts: Parts) -> tuple[str, ...] | None:
    """Mangled forms of the last component if it is not an identifier; None if it is one."""
    last = parts.last
    if isinstance(last, Structor):
        return ("D",) if last.destructor else ("C",)
    if isinstance(last, Conversion):
        return ("cv",)
    if isinstance(last, LiteralOperator):
        return (f"li{_source_name(last.suffix)}",)
    if isinstance(last, Ident):
        codes = tuple(table[last.text] for table in (_CODES, _UNARY_CODES) if last.text in table)
        return codes or None
    return None


def _mangled(
    lead: str, names: tuple[str, ...], codes: tuple[str, ...] | None, tail: str, function: bool
) -> Iterator[str]:
    body = names if codes is None else names[:-1]
    structor = codes in (("C",), ("D",))
    for scope in _scopes(body):
        # Ss, Si, So and Sd are instances: no arguments follow.
        rest = "" if scope and scope[-1] in _INSTANCES else tail
        for end in ("",) if codes is None else codes:
            nested = "".join(scope) + end + rest
            components = len(scope) + (codes is not None)
            if components > 1 or tail:
                for qualifiers in _MEMBER_QUALIFIERS if function and not structor else ("",):
                    yield f"{lead}N{qualifiers}{nested}"
            # Names in the global scope or directly in std are not nested.
            if not tail and (components == 1 or (components == 2 and scope[0] == "St")):
                yield lead + nested


def _scopes(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Mangled components, in every spelling of std."""
    identifiers = tuple(_source_name(name) for name in names)
    if not names or names[0] != "std":
        yield identifiers
        return
    rest = identifiers[1:]
    yield ("St", *rest)
    if rest:
        yield ("St", "7__cxx11", *rest)
        yield ("St", "3_V2", *rest)
        # libc++.
        yield ("St", "3__1", *rest)
        # std::filesystem and std::chrono have an inline namespace inside.
        for inline in ("7__cxx11", "3_V2"):
            yield ("St", rest[0], inline, *rest[1:])
        for code in _STD_CODES.get(names[1], ()):
            yield (code, *rest[1:])


def _source_name(identifier: str) -> str:
    if identifier == "(anonymous namespace)":
        return _ANONYMOUS
    return f"{len(identifier.encode('utf-8', 'surrogateescape'))}{identifier}"
