"""Changes between two builds of a shared object: imports, exports, needed libraries, layouts and provenance."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from abiscan.compare.gpus import gpus_of
from abiscan.model.cause import Confidence
from abiscan.model.compatibility import Aspect
from abiscan.model.diff_report import Change, Effect
from abiscan.model.facts import Export, SymbolType
from abiscan.model.fingerprint import bare_name
from abiscan.model.imports import Owner
from abiscan.model.platforms import loading_words
from abiscan.model.provenance import Provenance, Topic
from abiscan.model.release import ReleaseState, ReleaseVerdict, graded_ranges
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.model.target import TargetSource
from abiscan.model.versions import ReleaseRanges
from abiscan.model.words import shortened
from abiscan.ownership.names import owner_of, owner_of_library
from abiscan.wheel.tags import is_guaranteed

# `6 of 93 ` of `6 of 93 CPython names outside of the limited API`.
_COUNT = re.compile(r"^\d+ of \d+ ")
_OWNERS = {Owner.TORCH: "torch", Owner.PYTHON: "CPython", Owner.CUDA: "CUDA", Owner.HIP: "ROCm"}


def compare_files(
    place: str,
    old: ArtifactReport,
    new: ArtifactReport,
    readable: Callable[[str], str],
    bundled: Collection[str] | None = None,
) -> Iterator[Change]:
    """All changes of the file at `place`.

    Args:
        readable: demangles a name; returns the name itself if it cannot be demangled.
        bundled: file names of the shared objects in the new package; None for single files.
    """
    for aspect, effect, text, removed, added in (
        *_verdict(old, new),
        *_releases(old.releases, new.releases, loading_words([new.machine]).clause),
        *_gpus(old, new),
        *_abi(old.provenance, new.provenance),
        *_operators(old, new),
        *_drift(old.releases or (), new.releases or ()),
        *_layouts(old.exports or (), new.exports or (), readable),
        *_imports(old, new),
        *_needed(old, new, bundled),
        # auditwheel bundles libraries in `torchvision.libs/`.
        *(_vendored(old, new) if place.rpartition("/")[0].endswith(".libs") else _exports(old.exports, new.exports)),
        *_provenance(old, new),
    ):
        shrinks = aspect in (Aspect.GPU, Aspect.SYSTEM) and effect is Effect.LOST
        yield Change(aspect, effect, text, shrinks, (place,), tuple(removed), tuple(added))


_Row = tuple[Aspect, Effect, str, Collection[str], Collection[str]]


def _verdict(old: ArtifactReport, new: ArtifactReport) -> Iterator[_Row]:
    """The file loaded on the newest torch that its package allows, and no longer does."""
    stated = None if new.target is None else new.target.torch
    if stated is None or stated.source is not TargetSource.REQUIREMENT or new.replaced_by is not None:
        return
    if old.verdict is ArtifactVerdict.LOADS and new.verdict is ArtifactVerdict.FAILS:
        why = f": {new.causes[0].summary}" if new.causes else ""
        text = f"does not load on torch {stated.value}, the newest known one that its package allows{why}"
        yield Aspect.TORCH, Effect.CHANGED, text, (), ()


def _releases(
    old: Sequence[ReleaseVerdict] | None, new: Sequence[ReleaseVerdict] | None, clause: str
) -> Iterator[_Row]:
    if not old and not new:
        return
    before, after = _fitting(old or ()), _fitting(new or ())
    if old and not new:
        yield (Aspect.TORCH, Effect.GAINED, f"no longer imports torch; before: {clause} on {before}", (), ())
    elif new and not old:
        yield Aspect.TORCH, Effect.CHANGED, f"now imports torch; {clause} on {after}", (), ()
    elif before != after:
        yield Aspect.TORCH, Effect.CHANGED, f"{clause} on {after}; before: {before}", (), ()


def _fitting(releases: Sequence[ReleaseVerdict]) -> str:
    ranges = graded_ranges((release.torch, release.state) for release in releases)
    return f"torch {ranges}" if ranges else "no known torch"


def _words(ranges: ReleaseRanges) -> str:
    return f"torch {ranges.text()}" if ranges else "no known torch"


def _gpus(old: ArtifactReport, new: ArtifactReport) -> Iterator[_Row]:
    before, after = gpus_of([old]), gpus_of([new])
    if before is None or after is None:
        return
    lost = tuple(gpu for gpu in before if gpu not in after)
    if lost:
        yield Aspect.GPU, Effect.LOST, f"no longer runs on {' '.join(lost)}", lost, ()


def _abi(old: Provenance, new: Provenance) -> Iterator[_Row]:
    if old.abi == new.abi or "none" in (old.abi, new.abi) or None in (old.abi, new.abi):
        return
    if new.abi == "stable":
        yield Aspect.STABLE_ABI, Effect.GAINED, "now uses only torch's stable ABI", (), ()
    elif old.abi == "stable":
        yield Aspect.STABLE_ABI, Effect.LOST, "now uses more than torch's stable ABI", (), ()


def _operators(old: ArtifactReport, new: ArtifactReport) -> Iterator[_Row]:
    """Registered operators, with complete schemas, that the other build shows no part of. A text that the compiler
    split may belong to another operator."""
    lost, gained = _registered(old, beside=new), _registered(new, beside=old)
    if lost:
        yield Aspect.OPERATOR, Effect.LOST, f"no longer registers {shortened(lost)}", lost, ()
    if gained:
        yield Aspect.OPERATOR, Effect.GAINED, f"now registers {shortened(gained)}", (), gained
    schemas = {(o.name, o.overload): o.schema for o in new.operators}
    changed = [
        (o.schema, after, o.name)
        for o in old.operators
        if o.schema is not None
        and (after := schemas.get((o.name, o.overload))) is not None
        and _signature(after) != _signature(o.schema)
    ]
    if changed:
        was, now, names = zip(*changed, strict=True)
        yield Aspect.OPERATOR, Effect.CHANGED, f"the schema of {shortened(names)} changed", was, now


def _signature(schema: str) -> str:
    """A schema without the operator name, which may lack its namespace, and without spaces."""
    return "".join(schema.partition("(")[2].split())


# A compiler copies a text in pieces of this many bytes, mixed with other pieces.
_PIECE = 16


def _registered(file: ArtifactReport, beside: ArtifactReport) -> list[str]:
    names = {(o.name, o.overload) for o in beside.operators}
    pieces = {o.name[:_PIECE] for o in beside.operators if o.schema is None}
    return sorted(
        f"{o.name}.{o.overload}" if o.overload else o.name
        for o in file.operators
        if o.confidence is Confidence.HIGH
        and (o.name, o.overload) not in names
        and not any(o.name.startswith(piece) for piece in pieces)
    )


# --- layouts ----------------------------------------------------------------------------------------------------


def _drift(old: Sequence[ReleaseVerdict], new: Sequence[ReleaseVerdict]) -> Iterator[_Row]:
    """One line per torch class whose layout differs from the compiled one on other releases than before. Releases on
    which the new file has unresolved symbols are skipped."""
    binding = {release.build for release in new if release.loads}
    old = [release for release in old if release.build in binding]
    for record in sorted({record for release in (*old, *new) for record in release.drift}):
        before, after = (_drifting(record, each) for each in (old, new))
        if before and not after:
            yield (
                Aspect.LAYOUT,
                Effect.GAINED,
                f"layout of {record} matches again; differed on {_words(before)}",
                (record,),
                (),
            )
        elif before != after:
            text = f"layout of {record} differs from the one compiled in on {_words(after)}"
            was, gone = (f"; before: {_words(before)}", (record,)) if before else ("", ())
            yield Aspect.LAYOUT, Effect.CHANGED if before else Effect.LOST, text + was, gone, (record,)


def _drifting(record: str, releases: Sequence[ReleaseVerdict]) -> ReleaseRanges:
    versions: dict[str, bool] = {}
    for release in releases:
        certain = record in release.drift and release.state is not ReleaseState.POSSIBLE_LAYOUT
        versions[release.torch] = versions.get(release.torch, False) or certain
    return ReleaseRanges.of_known(versions, versions.__getitem__)


# Number of vtables of a file that are listed singly. libtriton.so has 140 changed LLVM vtables from one release to the
# next.
_SINGLY = 3


def _layouts(old: Iterable[Export], new: Iterable[Export], readable: Callable[[str], str]) -> Iterator[_Row]:
    """Exported data with a changed size: code compiled against the old size uses it incorrectly."""
    before = {e.name: e.size for e in old if e.type is SymbolType.OBJECT and e.size}
    resized = {
        export.name: export.size
        for export in new
        if export.type is SymbolType.OBJECT
        and export.name.startswith("_ZTV")
        and export.size
        and before.get(export.name, export.size) != export.size
        and not _is_foreign(export.name)
    }
    if len(resized) > _SINGLY:
        names = sorted(resized)
        text = (
            f"{len(names)} vtables changed size, for example the {readable(names[0])}: rebuild what derives from them"
        )
        yield Aspect.LAYOUT, Effect.CHANGED, text, names, names
        return
    for name, size in resized.items():
        text = f"the {readable(name)} is {size} bytes; was {before[name]}: rebuild what derives from it"
        yield Aspect.LAYOUT, Effect.CHANGED, text, (name,), (name,)


# --- symbols ----------------------------------------------------------------------------------------------------


def _imports(old: ArtifactReport, new: ArtifactReport) -> Iterator[_Row]:
    """Symbols of torch, CPython, CUDA and ROCm. C and C++ libraries are covered by the system versions."""
    for owner, who in _OWNERS.items():
        before = {b.name for b in old.imports if b.owner is owner}
        after = {b.name for b in new.imports if b.owner is owner}
        yield from _names(Aspect.IMPORT, f"imports of {who}", before, after)


def _exports(old: Sequence[Export] | None, new: Sequence[Export] | None) -> Iterator[_Row]:
    if old is None or new is None:
        return
    before, after = ({e.name for e in each if not _is_foreign(e.name)} for each in (old, new))
    yield from _names(Aspect.EXPORT, "exports", before, after)


def _vendored(old: ArtifactReport, new: ArtifactReport) -> Iterator[_Row]:
    before, after = (_soname(each.package_path.rpartition("/")[2]) for each in (old, new))
    if before != after:
        yield Aspect.LIBRARY, Effect.CHANGED, f"is {after}; was {before}", (before,), (after,)


def _is_foreign(name: str) -> bool:
    """Whether it is an inline function or template of another project's header."""
    return owner_of(name) in (Owner.CXX, Owner.TORCH, Owner.LIBC, Owner.PYTHON) or "8pybind11" in name[:16]


