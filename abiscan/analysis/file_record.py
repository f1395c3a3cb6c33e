"""The record of one shared object: each pass reads what the passes before it wrote, and writes fields of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.pass_results import AbsentLibraries, GpuCheck
from abiscan.binary import Binary
from abiscan.inputs import Artifact
from abiscan.model.cause import Cause, CauseGroup
from abiscan.model.device_code import DeviceImages
from abiscan.model.facts import DerivedClass, SharedObject
from abiscan.model.finding import Finding, WhatIf
from abiscan.model.fingerprint import module_key
from abiscan.model.imports import CheckedImport
from abiscan.model.loading import LoaderPrediction, LoaderStop, NeededLibrary
from abiscan.model.operators import CalledOperator, Operator
from abiscan.model.provenance import Provenance
from abiscan.model.release import ReleaseVerdict
from abiscan.model.report import ArtifactVerdict
from abiscan.releases.matrix import Matrix, TorchNeeds
from abiscan.target.file_target import FileTarget
from abiscan.target.torch_exports import TargetTorch
from abiscan.wheel.metadata import ContainerKind

if TYPE_CHECKING:
    from abiscan.analysis.layouts import SharedLayouts


class FileRecord:
    """All that is known of one shared object so far. A field is written once, by the pass that `passes.PASSES` names;
    to read one that no pass wrote is an AttributeError.

    Attributes:
        artifact, context: what the passes start from.
        siblings: path -> contents of what the file needs of its own package.
        late_bound: imports that are looked up when they are called, as its package opens it lazily.
        dependents: sonames that files of its package need which need this one.
        problem: what the loader stops at in the file itself, or why it is not known whether it does.
        cell: the outcome on the very build of the index that the file is checked against.
        outcomes: the matrix with what drifted, where somebody asks for it.
        unread_calls: why the operators that it calls are not known; None where they are.
        import_causes: mangled name -> causes, best first.
    """

    binary: Binary
    facts: SharedObject
    device_images: DeviceImages
    target: FileTarget
    load_path: str
    siblings: Mapping[str, Binary]
    dependents: tuple[str, ...]
    late_bound: tuple[str, ...]
    imports: tuple[CheckedImport, ...]
    needed: tuple[NeededLibrary, ...]
    absent: AbsentLibraries
    loader: LoaderPrediction
    problem: LoaderStop | str | None
    torch_needs: TorchNeeds
    concerns_torch: bool
    matrix: Matrix | None
    cell: ReleaseVerdict | None
    broken_library: str | None
    derived_classes: tuple[DerivedClass, ...]
    layouts: SharedLayouts | None
    provenance: Provenance
    operators: tuple[Operator, ...]
    called_operators: tuple[CalledOperator, ...]
    unread_calls: str | None
    gpu_check: GpuCheck
    verdict: ArtifactVerdict
    findings: tuple[Finding, ...]
    what_if: tuple[WhatIf, ...]
    outcomes: tuple[ReleaseVerdict, ...] | None
    causes: tuple[CauseGroup, ...]
    import_causes: Mapping[str, tuple[Cause, ...]]
    notes: tuple[str, ...]
    failure_reasons: tuple[str, ...]

    def __init__(self, artifact: Artifact, context: AnalysisContext) -> None:
        self.artifact = artifact
        self.context = context

    @property
    def torch(self) -> TargetTorch | None:
        """The torch that the file is checked against; None where no known build is what it is made for."""
        return self.target.torch

    @property
    def unfit_libraries(self) -> tuple[str, ...]:
        """The libraries of CUDA and ROCm that the torch ships in another version, of a file that concerns torch."""
        return self.absent.unfit if self.concerns_torch else ()

    @property
    def is_alone(self) -> bool:
        """Whether the file was named itself, and is no part of a package."""
        return self.artifact.group.facts.kind is ContainerKind.FILE

    @property
    def module(self) -> str:
        """Its identity over rebuilds."""
        return module_key(self.artifact.path, self.artifact.member)

    @property
    def built_for(self) -> str | None:
        """The minor release that it was made for, where that is known."""
        return self.provenance.built_for or (self.layouts.made_for if self.layouts is not None else None)

    @property
    def releases_asked(self) -> bool:
        """Whether the run asks for the outcome on every release."""
        return self.context.options.matrix
