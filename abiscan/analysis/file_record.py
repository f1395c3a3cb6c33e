"""The record of one shared object. Each pass reads fields that earlier passes wrote, and writes its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.pass_results import AbsentLibraries, CalledOperators, GpuCheck, PackageScope
from abiscan.binary import Binary
from abiscan.inputs import Artifact
from abiscan.model.cause import Diagnosis
from abiscan.model.device_code import DeviceImages
from abiscan.model.facts import DerivedClass, SharedObject
from abiscan.model.finding import Finding, WhatIf
from abiscan.model.fingerprint import module_key
from abiscan.model.imports import CheckedImport
from abiscan.model.loading import LoaderPrediction, LoaderStop, NeededLibrary
from abiscan.model.operators import Operator
from abiscan.model.provenance import Provenance
from abiscan.model.release import ReleaseVerdict
from abiscan.model.report import ArtifactVerdict
from abiscan.releases.index import ReleaseIndex, is_earlier
from abiscan.releases.matrix import Matrix, TorchNeeds
from abiscan.target.file_target import FileTarget
from abiscan.target.torch_exports import TargetTorch
from abiscan.wheel.container_facts import ContainerKind

if TYPE_CHECKING:
    from abiscan.analysis.shared_layouts import SharedLayouts


class FileRecord:
    """Facts about one shared object so far. Each field is written once, by the pass listed in `passes.PASSES`, in this
    order; reading a field before raises AttributeError.

    Attributes:
        artifact, context: inputs of the passes; part: the platform of the part of a universal file that is read, else
            None.
        facts: its imports, needed libraries and versions, as the file has them; device_images: its GPU code.
        load_path: where it is, or would be installed; siblings: path -> contents of the libraries of its package that
            it needs; namesakes: the libraries of its package that only have the name of a torch library.
        imports, needed: as resolved in the target; absent: the libraries that were not found.
        problem: a defect of the file at which the loader stops, or why that is unknown.
        torch_needs: what only torch can export for it; matrix: the outcome of that on each build of the index, None
            without such imports; target_outcome: the outcome on the build that the file is checked against.
        broken_library: a library that it needs and that does not load.
        derived_classes: its classes with a base class of torch; layouts: classes that it shares with torch, None if no
            layout of one ever changed.
        what_if: releases that each advised rewrite would gain.
        outcomes: the matrix with layout changes, if requested.
        failure_reasons: the notes on a failure without unresolved imports.
    """

    binary: Binary
    facts: SharedObject
    device_images: DeviceImages
    target: FileTarget
    load_path: str
    siblings: Mapping[str, Binary]
    namesakes: frozenset[str]
    imports: tuple[CheckedImport, ...]
    needed: tuple[NeededLibrary, ...]
    absent: AbsentLibraries
    package_scope: PackageScope
    loader: LoaderPrediction
    problem: LoaderStop | str | None
    torch_needs: TorchNeeds
    matrix: Matrix | None
    target_outcome: ReleaseVerdict | None
    broken_library: str | None
    provenance: Provenance
    derived_classes: tuple[DerivedClass, ...]
    layouts: SharedLayouts | None
    operators: tuple[Operator, ...]
    called: CalledOperators
    gpu_check: GpuCheck
    verdict: ArtifactVerdict
    findings: tuple[Finding, ...]
    what_if: tuple[WhatIf, ...]
    outcomes: tuple[ReleaseVerdict, ...] | None
    diagnosis: Diagnosis
    notes: tuple[str, ...]
    failure_reasons: tuple[str, ...]

    def __init__(self, artifact: Artifact, context: AnalysisContext, part: str | None = None) -> None:
        self.artifact = artifact
        self.context = context
        self.part = part

    @property
    def torch(self) -> TargetTorch | None:
        """The torch that the file is checked against; None if the right build is not known."""
        return self.target.torch

    @property
    def concerns_torch(self) -> bool:
        """Whether torch must export symbols for it, or it needs a library of torch."""
        return bool(self.torch_needs.names or self.torch_needs.libraries)

    @property
    def unfit_libraries(self) -> tuple[str, ...]:
        """Needed CUDA and ROCm libraries that the torch ships in another version; empty for a file without torch."""
        return self.absent.unfit if self.concerns_torch else ()

    @property
    def is_alone(self) -> bool:
        """Whether the file is an input by itself and not part of a package."""
        return self.artifact.group.facts.kind is ContainerKind.FILE

    @property
    def is_module(self) -> bool:
        """Whether Python can import it: it exports a function `PyInit_<module>`."""
        return bool(self.binary.names_with_prefix("PyInit_", 1))

    @property
    def module(self) -> str:
        """Its `module_key`, which is stable across rebuilds."""
        return module_key(self.artifact.path, self.artifact.member)

    @property
    def built_for(self) -> str | None:
        """The minor torch release for which it was built, if known."""
        return self.provenance.built_for or (self.layouts.made_for if self.layouts is not None else None)

    @property
    def loads_on(self) -> tuple[str, ...] | None:
        """See `ArtifactReport.loads_on`."""
        if self.matrix is None or not self.concerns_torch or self.target.of_file.has_no_known_build:
            return None
        verdicts = self.outcomes or self.matrix.verdicts
        return tuple(dict.fromkeys(verdict.torch for verdict in verdicts if verdict.fits))

    @property
    def printed_index(self) -> ReleaseIndex:
        """The index for printed release ranges: one report has one range for a symbol. The causes of a failure have the
        releases before 1.13, and those files that are checked against one."""
        context, torch = self.context, self.torch
        if self.verdict is ArtifactVerdict.FAILS or (
            torch is not None and is_earlier(torch.target.version, context.index)
        ):
            return context.full_index
        return context.index

    @property
    def releases_asked(self) -> bool:
        """Whether the run needs the outcome on every release."""
        return self.context.options.matrix
