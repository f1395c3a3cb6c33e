"""Report of a run: artifacts, containers, errors and verdict."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from abiscan.model.cause import Cause, CauseGroup
from abiscan.model.facts import Export
from abiscan.model.finding import Finding, RuleInfo, Severity, WhatIf
from abiscan.model.imports import CheckedImport
from abiscan.model.loading import LoaderPrediction, NeededLibrary
from abiscan.model.operators import CalledOperator, Operator
from abiscan.model.provenance import Provenance
from abiscan.model.release import ReleaseVerdict
from abiscan.model.target import TargetEnvironment, TorchBuild
from abiscan.model.versions import ReleaseRanges

if TYPE_CHECKING:
    from abiscan.model.cause_page import CausePage


# The directories that packages are installed in.
_SITES = ("site-packages", "dist-packages")


class ArtifactKind(enum.StrEnum):
    SHARED_OBJECT = "shared-object"
    SOURCE = "source"
    GENERATED_KERNEL = "generated-kernel"


class ArtifactVerdict(enum.StrEnum):
    LOADS = "loads"
    FAILS = "fails"
    UNDECIDED = "undecided"
    UNREADABLE = "unreadable"
    NOT_TORCH = "not-torch"


WORST_FIRST = (
    ArtifactVerdict.FAILS,
    ArtifactVerdict.UNREADABLE,
    ArtifactVerdict.UNDECIDED,
    ArtifactVerdict.LOADS,
    ArtifactVerdict.NOT_TORCH,
)


class UniversalPart(Struct, frozen=True):
    """The result of one part of a universal file.

    Attributes:
        machine: its platform.
        verdict: None if the torch that it would be checked against has no build for its platform.
        torch: the build that it was checked against: `2.2.2+cpu`; None if there is none.
        missing: mangled names of its unresolved symbols.
        loads_on: as in `ArtifactReport`.
    """

    machine: str
    verdict: ArtifactVerdict | None
    torch: str | None
    missing: tuple[str, ...]
    loads_on: tuple[str, ...] | None


class ArtifactReport(Struct, frozen=True):
    """Report of one artifact, checked against its target.

    Attributes:
        path: path of the file or its container, relative to the working directory if it is below that.
        member: name inside the container, if it is in one.
        notes: sentences for the text report (libraries that were not found, why verdict and loader differ).
        failure_reasons: the notes that explain a failure although all imports of the file resolve.
        causes: merged over the file's imports, most important first.
        exported_in: mangled name of an import -> torch releases that export it, if they were looked up.
        import_causes: mangled name of an unresolved import -> its causes, best first.
        target: the target environment, each part with its source; None for a source.
        replaced_by: `display` of another build of the same module in the wheel, which the package loads instead: the
            one whose path names the torch release, or one that loads. The wheel's verdict ignores this one. Else None.
        operators: operators that it registers, sorted by name; called: operators that an AOTInductor model calls by
            name.
        exports: exported symbols, sorted by name; pythons: CPythons that import it and export all Python names that it
            imports (`3.11`, `3.13t`). Both None unless requested (`ScanOptions.compared`); pythons also if any will do.
        loads_on: releases with a build on which it loads, with the CUDA of that build; None if it imports nothing of
            torch.
        drifting: for a member of a wheel, the releases on which `layout-drift` is an error or warning, and which of
            them.
        is_module: whether it exports a function `PyInit_<module>`, so that Python can import it.
        parts: the parts of a universal file that were checked; everything else is of the one with the worst verdict.
        undemangled: names that LLVM's demangler accepts and GNU's does not; malformed: names that neither accepts.
    """

    path: str
    member: str | None
    kind: ArtifactKind
    size: int
    machine: str | None
    verdict: ArtifactVerdict
    sha256: str | None = None
    build_id: str | None = None
    loader: LoaderPrediction = LoaderPrediction(None)
    needed: tuple[NeededLibrary, ...] = ()
    imports: tuple[CheckedImport, ...] = ()
    releases: tuple[ReleaseVerdict, ...] | None = None
    what_if: tuple[WhatIf, ...] = ()
    provenance: Provenance = Provenance()
    findings: tuple[Finding, ...] = ()
    causes: tuple[CauseGroup, ...] = ()
    target: TargetEnvironment | None = None
    notes: tuple[str, ...] = ()
    failure_reasons: tuple[str, ...] = ()
    replaced_by: str | None = None
    operators: tuple[Operator, ...] = ()
    called: tuple[CalledOperator, ...] = ()
    exports: tuple[Export, ...] | None = None
    pythons: tuple[str, ...] | None = None
    loads_on: tuple[str, ...] | None = None
    drifting: tuple[tuple[str, Severity], ...] = ()
    is_module: bool = True
    exported_in: Mapping[str, ReleaseRanges] = {}
    import_causes: Mapping[str, tuple[Cause, ...]] = {}
    parts: tuple[UniversalPart, ...] = ()

    @property
    def torch_build(self) -> TorchBuild | None:
        """The torch build that it was checked against; None for a source, or if the right build is not known."""
        return None if self.target is None else self.target.torch_build

    def checked_against(self, run: TorchBuild | None) -> TorchBuild | None:
        """The torch build that it was checked against: that of its target, else that of the run."""
        return run if self.target is None else self.target.torch_build

    @property
    def torch_words(self) -> str:
        """Description of the torch that it was checked against, with its version if known."""
        words = "the torch of the run" if self.target is None else self.target.torch_words
        return words if self.torch_build is None else f"{words}, {self.torch_build.version}"

    @property
    def display(self) -> str:
        """`path`, or `path!member` for a member of a container."""
        return self.path if self.member is None else f"{self.path}!{self.member}"

    @property
    def package_path(self) -> str:
        """Its path in its package; its whole path if it is in none."""
        if self.member is not None:
            return self.member.rsplit("!", 1)[-1]
        parts = self.path.split("/")
        inside = max((at for at, part in enumerate(parts[:-1], 1) if part in _SITES), default=0)
        return "/".join(parts[inside:])

    @property
    def standing(self) -> tuple[Finding, ...]:
        """Findings that neither a baseline nor an ignore accepts."""
        return tuple(f for f in self.findings if not f.suppressed)


class Container(Struct, frozen=True):
    """A wheel, package or archive of the run: its metadata and the combined verdict of its members.

    Attributes:
        kind: `wheel`, `sdist`, `conda`, `archive` or `installed`.
        name, version: of the distribution, from its metadata.
        tags: compatibility tags of the wheel file name, expanded; metadata_tags: of its WHEEL file, verbatim.
        requires_dist: requirements, verbatim; requires_torch: those on torch.
        verdict: fails if one member fails, else undecided if one is undecided, else loads if one loads.
        artifacts: `ArtifactReport.display` of its members, sorted.
        requires_python: Requires-Python, verbatim; None if it is not declared.
        applicable_torch: the `requires_torch` whose marker holds without extras on a Python for which the wheel is
            made.
    """

    path: str
    kind: str
    name: str | None
    version: str | None
    tags: tuple[str, ...]
    metadata_tags: tuple[str, ...]
    requires_dist: tuple[str, ...]
    requires_torch: tuple[str, ...]
    verdict: ArtifactVerdict
    artifacts: tuple[str, ...]
    requires_python: str | None = None
    applicable_torch: tuple[str, ...] = ()

    @property
    def declared_tags(self) -> tuple[str, ...]:
        """The tags of the file name; without any, those of its metadata."""
        return self.tags or self.metadata_tags


class InputError(Struct, frozen=True):
    """An input, or a member of one, that could not be read."""

    path: str
    message: str


class Verdict(enum.StrEnum):
    """Verdict of the gate on a run; `cli` maps it to the exit status 0, 1 or 3."""

    PASS = "pass"
    FAIL = "fail"
    INCOMPLETE = "incomplete"


class StaleEntry(Struct, frozen=True):
    """An unused entry of a baseline or ignore list."""

    source: str
    entry: str
    fails: bool


ImportsShown = Literal["all", "unresolved"]

SCHEMA_VERSION = 2
"""Of the JSON report (`data/report.schema.json`)."""


class Report(Struct, frozen=True):
    """Report of a run.

    Attributes:
        rules: all rules that were applied, for formats that list them.
        cause_pages: the page of each cause of the artifacts.
        containers: wheels, packages and archives of the artifacts, by path.
        notes: sentences about the run as a whole (several torches on the path, no GNU demangler here).
        fail_on: the lowest severity that fails the run, by policy; None for none.
        root: the directory of `--root`, as given on the command line; paths are relative to that file system. None for
            this machine.
        accepted: displays and paths of unread or undecided inputs that an ignore accepts.
        imports_shown: which imports the JSON report lists; counts are of all imports.
        silent_sources: number of sources that were read and have no finding, which are no artifacts.
    """

    version: str
    torch_build: TorchBuild | None
    artifacts: tuple[ArtifactReport, ...]
    errors: tuple[InputError, ...]
    rules: tuple[RuleInfo, ...]
    notes: tuple[str, ...] = ()
    verdict: Verdict = Verdict.INCOMPLETE
    stale: tuple[StaleEntry, ...] = ()
    fail_on: Severity | None = Severity.ERROR
    containers: tuple[Container, ...] = ()
    root: str | None = None
    imports_shown: ImportsShown = "all"
    cause_pages: tuple[CausePage, ...] = ()
    accepted: tuple[str, ...] = ()
    silent_sources: int = 0

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The note on the choice of the torch, and `notes`."""
        chosen = None if self.torch_build is None else self.torch_build.note
        return (*([chosen] if chosen else []), *self.notes)

    def errors_in(self, container: str) -> tuple[InputError, ...]:
        """The read errors of a container, by its path, and of its members."""
        return tuple(e for e in self.errors if e.path == container or e.path.startswith(f"{container}!"))

    def failing(self, finding: Finding) -> bool:
        """Whether a finding fails the run."""
        return not finding.suppressed and finding.severity.at_least(self.fail_on)
