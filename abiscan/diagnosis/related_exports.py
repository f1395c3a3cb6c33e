"""Other exported names of the function, class or object of a missing symbol."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.mangling import CxxName, Difference, DifferenceKind, differences, parse, search_prefixes
from abiscan.mangling.canonical import to_cuda
from abiscan.model.versions import ReleaseRanges
from abiscan.releases.build import SymbolHistory

# Maximum number of overloads and instances; at::_ops has a few hundred per entity at most, constructors of containers
# more.
_LIMIT = 400
# Differences of spelling only: the same function in the source.
_SPELLING = frozenset(
    {
        DifferenceKind.STRING_ABI,
        DifferenceKind.ABI_TAG,
        DifferenceKind.TEMPLATE_MANGLING,
        DifferenceKind.NAMESPACE_ALIAS,
        DifferenceKind.CONSTRUCTOR_VARIANT,
    }
)


class RelatedExport(Struct, frozen=True):
    """Another exported name of the same function, class or object.

    Attributes:
        differences: from the missing symbol to this one.
        in_target: whether the target exports it; None if unknown.
        library: exports it, in the target or else in the newest build that has it.
        exported_in: the releases that export this name; empty if only the target was searched.
    """

    name: str
    parsed: CxxName
    differences: tuple[Difference, ...]
    in_target: bool | None
    library: str | None
    exported_in: ReleaseRanges

    @property
    def kinds(self) -> frozenset[DifferenceKind]:
        """Kinds of the differences."""
        return frozenset(difference.kind for difference in self.differences)

    @property
    def same_function(self) -> bool:
        """Whether the same call in a source gives this name with another compiler, std::string ABI or release."""
        return self.kinds <= _SPELLING

    @property
    def where(self) -> str:
        """The releases that export it, for a sentence."""
        return self.exported_in.text() if self.exported_in else "this torch"


def is_same_instance(cxx: CxxName, form: RelatedExport) -> bool:
    """Whether the common template arguments are equal: `f<long>` and `f<long, 0>`, but not `f<int>` or a member of
    another class of the same template."""
    pairs = zip(cxx.template_args or (), form.parsed.template_args or (), strict=False)
    return all(a == b for a, b in pairs) and cxx.is_of_scope(form.parsed)


def find_related(
    name: str,
    cxx: CxxName,
    knowledge: Knowledge,
    is_wanted: Callable[[str, SymbolHistory | None], bool] | None = None,
    candidates: Mapping[str, SymbolHistory | None] | None = None,
) -> tuple[RelatedExport, ...]:
    """Other names of the same entity (including its CUDA or ROCm spelling), most similar first.

    Args:
        is_wanted: omits candidates by their text and history, before they are parsed.
        candidates: of `with_prefixes`, if they are known.
    """
    wanted = to_cuda(cxx.entity)
    found = []
    for other, history in (with_prefixes(cxx, knowledge) if candidates is None else candidates).items():
        if other == name or (is_wanted is not None and not is_wanted(other, history)):
            continue
        parsed = parse(other)
        if parsed is None or to_cuda(parsed.entity) != wanted:
            continue
        in_target, library = find_in_target(other, history, knowledge)
        exported_in = ReleaseRanges() if history is None else history.exported_in
        found.append(RelatedExport(other, parsed, differences(cxx, parsed), in_target, library, exported_in))
    found.sort(key=lambda form: (not form.in_target, len(form.differences), form.name))
    return tuple(found)


def with_prefixes(cxx: CxxName, knowledge: Knowledge) -> dict[str, SymbolHistory | None]:
    """Exported names with the entity's prefixes, and their histories if the index has them."""
    names: dict[str, SymbolHistory | None] = {}
    exports = knowledge.exports if knowledge.exact else None
    for prefix in search_prefixes(cxx):
        found = {} if knowledge.releases is None else knowledge.releases.prefix(prefix, knowledge.machine, _LIMIT)
        if exports is not None and not (exports.is_indexed and len(found) < _LIMIT):
            names.update(dict.fromkeys(exports.with_prefix(prefix, _LIMIT)))
        names.update(found)
    return names


def find_in_target(name: str, history: SymbolHistory | None, knowledge: Knowledge) -> tuple[bool | None, str | None]:
    """Whether the target exports a name, and the library that exports it there or in the newest build that has it."""
    library = None if knowledge.exports is None else knowledge.exports.library_of(name)
    in_target: bool | None = None if knowledge.exports is None else library is not None
    if history is None:
        return in_target, library
    outside = knowledge.target_is_before_index or knowledge.target_is_after_index
    if knowledge.exports is None and knowledge.target is not None and not outside:
        in_target = history.exported_in.contains(knowledge.target.version)
    if library is None:
        library = next(export for export in reversed(history.exports) if export is not None).library
    return in_target, library
