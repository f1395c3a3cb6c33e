"""One shared object, from its bytes to its report: bound, predicted, looked up in the releases, judged by the rules."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from abiscan.analysis.apply_rules import (
    Bound,
    contradicted_labels,
    derived_classes_of,
    drift_of_releases,
    findings_of,
    refusals,
    told_by_provenance,
)
from abiscan.analysis.bind_in_setting import bind_in_setting, not_of_torch, unfit_libraries
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.layouts import drifting_on, exported_to_all, shared_layouts
from abiscan.analysis.provenance_facts import CALLS_BY_NAME, Origin, provenance_facts
from abiscan.analysis.read_provenance import provenance
from abiscan.analysis.siblings import load_path, needed_by_dependents, needed_siblings
from abiscan.analysis.verdict import broken_library, cell_of, loads_on, notes_of, verdict_of
from abiscan.binary import Binary
from abiscan.inputs import Artifact, Group
from abiscan.loader.integrity import first_problem
from abiscan.loader.torch_needs import torch_needs
from abiscan.model.binding import (
    BoundImport,
    LoaderOutcome,
    LoaderPrediction,
    NeededLibrary,
    Owner,
    Status,
)
from abiscan.model.facts import Export, SharedObject
from abiscan.model.finding import Severity
from abiscan.model.fingerprint import module_key
from abiscan.model.operators import Operator
from abiscan.model.report import (
    ArtifactReport,
    ArtifactVerdict,
)
from abiscan.model.versions import Windows
from abiscan.ownership.torch_names import is_torch_library
from abiscan.releases.matrix import Matrix, judge
from abiscan.target.declared import DeclaredTorch
from abiscan.target.file_setting import FileSetting, importing_pythons
from abiscan.target.target_torch import TargetTorch
from abiscan.wheel.metadata import ContainerKind


def analyse_shared_object(artifact: Artifact, context: AnalysisContext) -> ArtifactReport:
    """Everything about one shared object."""
    binary = artifact.open()
    facts = binary.facts()
    # The first file decides whose newest build stands in where no torch is installed and none is named.
    judged_in = context.setting_of(artifact, binary.machine)
    torch = judged_in.torch
    path = load_path(artifact, context.options)
    siblings = needed_siblings(artifact, binary, context.options)
    binding = bind_in_setting(artifact, binary, path, siblings, judged_in=judged_in, context=context)
    alone = artifact.group.facts.kind is ContainerKind.FILE
    dependents: tuple[str, ...] = ()
    brought: tuple[str, ...] = ()
    if torch is not None and not alone and any(b.status.is_unbound for b in binding.imports):
        from abiscan.loader.bind_release import unknown_libraries, with_reach

        dependents = needed_by_dependents(artifact, binary)
        outside = [name for name in dependents if not artifact.group.named(name.rpartition("/")[2])]
        if torch.installed:
            outside = [name for name in outside if context.loader.find(name) is None]
        brought = unknown_libraries(outside)
        binding = with_reach(binding, dependents, torch.exports, brought)
    imports = _demangled(binding.imports, context)
    prediction = _prediction(binary, path, {} if artifact.disk_path is not None else siblings, torch, context)
    needs = torch_needs(binary, imports, siblings, (*binding.missing_libraries, *brought), dependents)
    concerns_torch = bool(needs.names or needs.libraries)
    problem = first_problem(binary) if prediction.outcome is not LoaderOutcome.LOADS else None
    matrix = None
    if concerns_torch or needs.siblings:
        # The installed torch's own interpreter answers for it; of releases the table of CPythons does.
        on_releases = context.options.matrix or (torch is not None and not torch.installed)
        otherwise = not_of_torch(imports, judged_in, problem) if on_releases else None
        matrix = judge(needs, context.index, reasons=context.options.matrix, otherwise=otherwise)
    imports = _with_windows(imports, matrix)
    needed = _with_shipped(binding.needed, torch)
    unfit = unfit_libraries(binding, judged_in) if concerns_torch else ()
    open_names = [b.name for b in imports if b.owner is Owner.TORCH and b.status is Status.UNDECIDED]
    cell = None if open_names else cell_of(matrix, torch)
    device = binary.device_images()
    origin = Origin(artifact.member or artifact.path, artifact.group.facts.version)
    made = provenance(facts, imports, matrix, device, name=os.path.basename(origin.place))
    made = replace(made, facts=provenance_facts(binary, facts, imports, made, origin))
    derived = derived_classes_of(binary, imports)
    stated = context.declared(artifact, binary.machine)
    declared = stated.torch
    layouts = shared_layouts(
        imports,
        derived,
        facts.machine,
        matrix,
        declared=declared,
        beside=lambda: exported_to_all(artifact.group, context.index, facts.machine),
        group=artifact.group,
        binary=binary,
        user_index=context.options.user_index,
    )
    bound = Bound(
        binary=binary,
        facts=facts,
        imports=imports,
        needed=needed,
        module=module_key(artifact.path, artifact.member),
        torch=torch,
        needs=needs,
        matrix=matrix,
        built_for=made.built_for or (layouts.made_for if layouts is not None else None),
        lines=artifact.disk_path is not None,
        derived=derived,
        layouts=layouts,
    )
    findings, what_if = findings_of(bound, context)
    findings += told_by_provenance(made.facts, bound.module, concerns_torch=concerns_torch)
    findings += contradicted_labels(stated.gpu, artifact.group.facts.version or "", facts, made, bound.module)
    broken = broken_library(prediction, path, lambda name: context.index.history(name, facts.machine) is not None)
    report = ArtifactReport(
        path=artifact.path,
        member=artifact.member,
        kind=artifact.kind,
        size=artifact.size,
        machine=facts.machine,
        verdict=verdict_of(
            imports,
            needed,
            torch,
            concerns_torch=concerns_torch,
            broken_library=broken,
            unfit=bool(unfit),
            cell=cell,
            problem=problem,
        ),
        sha256=binary.sha256() if context.options.hashes else None,
        build_id=facts.build_id,
        loader=prediction,
        needed=needed,
        imports=imports,
        setting=judged_in.setting,
        # How the run came to it is the run's to say.
        target=None if torch is None else replace(torch.target, note=None, python=None),
        releases=drift_of_releases(bound, context) if matrix is not None and context.options.matrix else None,
        what_if=what_if,
        provenance=made,
        operators=_operators(binary, imports, asked=context.options.operators or not alone) if concerns_torch else (),
        findings=findings,
        exports=_exports(binary) if context.options.compared else None,
        pythons=_pythons(imports, judged_in) if context.options.compared else None,
        drifting=_drifting(bound, artifact.group),
    )
    choice = judged_in.of_file.note
    if open_names and torch is not None and torch.build is not None and not choice:
        choice = f"the release index has no build of torch {torch.target.torch} with the std::string of this file"
        if not all(map(torch.exports.knows, open_names)):
            choice = f"of torch {torch.target.torch} the release index has only the names that are spelt as torch's own"
    absent = tuple(dict.fromkeys((*binding.missing_torch_libraries, *binding.missing_libraries)))
    if report.verdict is not ArtifactVerdict.FAILS and prediction.outcome is LoaderOutcome.FAILS:
        refused = refusals(prediction, absent, bound.module, path=path, alone=alone, beside=_beside(artifact, needed))
        report = replace(report, findings=(*report.findings, *refused))
    called_unknown = None
    if concerns_torch and any(b.name == CALLS_BY_NAME for b in imports):
        from abiscan.analysis.called_operators import called_operators

        exports, files = None if torch is None else torch.exports, context.options.settings.files
        called, called_unknown = called_operators(artifact, binary, exports, files)
        report = replace(report, called=called)
    nowhere = matrix is not None and torch is not None and not loads_on(matrix, torch.target.torch)
    report = _with_causes(
        report,
        facts,
        judged_in,
        context,
        absent=absent,
        unfit=unfit,
        distribution=(artifact.group.facts.name, artifact.group.facts.version),
        windows=lambda: _other_torches(bound, declared, artifact.group, context),
        nowhere=nowhere,
        alone=alone,
    )
    report = replace(
        report,
        notes=(
            *notes_of(
                report,
                torch,
                matrix,
                binding.missing_libraries,
                brought,
                choice=choice,
                unfit=unfit,
                cell=cell,
                problem=problem,
            ),
            *([] if called_unknown is None else [called_unknown]),
        ),
    )
    if not context.gpus:
        return report
    from abiscan.analysis.kernels_on import with_kernels

    if concerns_torch and torch is not None:
        context.judged_on(torch)
    return with_kernels(report, device, context.gpus, bound.module, context.driver)


def _operators(binary: Binary, imports: Sequence[BoundImport], *, asked: bool) -> tuple[Operator, ...]:
    """What it registers: where somebody asks, or it calls some that it may register itself."""
    names = [bound.name for bound in imports]
    if not asked and CALLS_BY_NAME not in names:
        return ()
    from abiscan.analysis.read_operators import operators_of

    return operators_of(binary, names)


def _beside(artifact: Artifact, needed: Sequence[NeededLibrary]) -> tuple[str, ...]:
    """Those of the needed libraries that lie in the file's own directory, whether or not a loader would look there."""
    place = posixpath.dirname(artifact.disk_path or artifact.place)
    return tuple(each.soname for each in needed if each.found is not None and posixpath.dirname(each.found) == place)


