"""Everything that the rules say of one bound file: its imports, the classes it derives, and what rewrites would win."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from abiscan.analysis.context import AnalysisContext
from abiscan.binary import Binary
from abiscan.mangling import parse
from abiscan.model.binding import BoundImport, LoaderPrediction, NeededLibrary, Owner
from abiscan.model.facts import SharedObject
from abiscan.model.finding import Finding, Location, WhatIf
from abiscan.model.provenance import Provenance, ProvenanceFact, Topic
from abiscan.model.release import ReleaseVerdict
from abiscan.model.target import Target, TargetKind
from abiscan.model.versions import Windows
from abiscan.ownership.gpu_libraries import toolkit_of
from abiscan.releases import Build
from abiscan.releases.matrix import Matrix, TorchNeeds, window_of
from abiscan.rules import (
    RuleSubject,
    attach_locations,
    rule,
    run,
    symbols_to_locate,
)
from abiscan.target.declared import DeclaredGpu
from abiscan.target.target_torch import TargetTorch

if TYPE_CHECKING:
    from abiscan.analysis.layouts import SharedLayouts
    from abiscan.model.facts import CallSite, DerivedClass


class Bound(Struct, frozen=True):
    """One file with its imports bound: what the rules are run over.

    Attributes:
        module: its identity over rebuilds (`abiscan.model.fingerprint.module_key`).
        torch: what it was bound against; matrix: its releases; None where it has nothing to do with torch.
        built_for: the release it was made for, where that is known.
        lines: whether debug information is read for source lines. It is not for members of archives: what is shipped
            is judged, and reading it takes longer than all the rest.
        derived: its classes that derive from one of torch's.
        layouts: the records that it shares with torch; None where no layout of one ever changed.
    """

    binary: Binary
    facts: SharedObject
    imports: tuple[BoundImport, ...]
    needed: tuple[NeededLibrary, ...]
    module: str
    torch: TargetTorch | None
    needs: TorchNeeds
    matrix: Matrix | None
    built_for: str | None
    lines: bool
    derived: tuple[DerivedClass, ...]
    layouts: SharedLayouts | None = None


def findings_of(bound: Bound, context: AnalysisContext) -> tuple[tuple[Finding, ...], tuple[WhatIf, ...]]:
    """The findings, gravest first, and the windows that advised rewrites would give."""
    subject = _subject(bound, context)
    findings = run(context.rules, subject)
    wanted = symbols_to_locate(context.rules, findings)
    if wanted:
        findings = attach_locations(findings, call_sites(bound.binary, wanted, context, lines=bound.lines))
    findings += _drift(bound, context) + _layout_drift(bound, context)
    if context.sources:
        from abiscan.source import attach_sources

        findings = attach_sources(findings, context.sources, parse)
    return findings, _what_if(bound, subject, findings, context)


def _subject(bound: Bound, context: AnalysisContext) -> RuleSubject:
    machine = bound.facts.machine
    builds = context.index.builds(machine) if bound.matrix is not None else ()
    return RuleSubject(
        facts=bound.facts,
        imports=bound.imports,
        needed=bound.needed,
        module=bound.module,
        parse=parse,
        target=None if bound.torch is None else bound.torch.target,
        windows=lambda name: windows_of_name(name, machine, context),
        libraries=lambda name: libraries_of_name(name, machine, context),
        span=(builds[0].torch, builds[-1].torch) if builds else None,
        gnu_available=context.demangler.gnu_available,
    )


def windows_of_name(name: str, machine: str, context: AnalysisContext) -> Windows | None:
    """The releases that export a name; None where the index does not record such names."""
    history = context.index.history(name, machine)
    if history is not None:
        return history.windows
    return None if context.index.known_omitted(name) is not None else Windows()


def libraries_of_name(name: str, machine: str, context: AnalysisContext) -> tuple[str, ...] | None:
    """The torch libraries that export a name in some release; None as for `windows_of_name`."""
    history = context.index.history(name, machine)
    if history is None:
        return None if context.index.known_omitted(name) is not None else ()
    return tuple(dict.fromkeys(export.library for export in history.exports if export is not None))


def call_sites(
    binary: Binary, names: Collection[str], context: AnalysisContext, *, lines: bool
) -> dict[str, tuple[Location, ...]]:
    """Where the binary calls the flagged imports; with `lines`, the source line too, where debug information tells."""
    return locations_of(binary.call_sites(names, lines=lines), context)


def locations_of(sites: Mapping[str, Iterable[CallSite]], context: AnalysisContext) -> dict[str, tuple[Location, ...]]:
    """The places of call sites as the report has them: functions by their readable names, each place once."""
    found = {}
    for name, each in sites.items():
        places = []
        for site in each:
            function = None
            if site.function is not None:
                function = context.demangler.demangle(site.function).text or site.function
            places.append(Location(function=function, file=site.file, line=site.line, offset=site.offset))
        found[name] = tuple(dict.fromkeys(places))
    return found


# --- silent drift -----------------------------------------------------------------------------------------------


def _drift(bound: Bound, context: AnalysisContext) -> tuple[Finding, ...]:
    """Classes derived from a torch class whose vtable is another one in the target."""
    if not bound.derived or bound.torch is None:
        return ()
    from abiscan.rules.computed import class_rules
    from abiscan.rules.computed.vtable_drift import DriftSubject

    machine = bound.facts.machine
    target = _build_of(bound.torch.target, machine, context)
    made_for = _newest_of(bound.built_for, machine, context)
    if target is None:
        return ()
    subject = DriftSubject(
        derived=bound.derived,
        module=bound.module,
        target=f"torch {bound.torch.target.torch}",
        in_target=lambda code: context.index.vtable(code, target),
        built_for=None if made_for is None else made_for.torch,
        in_built_for=lambda code: None if made_for is None else context.index.vtable(code, made_for),
        releases=lambda code: _vtables(code, machine, context),
        readable=lambda name: context.demangler.demangle(name).text or name,
    )
    return tuple(finding for name, compute in class_rules().items() for finding in compute(rule(name), subject))


def refusals(
    prediction: LoaderPrediction,
    absent: Collection[str],
    module: str,
    *,
    path: str,
    alone: bool,
    beside: Collection[str] = (),
) -> tuple[Finding, ...]:
    """What the loader of this machine stops at although torch and Python don't, where it does."""
    from abiscan.rules.computed import loader_rules

    found = loader_rules().items()
    return tuple(
        each
        for name, look in found
        for each in look(rule(name), prediction, absent, module, path=path, alone=alone, beside=beside)
    )


