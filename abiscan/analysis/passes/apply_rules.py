"""Apply the rules to imports, to classes shared with torch, and to the provenance of the file."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.passes import keys_to_read
from abiscan.mangling import parse
from abiscan.model.finding import Finding, WhatIf
from abiscan.model.imports import Owner
from abiscan.model.loading import LoaderOutcome
from abiscan.model.provenance import Topic
from abiscan.model.report import ArtifactVerdict
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.gpu_libraries import find_toolkit
from abiscan.releases.matrix import releases_exporting
from abiscan.rules import RuleSubject, attach_locations, rule, run, symbols_to_locate


def apply_rules(record: FileRecord) -> None:
    """Find the findings, the most severe first, and the releases that the advised rewrites would gain."""
    context = record.context
    subject = _subject(record)
    findings = run(context.rules, subject)
    wanted = symbols_to_locate(context.rules, findings)
    if wanted:
        # Reading source lines takes longer than everything else, so members of packages are checked without it.
        lines = record.artifact.disk_path is not None
        sites = record.binary.call_sites(wanted, lines=lines, most=context.options.sites, also=keys_to_read(record))
        findings = attach_locations(findings, context.locations_of(sites))
    findings += (*_vtable_drift(record), *_layout_drift(record))
    if context.sources:
        from abiscan.source import attach_sources

        findings = attach_sources(findings, context.sources, parse)
    record.what_if = _what_if(record, subject, findings)
    record.findings = (
        *findings,
        *_provenance_findings(record),
        *_label_findings(record),
        *_loader_findings(record),
        *record.gpu_check.findings,
    )


def _subject(record: FileRecord) -> RuleSubject:
    context, machine = record.context, record.facts.machine
    index = record.printed_index
    builds = index.builds(machine) if record.matrix is not None else ()
    checked = context.index.builds(machine) if record.matrix is not None else ()
    declared = record.target.declared.torch

    def exported_in(name: str) -> ReleaseRanges | None:
        """The releases that export a name; None if the index does not record such names, or has no builds."""
        history = index.history(name, machine)
        if history is not None:
            return history.exported_in
        return None if index.known_omitted(name) is not None or not index.builds(machine) else ReleaseRanges()

    def libraries(name: str) -> tuple[str, ...] | None:
        """The torch libraries that export a name in some release; None as for the releases."""
        history = index.history(name, machine)
        if history is None:
            return None if index.known_omitted(name) is not None or not index.builds(machine) else ()
        return history.libraries

    return RuleSubject(
        facts=record.facts,
        imports=record.imports,
        needed=record.needed,
        module=record.module,
        parse=parse,
        target=None if record.torch is None else record.torch.target,
        exported_in=exported_in,
        libraries=libraries,
        span=(builds[0].torch, builds[-1].torch) if builds else None,
        declared=()
        if declared is None
        else tuple(filter(declared.admits_release, dict.fromkeys(build.torch for build in checked))),
        bound_functions=record.binary.bound_functions,
        gnu_available=context.demangler.gnu_available,
    )


def _vtable_drift(record: FileRecord) -> Iterator[Finding]:
    """Classes of the file whose torch base class has another vtable in the target."""
    if not record.derived_classes or record.torch is None:
        return
    from abiscan.rules.computed.vtable_drift import DriftSubject, find_drift

    index, machine = record.context.index, record.facts.machine
    target = index.build_of(record.torch.target, machine)
    made_for = index.newest_of(record.built_for, machine)
    if target is None:
        return

    def in_releases(code: str) -> list[tuple[str, tuple[str | int | None, ...]]]:
        tables = ((build.torch, index.vtable(code, build)) for build in index.builds(machine) if not build.user)
        return [(release, words) for release, words in tables if words is not None]

    subject = DriftSubject(
        derived=record.derived_classes,
        module=record.module,
        target=f"torch {record.torch.target.version}",
        in_target=lambda code: index.vtable(code, target),
        built_for=None if made_for is None else made_for.torch,
        in_built_for=lambda code: None if made_for is None else index.vtable(code, made_for),
        releases=in_releases,
        readable=record.context.readable,
    )
    yield from find_drift(rule("vtable-drift"), subject)


def _layout_drift(record: FileRecord) -> Iterator[Finding]:
    """Classes that the file shares with torch and whose layout differs in the target."""
    layouts, torch = record.layouts, record.torch
    if layouts is None or torch is None:
        return
    if any(b.owner is Owner.TORCH and b.status.is_unresolved for b in record.imports):
        return  # reported as a failure to load; the fix is the same
    from abiscan.rules.computed.layout_drift import LayoutSubject, find_layout_drift

    subject = LayoutSubject(
        module=record.module,
        target=torch.target.version,
        uses=layouts.uses_for(torch.target.version),
        side=layouts.side,
        table=layouts.table,
        readable=record.context.readable,
    )
    yield from find_layout_drift(rule("layout-drift"), subject)


def _provenance_findings(record: FileRecord) -> Iterator[Finding]:
    """Findings about the provenance of the file."""
    asked = {Topic.EXECUTABLE_STACK, Topic.RUN_PATH}
    if record.concerns_torch:
        asked |= {Topic.BUNDLED_RUNTIME, Topic.STRING_ABI}
    facts = record.provenance.facts
    about = [fact for fact in facts if fact.topic in asked and fact.value not in ("new", "old")]
    if not about:
        return
    from abiscan.rules.computed.build_provenance_rules import PROVENANCE_RULES

    for name, look in PROVENANCE_RULES.items():
        yield from look(rule(name), about, record.module)


def _label_findings(record: FileRecord) -> Iterator[Finding]:
    """Findings about labels that contradict the contents of the file."""
    gpu, version = record.target.declared.gpu, record.artifact.group.facts.version or ""
    if gpu is None and "+" not in version:
        return
    from abiscan.rules.computed.contradicted_labels import find_contradictions

    yield from find_contradictions(
        rule("label-contradicted"),
        record.module,
        gpu,
        version,
        toolkit=find_toolkit(record.facts.needed),
        cxx11_abi=record.provenance.cxx11_abi,
    )


def _loader_findings(record: FileRecord) -> Iterator[Finding]:
    """Finding for a file that the loader of this machine refuses although its torch and Python symbols resolve."""
    if record.verdict is ArtifactVerdict.FAILS or record.loader.outcome is not LoaderOutcome.FAILS:
        return
    if record.loader.torch_fails and not record.concerns_torch:
        return  # it may be loaded without torch
    from abiscan.rules.computed.loader_refuses import find_refusal

    # Needed libraries in the directory of the file, whether or not the loader searches there.
    place = posixpath.dirname(record.artifact.disk_path or record.artifact.package_path)
    beside = tuple(n.soname for n in record.needed if n.found is not None and posixpath.dirname(n.found) == place)
    yield from find_refusal(
        rule("loader-refuses"),
        record.module,
        record.loader,
        record.absent.all,
        record.load_path,
        alone=record.is_alone or (record.loader.torch_fails and record.artifact.disk_path is not None),
        beside=beside,
        torch="torch" if record.torch is None else f"torch=={record.torch.target.version}",
        index=_index_of_torch(record) if record.loader.torch_fails else None,
        from_source=record.loader.torch_fails and record.context.knowledge(record.facts.machine).target_from_source,
    )


def _index_of_torch(record: FileRecord) -> str | None:
    """The package index of the installed torch; None if its version has no label of one."""
    from abiscan.releases.torch_indexes import index_of_version

    installed = record.context.target.run_torch(record.facts.machine).installed
    return None if installed is None else index_of_version(installed.version)


def _what_if(record: FileRecord, subject: RuleSubject, findings: Iterable[Finding]) -> tuple[WhatIf, ...]:
    """The releases that each advised rewrite would gain."""
    context, needs = record.context, record.torch_needs
    rewritable = {each.id for each in context.rules if each.rewrites}
    if record.matrix is None or not any(finding.rule in rewritable for finding in findings):
        return ()
    from abiscan.rules.rewrite_effects import predict_rewrites

    def releases_of(names: Iterable[str]) -> ReleaseRanges:
        return releases_exporting(names, context.index, record.facts.machine, needs.libraries)

    return predict_rewrites(context.rules, subject, needs.names, releases_of)
