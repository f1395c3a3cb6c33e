"""One shared object, from its bytes to its report: bound, predicted, looked up in the releases, judged by the rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from abiscan.analysis.apply_rules import Bound, derived_classes_of, drift_of_releases, findings_of
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.layouts import exported_to_all, shared_layouts
from abiscan.analysis.read_provenance import provenance
from abiscan.analysis.siblings import exported_beside, load_path, needed_siblings
from abiscan.analysis.verdict import broken_library, loads_on, notes_of, verdict_of
from abiscan.binary import Binary
from abiscan.environment.python_names import exports as python_exports
from abiscan.loader.bind_imports import FileBinding
from abiscan.loader.bind_release import bind_to_release, with_providers, with_pythons
from abiscan.model.binding import (
    BoundImport,
    LoaderOutcome,
    LoaderPrediction,
    NeededLibrary,
    Owner,
    Status,
)
from abiscan.model.facts import SharedObject
from abiscan.model.fingerprint import module_key
from abiscan.model.report import (
    ArtifactReport,
    ArtifactVerdict,
)
from abiscan.model.versions import Windows
from abiscan.ownership.gpu_libraries import is_driver
from abiscan.ownership.names import owner_of_library
from abiscan.ownership.torch_names import is_torch_library
from abiscan.releases.matrix import Matrix, TorchNeeds, judge
from abiscan.setting.file_setting import FileSetting
from abiscan.setting.target_torch import TargetTorch
from abiscan.targets import Artifact


def analyse_shared_object(artifact: Artifact, context: AnalysisContext) -> ArtifactReport:
    """Everything about one shared object."""
    binary = artifact.open()
    facts = binary.facts()
    # The first file decides whose newest build stands in where no torch is installed and none is named.
    judged_in = context.setting_of(artifact, binary.machine)
    torch = judged_in.torch
    path = load_path(artifact, context.options)
    siblings = needed_siblings(artifact, binary, context.options)
    binding = _bound(artifact, binary, path, siblings, judged_in=judged_in, context=context)
    imports = _demangled(binding.imports, context)
    prediction = _prediction(binary, path, {} if artifact.disk_path is not None else siblings, torch, context)
    torch_needs = _torch_needs(facts, imports, siblings)
    concerns_torch = bool(torch_needs.names or torch_needs.libraries)
    matrix = judge(torch_needs, context.index, reasons=context.options.matrix) if concerns_torch else None
    imports = _with_windows(imports, matrix)
    needed = _with_shipped(binding.needed, torch)
    unfit = binding.unfit_libraries if concerns_torch else ()
    made = provenance(binary, facts, imports, matrix, name=os.path.basename(artifact.member or artifact.path))
    derived = derived_classes_of(binary, imports)
    declared = context.declared_torch(artifact, binary.machine)
    bound = Bound(
        binary=binary,
        facts=facts,
        imports=imports,
        needed=needed,
        module=module_key(artifact.path, artifact.member),
        torch=torch,
        needs=torch_needs,
        matrix=matrix,
        built_for=made.built_for,
        lines=artifact.disk_path is not None,
        derived=derived,
        layouts=shared_layouts(
            imports,
            derived,
            facts.machine,
            matrix,
            declared=declared,
            beside=lambda: exported_to_all(artifact.group, context.index, facts.machine),
        ),
    )
    findings, what_if = findings_of(bound, context)
    broken = broken_library(prediction, path, lambda name: context.index.history(name, facts.machine) is not None)
    report = ArtifactReport(
        path=artifact.path,
        member=artifact.member,
        kind=artifact.kind,
        size=artifact.size,
        machine=facts.machine,
        verdict=verdict_of(
            imports, needed, torch, concerns_torch=concerns_torch, broken_library=broken, unfit=bool(unfit)
        ),
        sha256=_sha256(binary) if context.options.hashes else None,
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
        findings=findings,
    )
    absent = tuple(dict.fromkeys((*binding.missing_torch_libraries, *binding.missing_libraries)))
    nowhere = matrix is not None and torch is not None and not loads_on(matrix, torch.target.torch)
    windows = matrix.exporting if matrix is not None and not matrix.unknown else None
    report = _with_causes(
        report,
        facts,
        torch,
        context,
        absent=absent,
        distribution=artifact.group.facts.name,
        windows=windows,
        nowhere=nowhere,
    )
    return replace(
        report,
        notes=tuple(notes_of(report, torch, matrix, binding.missing_libraries, choice=judged_in.note, unfit=unfit)),
    )


def _bound(
    artifact: Artifact,
    binary: Binary,
    path: str,
    siblings: Mapping[str, Binary],
    *,
    judged_in: FileSetting,
    context: AnalysisContext,
) -> FileBinding:
    """Every import bound: in the process of the installed torch, or against a release by the index alone."""
    torch = judged_in.torch
    pythons = [python for version in judged_in.pythons if (python := python_exports(version)) is not None]
    if torch is not None and torch.installed and context.loader.serves(binary):
        binding = context.loader.bind(binary, path, siblings)
        return binding if not judged_in.pythons else with_pythons(binding, pythons)
    # Where an environment here would have them is nothing of the release's: members are called by their place.
    root = path.removesuffix(os.path.normpath(artifact.place)) if artifact.member is not None else ""
    members = {place.removeprefix(root): each for place, each in siblings.items()}
    binding = bind_to_release(binary, members, None if torch is None else torch.exports, pythons)
    if artifact.member is None:
        return binding
    own = [b.name for b in binding.imports if b.status is Status.MISSING and b.owner in (Owner.SELF, Owner.OTHER)]
    beside = exported_beside(artifact, own) if own else {}
    return binding if not beside else with_providers(binding, beside)


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


def _torch_needs(facts: SharedObject, imports: Sequence[BoundImport], siblings: Mapping[str, Binary]) -> TorchNeeds:
    """What only torch can provide: its names, but for those that another library in scope exports."""
    names = [
        bound.name
        for bound in imports
        if bound.owner is Owner.TORCH
        and bound.status is not Status.WEAK
        and (bound.provider is None or is_torch_library(bound.provider))
    ]
    return TorchNeeds(
        names=tuple(dict.fromkeys(names)),
        libraries=tuple(soname for soname in facts.needed if is_torch_library(soname)),
        machine=facts.machine,
        gpu_libraries=tuple(
            soname
            for soname in dict.fromkeys((*facts.needed, *(name for each in siblings.values() for name in each.needed)))
            if owner_of_library(soname) in (Owner.CUDA, Owner.HIP)
            and not is_driver(soname)
            and not any(path.rpartition("/")[2] == soname.rpartition("/")[2] for path in siblings)
        ),
    )


def _with_windows(imports: Sequence[BoundImport], matrix: Matrix | None) -> tuple[BoundImport, ...]:
    if matrix is None:
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
    torch: TargetTorch | None,
    context: AnalysisContext,
    *,
    absent: Sequence[str],
    distribution: str | None,
    windows: Windows | None,
    nowhere: bool,
) -> ArtifactReport:
    """Causes of what is missing; a file that binds pays nothing for them."""
    if not absent and not any(b.status.may_be_unbound for b in report.imports):
        return report
    if report.verdict is not ArtifactVerdict.FAILS and not (torch is None or torch.installed):
        return report
    from abiscan.diagnosis import diagnose

    here = torch is None or torch.installed
    # Of another machine's libraries nothing is known: what they may have is open, and no cause.
    diagnosis = diagnose(
        facts,
        [b for b in report.imports if here or b.status is not Status.UNDECIDED],
        replace(context.knowledge_of(torch, facts.machine, here=here), loads_on=windows),
        libraries=absent,
        # A library that is absent is a cause by itself where it is what the file fails for.
        here=(report.loader.outcome is LoaderOutcome.FAILS and report.verdict is not ArtifactVerdict.NOT_TORCH)
        or not any(b.status.is_unbound for b in report.imports),
        distribution=distribution,
        nowhere=nowhere,
    )
    judged = {bound.symbol.index: bound for bound in diagnosis.imports}
    imports = tuple(judged.get(bound.symbol.index, bound) for bound in report.imports)
    return replace(report, imports=imports, causes=diagnosis.groups)


def _sha256(binary: Binary) -> str:
    from hashlib import sha256

    return sha256(binary.buffer).hexdigest()