def _exports(binary: Binary) -> tuple[Export, ...]:
    return tuple(sorted(binary.exports(), key=lambda export: (export.name, export.version or "")))


def _pythons(imports: Sequence[BoundImport], judged_in: FileSetting) -> tuple[str, ...] | None:
    names = [b.name for b in imports if b.owner is Owner.PYTHON and b.status is not Status.WEAK]
    found = None if judged_in.beside is None else importing_pythons(judged_in.beside.declared, names)
    return None if found is None else tuple(map(str, found))


def _drifting(bound: Bound, group: Group) -> tuple[tuple[str, Severity], ...]:
    """What the requirement of a wheel is judged by; nothing else asks."""
    if bound.matrix is None or bound.layouts is None or group.facts.kind is not ContainerKind.WHEEL:
        return ()
    releases = dict.fromkeys(v.torch for v in bound.matrix.verdicts if v.loads)
    return drifting_on(releases, bound.layouts)


def _other_torches(
    bound: Bound, declared: DeclaredTorch | None, group: Group, context: AnalysisContext
) -> Windows | None:
    """The releases that an advice to install another torch may name: those on which the file loads with the layouts
    that it was made with, else others than this one that have its names; of these the ones that its package admits,
    and that have the names of its other files where some have them all. None where they are not known."""
    matrix, torch = bound.matrix, bound.torch
    if matrix is None or matrix.unknown:
        # Where no release exports all of the names that are recorded, none has the others besides.
        return Windows() if matrix is not None and not matrix.exporting else None
    verdicts = drift_of_releases(bound, context)
    loading = {each.torch for each in verdicts if each.fits} or {each.torch for each in verdicts if each.loads}
    target = None if loading or torch is None else torch.target.torch
    known = tuple(dict.fromkeys(each.torch for each in verdicts))
    fitting = {
        release
        for release in known
        if (release in loading if loading else matrix.exporting.contains(release))
        and release != target
        and (declared is None or declared.admits_release(release))
    }
    of_all = fitting.intersection(exported_to_all(group, context.index, bound.facts.machine)) if fitting else ()
    return Windows.of_known(known, (of_all or fitting).__contains__)


