"""`half-intrinsic`: uses of `__ldg`, and of loads with a cache hint, that read a type for which HIP has no overload, or
a template that may read a c10::Half.

Headers of torch overload `__ldg` for c10::BFloat16 with CUDA and HIP, and for c10::Half with CUDA only
(c10/util/Half.h, BFloat16.h; the same in every release from 1.13 to 2.15). A use is safe if it reads another type; if
no instantiation in the file or its includers has Half; if the file or a project header has an overload; if HIP skips
it; or if a condition or specialization excludes Half."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from abiscan.model.cause import Confidence
from abiscan.source.code import Code
from abiscan.source.declarations import DeclaredIn, Pointee, alias_target, pointee
from abiscan.source.flagged_place import FlaggedPlace, Refined
from abiscan.source.lexer import NAME
from abiscan.source.source_set import SourceSet, users_of, with_included

# The name of the element type in AT_DISPATCH macros (ATen/Dispatch.h).
_DISPATCHED = "scalar_t"
# hip_ldg.h and amd_hip_fp16.h have the other arithmetic types and __half; hipify makes __hip_bfloat16 of __nv_bfloat16.
_WITHOUT_OVERLOAD = frozenset({"Half", "bool", "complex", "hip_bfloat16", "__hip_bfloat16", "__nv_bfloat16"})
# Identifiers of a file that uses c10::Half: its name, or a macro such as AT_DISPATCH_FLOATING_TYPES_AND_HALF.
_HALF = re.compile(r"\bk?Half\b|\bAT_DISPATCH_\w*HALF\w*", re.ASCII)
# An edit of `__ldg` alone leaves these, which HIP hides or has with another mask (rule masked-warp-function).
_MASKED = re.compile(r"\b__shfl(?:_up|_down|_xor)?_sync\b", re.ASCII)
_BRACE = re.compile(rb"[{}]")
_OPEN_BRACE, _CLOSE = map(ord, "{)")
# Names of template parameters for indices, which are no 16-bit floats (`IdType` of FlashInfer).
_INDEX = re.compile(r"_*(?:[Ii]d|[Ii]dx|[Ii]ndex|[Ii]ndices|[Ii]nt|[Oo]ffset|[Ss]ize|[Cc]ount)(?![a-z])")


def masked_functions(text: str) -> tuple[str, ...]:
    """CUDA's warp functions with a mask that a source names, which HIP needs changed together with `__ldg`."""
    return tuple(dict.fromkeys(_MASKED.findall(text)))


def refine_half(places: Sequence[FlaggedPlace], code: Code, others: SourceSet) -> list[Refined | None]:
    """Refine each call in a file; None if it is safe."""
    refined: dict[int, Refined | None] = {}
    for intrinsic in dict.fromkeys(place.text for place in places):
        same = [place for place in places if place.text == intrinsic]
        refined |= zip((place.at for place in same), _refine(same, code, others), strict=True)
    return [refined[place.at] for place in places]


def _refine(places: Sequence[FlaggedPlace], code: Code, others: SourceSet) -> list[Refined | None]:
    """Refine each call of one intrinsic."""
    unit = list(with_included(code, others))
    files = [each for each in unit if each.path == code.path or _concerns(each.text)]
    in_order: list[Refined | None] = [None] * len(places)
    own = frozenset().union(*(_overloads(each, places[0].text) for each in files))
    if own == _WITHOUT_OVERLOAD:
        return in_order
    aliases: dict[str, str | None] = {}
    blocks = _Blocks(code)
    reads = [None if blocks.exclude_half(place) else _read(place, code, unit, aliases) for place in places]
    where: str | None = None
    if "Half" not in own:
        if any(each.has_name(_HALF) for each in files):
            where = "in a file that handles c10::Half"
        elif any(read is not None and _is_open(read) for read in reads):
            user = _dispatching_user(code, places[0].text, others)
            where = None if user is None else f"and {user.path}, which includes this file, handles c10::Half"
    if where is not None and any(each.has_name(_MASKED) for each in unit if "_sync" in each.text):
        where += ", and calls masked warp functions, which HIP needs changed too (rule masked-warp-function)"
    return [_refined(read, where, own) for read in reads]