def _names(aspect: Aspect, what: str, before: set[str], after: set[str]) -> Iterator[_Row]:
    lost, gained = sorted(before - after), sorted(after - before)
    if not lost and not gained:
        return
    effect = Effect.CHANGED if lost and gained else Effect.LOST if lost else Effect.GAINED
    yield aspect, effect, f"{what}: {counts(lost, gained)} ({'of ' if lost else ''}{len(before)} before)", lost, gained


def counts(lost: Collection[str], gained: Collection[str]) -> str:
    """`3 added, 1 removed`."""
    return ", ".join([f"{len(gained)} added"] * bool(gained) + [f"{len(lost)} removed"] * bool(lost))


def _needed(old: ArtifactReport, new: ArtifactReport, bundled: Collection[str] | None) -> Iterator[_Row]:
    """Needed libraries. Names of bundled libraries are compared without their hash."""
    before, after = ({_soname(n.soname) for n in each.needed} for each in (old, new))
    lost, gained = sorted(before - after), sorted(after - before)
    if bundled is not None:
        # CUDA and ROCm are covered by their releases, OpenMP runtimes by torch.
        elsewhere = {n.soname for n in new.needed if owner_of_library(n.soname) is Owner.OTHER} - set(bundled)
        absent = [soname for soname in gained if soname in elsewhere and not is_guaranteed(soname)]
        if absent:
            text = f"needs {shortened(absent)}, which neither the package nor a standard system provides"
            yield Aspect.SYSTEM, Effect.LOST, text, (), absent
            gained = [soname for soname in gained if soname not in absent]
    if lost and gained:
        text, effect = f"needs {shortened(gained)}, no longer {shortened(lost)}", Effect.CHANGED
    elif gained:
        text, effect = f"now also needs {shortened(gained)}", Effect.GAINED
    elif lost:
        text, effect = f"no longer needs {shortened(lost)}", Effect.LOST
    else:
        return
    yield Aspect.LIBRARY, effect, text, lost, gained