def told_by_provenance(facts: Sequence[ProvenanceFact], module: str, *, concerns_torch: bool) -> tuple[Finding, ...]:
    """What of a file's making is a problem of its own; a plain file has no fact that a rule is about."""
    asked = {Topic.EXECUTABLE_STACK, Topic.RUN_PATH}
    if concerns_torch:
        asked |= {Topic.BUNDLED_RUNTIME, Topic.STRING_ABI}
    about = [fact for fact in facts if fact.topic in asked and fact.value not in ("new", "old")]
    if not about:
        return ()
    from abiscan.rules.computed import provenance_rules

    return tuple(each for name, look in provenance_rules().items() for each in look(rule(name), about, module))


def contradicted_labels(
    gpu: DeclaredGpu | None, version: str, facts: SharedObject, made: Provenance, module: str
) -> tuple[Finding, ...]:
    """What a file is called and is not; most are called nothing that could be."""
    if gpu is None and "+" not in version:
        return ()
    from abiscan.rules.computed import label_rules
    from abiscan.rules.computed.contradicted_labels import LabelSubject

    subject = LabelSubject(module, gpu, version, toolkit_of(facts.needed), made.cxx11_abi)
    return tuple(each for name, look in label_rules().items() for each in look(rule(name), subject))


def _layout_drift(bound: Bound, context: AnalysisContext) -> tuple[Finding, ...]:
    """Records that the file shares with torch and that lie otherwise in the target."""
    if bound.layouts is None or bound.torch is None:
        return ()
    if any(b.owner is Owner.TORCH and b.status.is_unbound for b in bound.imports):
        return ()  # it does not load there, and says so: what is to be rebuilt is known
    from abiscan.rules.computed import layout_rules
    from abiscan.rules.computed.layout_drift import LayoutSubject

    subject = LayoutSubject(
        module=bound.module,
        target=bound.torch.target.torch,
        uses=bound.layouts.uses_for(bound.torch.target.torch),
        side=bound.layouts.side,
        table=bound.layouts.table,
        readable=lambda name: context.demangler.demangle(name).text or name,
    )
    return tuple(finding for name, compute in layout_rules().items() for finding in compute(rule(name), subject))