def _dispatching_user(code: Code, intrinsic: str, others: SourceSet) -> Code | None:
    """A file that includes this one, uses c10::Half and includes no overload."""
    for user in users_of(code, others):
        unit = [each for each in with_included(user, others) if each is user or _concerns(each.text)]
        if any(each.has_name(_HALF) for each in unit) and not any(
            "Half" in _overloads(each, intrinsic) for each in unit
        ):
            return user
    return None


def _read(place: FlaggedPlace, code: Code, unit: Sequence[Code], aliases: dict[str, str | None]) -> Pointee | None:
    """The type that a call reads; None if HIP does not compile it.

    Args:
        unit: the file and its includes.
        aliases: cache of its aliases.
    """
    index = code.tokens.index_at(place.at)
    end = code.partner[index + 1] if index is not None else -1
    if index is None or end < 0:
        return None
    read = pointee(code, index + 2, end)
    if read.origin is DeclaredIn.UNKNOWN and read.name not in ("", _DISPATCHED):
        # A name that this file does not define: an alias in a header, or a CUDA type (int4, __half).
        if read.name not in aliases:
            targets = (alias_target(each, read.name) for each in unit)
            aliases[read.name] = next((target for target in targets if target is not None), None)
        read = Pointee(aliases[read.name] or read.name, DeclaredIn.NAMED)
    return read