def _soname(soname: str) -> str:
    """`libjpeg.so.62` of `libjpeg.ceea7512.so.62`."""
    bare = bare_name(soname)
    return bare + soname[soname.rindex(".so") + 3 :] if ".so" in soname else soname


# --- provenance -------------------------------------------------------------------------------------------------

# Reported topics. The others are covered by compatibility.
_TOPICS = {
    Topic.COMPILER: "compiler",
    Topic.STRING_ABI: "std::string",
    Topic.CXX_LIBRARY: "C++ library",
    Topic.DEBUG_MODE: "debug mode",
    Topic.TORCH_LABEL: "torch in its label",
    Topic.PYBIND11: "pybind11's internals",
    Topic.PYTHON_ABI: "Python ABI",
    Topic.INSTRUCTION_SET: "instruction set",
    Topic.EXECUTABLE_STACK: "executable stack",
    Topic.RUN_PATH: "directory of a build machine",
    Topic.BUNDLED_RUNTIME: "bundles a runtime",
    Topic.AOTINDUCTOR: "AOTInductor",
}


def _provenance(old: ArtifactReport, new: ArtifactReport) -> Iterator[_Row]:
    """Compiler, std::string ABI, Python ABI and others."""
    before, after = old.provenance, new.provenance
    rows = [(what, _values(before, topic), _values(after, topic)) for topic, what in _TOPICS.items()]
    if _fitting(old.releases or ()) == _fitting(new.releases or ()):
        # Otherwise the releases report it.
        rows.append(("made for torch", _one(before.built_for), _one(after.built_for)))
    for what, was, is_now in rows:
        gone = tuple(value for value in was if value not in is_now)
        come = tuple(value for value in is_now if value not in was)
        if gone and come:
            text = f"{what}: {', '.join(come)}; was {', '.join(gone)}"
        elif come:
            text = f"{what}: {', '.join(come)}{', too' if was else '; was unknown'}"
        elif gone:
            text = f"{what}: no longer {', '.join(gone)}"
        else:
            continue
        yield Aspect.PROVENANCE, Effect.CHANGED, text, gone, come


def _values(made: Provenance, topic: Topic) -> tuple[str, ...]:
    # A needed C++ library is reported with the needed libraries.
    values = (
        fact.value
        for fact in made.facts
        if fact.topic is topic and not (topic is Topic.CXX_LIBRARY and ".so" in fact.source)
    )
    return tuple(dict.fromkeys(_lasting(value, topic) for value in values))


def _lasting(value: str, topic: Topic) -> str:
    """The part of a fact that a mere rebuild does not change: without counts, hashes of bundled libraries and build
    directories."""
    match topic:
        case Topic.BUNDLED_RUNTIME:
            return _soname(value)
        case Topic.PYTHON_ABI:
            return _COUNT.sub("", value)
        case Topic.RUN_PATH:
            return "in its run path"
        case _:
            return value


def _one(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)