def _demangled(imports: Sequence[BoundImport], context: AnalysisContext) -> tuple[BoundImport, ...]:
    demangle = context.demangler.demangle
    named = []
    for bound in imports:
        answer = demangle(bound.name)
        named.append(replace(bound, demangled=answer.text, demangled_by=answer.by))
    return tuple(named)


def _prediction(
    binary: Binary, path: str, siblings: Mapping[str, Binary], torch: TargetTorch | None, context: AnalysisContext
) -> LoaderPrediction:
    """What the loader does here; of a wheel's member, as if the wheel were installed in the environment."""
    if torch is None or not torch.installed:
        return LoaderPrediction(None, undecided="the target torch is not installed in an environment here")
    return context.loader.predict(binary, path, siblings)


def _with_windows(imports: Sequence[BoundImport], matrix: Matrix | None) -> tuple[BoundImport, ...]:
    if matrix is None or not matrix.verdicts:
        return tuple(imports)
    unknown = set(matrix.unknown)
    result = []
    for bound in imports:
        history = matrix.histories.get(bound.name)
        if history is not None:
            result.append(replace(bound, windows=history.windows))
        elif bound.owner is Owner.TORCH and bound.name not in unknown and bound.status is not Status.WEAK:
            result.append(replace(bound, windows=Windows()))
        else:
            result.append(bound)
    return tuple(result)


def _with_shipped(needed: Sequence[NeededLibrary], torch: TargetTorch | None) -> tuple[NeededLibrary, ...]:
    """A target that is not installed here has its libraries all the same: where it is, or where its wheel has them."""
    if torch is None or torch.installed:
        return tuple(needed)
    return tuple(replace(n, found=torch.exports.path_of(n.soname)) if n.found is None else n for n in needed)


def _with_causes(
    report: ArtifactReport,
    facts: SharedObject,
    judged_in: FileSetting,
    context: AnalysisContext,
    *,
    absent: Sequence[str],
    unfit: Sequence[str],
    distribution: tuple[str | None, str | None],
    windows: Callable[[], Windows | None],
    nowhere: bool,
    alone: bool,
) -> ArtifactReport:
    """Causes of what fails; a file that loads has none and pays nothing for them."""
    fails = report.verdict is ArtifactVerdict.FAILS
    refused = alone and any(f.rule == "loader-refuses" for f in report.findings)
    if not fails and not refused:
        return report
    from abiscan.diagnosis import diagnose

    torch, python = judged_in.torch, judged_in.setting.python
    here = torch is None or torch.installed
    # What an absent library of others may have is open, and no cause of a failure that is certain.
    asked = [b for b in report.imports if b.status.is_unbound]
    lacking = [soname for soname in absent if is_torch_library(soname) or soname in unfit or refused]
    if not asked and not lacking:
        return report
    diagnosis = diagnose(
        facts,
        asked,
        replace(
            context.knowledge_of(torch, facts.machine, here=here),
            loads_on=windows(),
            pythons=judged_in.pythons or judged_in.possible,
            pythons_because=python.because if python is not None else "it declares none, and an installer has these",
        ),
        libraries=lacking,
        here=True,
        distribution=distribution,
        nowhere=nowhere,
    )
    judged = {bound.symbol.index: bound for bound in diagnosis.imports}
    imports = tuple(judged.get(bound.symbol.index, bound) for bound in report.imports)
    return replace(report, imports=imports, causes=diagnosis.groups)