class _Blocks:
    """The blocks of a file, and whether instances for Half reach them. Each block is examined once.

    Args:
        code: the file; one step is used per 16 tokens.
    """

    def __init__(self, code: Code) -> None:
        self._code = code
        # Opening brace -> the enclosing one, -1 for none; and the innermost one from each token in `_starts` on.
        self._parents: dict[int, int] = {}
        self._starts, self._inner = [0], [-1]
        # Opening brace -> whether an enclosing branch names Half, and the enclosing function.
        self._found: dict[int, tuple[bool, str]] = {-1: (False, "")}
        self._specialised: dict[str, bool] = {"": False}
        kinds, partner = code.tokens.kinds, code.partner
        code.spend(len(kinds) // 16)
        around: list[int] = []
        for brace in _BRACE.finditer(kinds):
            at = brace.start()
            if kinds[at] == _OPEN_BRACE:
                self._parents[at] = around[-1] if around else -1
                around.append(at)
            elif partner[at] >= 0:
                while around and around[-1] >= partner[at]:
                    around.pop()
            else:
                continue
            self._starts.append(at + 1)
            self._inner.append(around[-1] if around else -1)

    def exclude_half(self, place: FlaggedPlace) -> bool:
        """Whether a place has no instance for Half: it is in a branch of an `if constexpr` that names Half, or in a
        function template with a specialization for Half."""
        index = self._code.tokens.index_at(place.at)
        brace = -1 if index is None else self._inner[bisect_right(self._starts, index) - 1]
        chain = []
        while brace not in self._found:
            chain.append(brace)
            brace = self._parents[brace]
        found = self._found[brace]
        for each in reversed(chain):
            names, function = self._head(each)
            found = self._found[each] = (found[0] or names, found[1] or function)
        names, function = found
        if function not in self._specialised:
            places = self._code.places_of(function)
            self._specialised[function] = any(_specialises_for_half(self._code, at) for at in places)
        return names or self._specialised[function]

    def _head(self, brace: int) -> tuple[bool, str]:
        """Whether the block is a branch of an `if constexpr` that names Half, and the name before its parameters."""
        code, partner, kinds = self._code, self._code.partner, self._code.tokens.kinds
        before = max(brace - 1, 0)
        if kinds.endswith(b"}a", 0, before + 1) and code.tokens.word(before) == "else" and partner[before - 1] > 0:
            before = partner[before - 1] - 1
        opening = partner[before] if kinds[before] == _CLOSE else -1
        if opening <= 0:
            return False, ""
        code.spend(before - opening)
        function = code.tokens.word(opening - 1) if kinds[opening - 1] == NAME else ""
        return function == "constexpr" and _names_half(code, opening, before), function


def _names_half(code: Code, first: int, last: int) -> bool:
    kinds, word = code.tokens.kinds, code.tokens.word
    return any(kinds[each] == NAME and word(each) == "Half" for each in range(first, last))


def _specialises_for_half(code: Code, at: int) -> bool:
    """Whether `template <> T f<Half>(...)` or `template <> Half f(...)` declares the function named at `at`."""
    kinds = code.tokens.kinds
    first = _statement_start(code, at)
    begins = kinds.startswith(b"a<>", first) and code.tokens.word(first) == "template"
    if not begins:
        return False
    end = at
    while end < len(kinds) and kinds[end] not in b";{":
        end += 1
    code.spend(end - at)
    return _names_half(code, first, end)


def _statement_start(code: Code, at: int) -> int:
    """The index behind the last `;`, `{` or `}` before a token."""
    kinds = code.tokens.kinds
    first = at
    while first > 0 and kinds[first - 1] not in b";{}":
        first -= 1
    code.spend(at - first)
    return first


def _is_open(read: Pointee) -> bool:
    """Whether the instantiation determines the type."""
    return read.origin is not DeclaredIn.NAMED and _INDEX.match(read.name) is None


def _refined(read: Pointee | None, where: str | None, own: frozenset[str]) -> Refined | None:
    """What a read is of; None if it is safe.

    Args:
        where: where a template may be instantiated for c10::Half; None if none is.
        own: types of the project's own overloads.
    """
    if read is None or read.name in own:
        return None
    if read.name in _WITHOUT_OVERLOAD:
        name = f"c10::{read.name}" if read.name in ("Half", "complex") else read.name
        return Refined(confidence=Confidence.HIGH, fields={"detail": f"of {name}", "target": name})
    if where is None or not _is_open(read):
        return None
    what = f"`{read.name}`, which stands for several types" if read.name else "an unknown type"
    confidence = Confidence.MEDIUM if read.name else Confidence.LOW
    return Refined(confidence=confidence, fields={"detail": f"of {what}, {where}", "target": "c10::Half"})


def _concerns(text: str) -> bool:
    return "Half" in text or "HALF" in text or "__ld" in text


def _overloads(code: Code, intrinsic: str) -> frozenset[str]:
    """The types for which a file, as HIP sees it, declares the intrinsic; all of them for a macro or a template."""
    if intrinsic not in code.text:
        return frozenset()
    if code.macro(intrinsic) is not None:
        return _WITHOUT_OVERLOAD
    found, own = code.tokens, set[str]()
    for at in code.places_of(intrinsic):
        code.spend(10)
        if at == 0:
            continue
        # A result type precedes a declaration: a name, `*` or `&`; not so in `return __ldg(p)`.
        before = found[at - 1]
        if before.text in ("return", "else") or not (before.kind == "name" or before.text in ("*", "&", ">")):
            continue
        end = code.partner[at + 1] if at + 1 < len(found) and found[at + 1].text == "(" else -1
        code.spend(max(end - at, 0))
        parameters = {found.word(each) for each in range(at + 2, end)}
        if "const" in parameters and _is_template(code, at):
            return _WITHOUT_OVERLOAD
        own |= parameters
    return _WITHOUT_OVERLOAD & own


def _is_template(code: Code, at: int) -> bool:
    found = code.tokens
    first = _statement_start(code, at)
    return any(found.kinds[each] == NAME and found.word(each) == "template" for each in range(first, at))
