"""Changes between two files, wheels or packages: compatibility first, then contents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from abiscan import __version__
from abiscan.compare.compatibility_changes import compare_compatibility, compare_requirements, is_of_one_system
from abiscan.compare.file_changes import compare_files, counts
from abiscan.compare.scope import ComparedScope
from abiscan.compare.scope_compatibility import Builds, compared
from abiscan.model.compatibility import Aspect
from abiscan.model.diff_report import Change, DiffReport, Effect
from abiscan.model.imports import is_cxx_name
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.model.words import shortened

_ASPECTS = tuple(Aspect)
_EFFECTS = (Effect.LOST, Effect.CHANGED, Effect.GAINED)


def find_changes(old: ComparedScope, new: ComparedScope, builds: Builds, readable: Callable[[str], str]) -> DiffReport:
    """All changes, the most important first.

    Args:
        readable: demangles a name; returns the name itself if it cannot be demangled.
    """
    before, after = compared(old, builds), compared(new, builds)
    if (old.unread and not old.files) or (new.unread and not new.files):
        # A file that could not be read is not reported as removed.
        return DiffReport(__version__, before, after, (), {}, (*old.unread_sentences, *new.unread_sentences))
    pairs = _pairs(old.files, new.files)
    found = [
        *compare_compatibility(before.compatibility, after.compatibility),
        *compare_requirements(old.container, new.container),
    ]
    found += _files(old, new, pairs)
    alone = len(pairs) == 1 and len(old.files) == len(new.files) == 1
    bundled = None if new.container is None else {file.package_path.rpartition("/")[2] for file in new.files.values()}
    single = [change for pair in pairs for change in compare_files(*pair, readable, bundled)]
    if not is_of_one_system(before.compatibility, after.compatibility):
        single = [change for change in single if change.aspect not in (Aspect.GPU, Aspect.SYSTEM)]
    whole = {each for change in found if change.aspect is Aspect.GPU for each in change.removed}
    single = [c for c in single if c.aspect is not Aspect.GPU or not whole.issuperset(c.removed)]
    changes = sorted((*found, *_merged(single, keep_files=not alone)), key=_order)
    names = {
        n for c in changes if c.aspect in (Aspect.IMPORT, Aspect.EXPORT, Aspect.LAYOUT) for n in (*c.removed, *c.added)
    }
    texts = {name: readable(name) for name in sorted(names) if is_cxx_name(name)}
    errors = tuple(dict.fromkeys((*old.unread_sentences, *new.unread_sentences)))
    return DiffReport(__version__, before, after, tuple(changes), texts, errors)


def _order(change: Change) -> tuple[bool, int, int, tuple[str, ...], str]:
    return (
        not change.regresses,
        _ASPECTS.index(change.aspect),
        _EFFECTS.index(change.effect),
        change.files,
        change.text,
    )


def _pairs(
    old: Mapping[str, ArtifactReport], new: Mapping[str, ArtifactReport]
) -> list[tuple[str, ArtifactReport, ArtifactReport]]:
    """(place, old file, new file), paired by place. Two single files are a pair whatever their names."""
    if len(old) == len(new) == 1:
        return [(place, before, after) for before in old.values() for place, after in new.items()]
    return [(place, old[place], new[place]) for place in new if place in old]


def _files(
    old: ComparedScope, new: ComparedScope, pairs: Sequence[tuple[str, ArtifactReport, ArtifactReport]]
) -> Iterator[Change]:
    before, after = {id(pair[1]) for pair in pairs}, {id(pair[2]) for pair in pairs}
    gone = tuple(p for p, file in old.files.items() if id(file) not in before and p not in new.unread_places)
    come = {p: file for p, file in new.files.items() if id(file) not in after and p not in old.unread_places}
    if gone:
        yield Change(Aspect.FILE, Effect.LOST, f"no longer has {shortened(gone)}", files=gone, removed=gone)
    broken: dict[str, list[str]] = {}
    for place, file in come.items():
        if file.verdict is ArtifactVerdict.FAILS:
            broken.setdefault(file.torch_words, []).append(place)
    if come:
        tail = "".join(
            (", which" if len(places) == len(come) else f"; {shortened(places)}")
            + f" {'does' if len(places) == 1 else 'do'} not load on {words}"
            for words, places in broken.items()
        )
        yield Change(
            Aspect.FILE, Effect.GAINED, f"adds {shortened(tuple(come))}{tail}", files=tuple(come), added=tuple(come)
        )


# Minimum number of files with the same kind of symbol change that are merged.
_TOGETHER = 4


def _merged(found: Iterable[Change], *, keep_files: bool) -> list[Change]:
    """Merge equal changes of several files, and count symbol changes of many files together."""
    same: dict[Change, list[str]] = {}
    for change in found:
        same.setdefault(replace(change, files=()), []).extend(change.files)
    merged = [replace(change, files=tuple(sorted(files))) for change, files in same.items()]
    by_kind: dict[tuple[Aspect, str], list[Change]] = {}
    for change in merged:
        names = change.aspect in (Aspect.IMPORT, Aspect.EXPORT)
        by_kind.setdefault((change.aspect, change.text.partition(":")[0] if names else change.text), []).append(change)
    result = [each for (_aspect, what), kind in by_kind.items() for each in _together(what, kind)]
    return result if keep_files else [replace(change, files=()) for change in result]


def _together(what: str, changes: list[Change]) -> list[Change]:
    if len(changes) < _TOGETHER:
        return changes
    removed = sorted({name for change in changes for name in change.removed})
    added = sorted({name for change in changes for name in change.added})
    files = tuple(sorted(file for change in changes for file in change.files))
    effect = Effect.CHANGED if removed and added else Effect.LOST if removed else Effect.GAINED
    text = f"{what}: {counts(removed, added)}"
    return [Change(changes[0].aspect, effect, text, False, files, tuple(removed), tuple(added))]
