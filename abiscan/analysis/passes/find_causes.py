"""Find the causes and fixes of unresolved imports and missing libraries."""

from __future__ import annotations

from msgspec.structs import replace

from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.passes import is_refused_by_loader
from abiscan.model.cause import Diagnosis
from abiscan.model.release import ReleaseState, best_releases
from abiscan.model.target import TargetSource
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.gpu_libraries import needs_gpu_build
from abiscan.ownership.torch_names import is_torch_library
from abiscan.releases.matrix import Matrix
from abiscan.releases.pythons import installable


def find_causes(record: FileRecord) -> None:
    """Diagnose the unresolved imports and the libraries that were not found."""
    target, torch, context = record.target, record.torch, record.context
    unfit, refused_by_loader = record.unfit_libraries, is_refused_by_loader(record)
    # Symbols that a missing library may export are undecided, and not a cause of a certain failure.
    unresolved = [each for each in record.imports if each.status.is_unresolved]
    lacking = [name for name in record.absent.all if refused_by_loader or is_torch_library(name) or name in unfit]
    if not unresolved and not lacking:
        record.diagnosis = Diagnosis()
        return
    from abiscan.diagnosis.file_causes import diagnose

    python, facts = target.environment.python, record.artifact.group.facts
    matrix = record.matrix
    known = context.knowledge_of(torch, record.facts.machine, here=torch is None or torch.installed)
    if torch is not None and torch.exports.stands_for_cuda and needs_gpu_build(record.facts.needed):
        known = replace(known, target=replace(torch.target, variant="", cuda=None))
    record.diagnosis = diagnose(
        record.facts,
        unresolved,
        replace(
            known,
            target_is_assumed=target.of_file.part.source is TargetSource.NEWEST_KNOWN,
            loads_on=_installable_releases(record),
            lacks_cuda_on=_releases_for_other_cuda(record),
            no_variant_loads=matrix is not None and torch is not None and _fails_on(matrix, torch.target.version),
            strangers=record.loader.strangers,
            pythons=target.pythons or target.possible,
            pythons_because=python.detected_from if python is not None else "none is declared; installers use these",
        ),
        libraries=lacking,
        distribution=(facts.name, facts.version),
        each_import=context.options.import_details,
    )


def _fails_on(matrix: Matrix, release: str) -> bool:
    """Whether no known build of a release loads the file, whatever its CUDA; False if no build is known."""
    builds = [verdict for verdict in matrix.verdicts if verdict.torch == release]
    return bool(builds) and all(verdict.state is ReleaseState.FAILS for verdict in builds)


def _installable_releases(record: FileRecord) -> ReleaseRanges | None:
    """The releases that a fix may advise to install; None if unknown. On each of them the file loads, no layout is
    known to differ (if there is a choice, none may differ), its CUDA is the shipped one, there are wheels for its
    Python, and its package admits it. If some also resolve the other files of the package, only those."""
    matrix = record.matrix
    if matrix is None or matrix.unknown:
        # If no release exports all recorded names, none exports all names.
        return ReleaseRanges() if matrix is not None and not matrix.exporting else None
    verdicts = record.outcomes or ()
    known = tuple(dict.fromkeys(each.torch for each in verdicts))
    fitting = _admitted_releases(record, known).intersection(each.torch for each in verdicts if each.fits)
    named = fitting
    if fitting and not record.is_alone:
        from abiscan.analysis.package_members import exported_to_all

        of_all = exported_to_all(record.artifact.group, record.context.index, record.facts.machine)
        named = fitting.intersection(of_all) or fitting
    best = best_releases((each.torch, each.state) for each in verdicts if each.torch in named)
    return ReleaseRanges.of_known(known, best.__contains__)


def _releases_for_other_cuda(record: FileRecord) -> ReleaseRanges:
    """The admitted releases that lack only the CUDA of the file: another build of them may have it."""
    verdicts = record.outcomes or ()
    known = tuple(dict.fromkeys(each.torch for each in verdicts))
    lacking = {each.torch for each in verdicts if each.state is ReleaseState.OTHER_CUDA}
    return ReleaseRanges.of_known(known, _admitted_releases(record, known).intersection(lacking).__contains__)


def _admitted_releases(record: FileRecord, known: tuple[str, ...]) -> set[str]:
    """The known releases that the package admits, with wheels for its Python."""
    declared, torch = record.target.declared, record.torch
    python = record.context.options.environment.version if record.context.options.environment is not None else None
    pythons = [each.oldest for each in declared.pythons if not each.later]
    if not pythons and python is not None and torch is not None and torch.installed:
        pythons = [python]
    return {
        release
        for release in (known if not pythons else {each for python in pythons for each in installable(known, python)})
        if declared.torch is None or declared.torch.admits_release(release)
    }