def derived_classes_of(binary: Binary, imports: Iterable[BoundImport]) -> tuple[DerivedClass, ...]:
    """The classes of a file that derive from one of torch's."""
    bases = frozenset(
        b.name for b in imports if b.owner is Owner.TORCH and b.name.startswith("_ZTI") and b.symbol.relocated
    )
    return binary.derived_classes(bases) if bases else ()


def _vtables(code: str, machine: str, context: AnalysisContext) -> list[tuple[str, tuple[str | int | None, ...]]]:
    """A class's vtable in every release that exports it."""
    tables = (
        (build.torch, context.index.vtable(code, build)) for build in context.index.builds(machine) if not build.user
    )
    return [(release, words) for release, words in tables if words is not None]


def _build_of(target: Target, machine: str, context: AnalysisContext) -> Build | None:
    """The index's build of the target's own source; None where it has none (a source build, a nightly)."""
    same = [b for b in context.index.builds(machine) if b.torch == target.torch]
    if target.kind is not TargetKind.RELEASE and target.git_revision is not None:
        same = [b for b in same if b.git_revision == target.git_revision]
    exact = [b for b in same if b.variant == target.variant]
    return next(iter(exact or same), None)


def _newest_of(minor: str | None, machine: str, context: AnalysisContext) -> Build | None:
    """The newest build of a release given as `2.13` or `2.13.0`."""
    if minor is None:
        return None
    builds = [b for b in context.index.builds(machine) if f"{b.torch}.".startswith(f"{minor}.")]
    return builds[-1] if builds else None


def drift_of_releases(bound: Bound, context: AnalysisContext) -> tuple[ReleaseVerdict, ...]:
    """The matrix with what drifted in each build that the file loads on: classes that it derives from, and layouts."""
    verdicts = _vtable_drift_of_releases(bound, context)
    if bound.layouts is None:
        return verdicts
    from abiscan.analysis.layouts import with_layouts

    return with_layouts(verdicts, bound.layouts)


def _vtable_drift_of_releases(bound: Bound, context: AnalysisContext) -> tuple[ReleaseVerdict, ...]:
    assert bound.matrix is not None
    verdicts = bound.matrix.verdicts
    made_for = _newest_of(bound.built_for, bound.facts.machine, context)
    classes = sorted({d.base for d in bound.derived}) if made_for is not None else []
    if not classes or made_for is None:
        return verdicts
    from abiscan.rules.computed.vtable_drift import compare

    builds = {b.key: b for b in context.index.builds(bound.facts.machine)}
    result = []
    for verdict in verdicts:
        drifted = []
        for base in classes if verdict.loads else ():
            old = context.index.vtable(base.removeprefix("_ZTI"), made_for)
            new = context.index.vtable(base.removeprefix("_ZTI"), builds[verdict.build])
            if old is not None and new is not None and compare(old, new) is not None:
                drifted.append((context.demangler.demangle(base).text or base).removeprefix("typeinfo for "))
        result.append(replace(verdict, drift=tuple(drifted)) if drifted else verdict)
    return tuple(result)


# --- rewrites ---------------------------------------------------------------------------------------------------


def _what_if(
    bound: Bound, subject: RuleSubject, findings: Sequence[Finding], context: AnalysisContext
) -> tuple[WhatIf, ...]:
    """Only where the releases were asked for, or a finding advises a rewrite of something that is missing."""
    rewritable = {each.id for each in context.rules if each.rewrites}
    if bound.matrix is None or not any(f.rule in rewritable for f in findings):
        return ()
    from abiscan.rules.what_if import what_if

    def window(names: Iterable[str]) -> Windows:
        return window_of(names, context.index, bound.facts.machine, bound.needs.libraries)

    return what_if(context.rules, subject, bound.needs.names, window)
