"""All that is known of each artifact, container and run."""

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


class ArtifactReport(Struct, frozen=True):
    """All that is known of one artifact against the target.

    Attributes:
        path: of the file or of its container, relative to where the user stood where it is below.
        member: its name inside the container, if it is in one.
        notes: sentences for a person (names of libraries that are not here, why verdict and loader differ).
        failure_reasons: those of `notes` that say why a file fails although all its own imports resolve.
        causes: merged over the file's imports, most important first.
        exported_in: mangled name of an import -> the torch releases that export it, where they were looked up.
        import_causes: mangled name of an import -> its causes, best first, where it is unresolved.
        target: what the file was checked against, each part with its source; None for a source.
        replaced_by: `display` of another build of the same module in its wheel, which the package loads instead: the
            one whose path names the release of torch, or one that loads where this one does not. This one does not
            count for the wheel; None where there is none.
        operators: what it registers with torch, sorted by name; called: what a model of AOTInductor calls by name.
        exports: what other files can bind to, sorted by name; pythons: the CPythons that import it and have all the
            names that it takes of them (`3.11`, `3.13t`); both None where they were not asked for
            (`ScanOptions.compared`), `pythons` also where any Python will do.
        loads_on: the releases with a build on which it loads, with the CUDA that the build ships; None for what imports
            nothing of torch.
        drifting: of a wheel's member, the releases on which `layout-drift` would be an error or a warning, with which
            of the two.
        undemangled: names GNU could not demangle but LLVM could; `malformed`: names that neither could.
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
    exported_in: Mapping[str, ReleaseRanges] = {}
    import_causes: Mapping[str, tuple[Cause, ...]] = {}

    @property
    def torch_build(self) -> TorchBuild | None:
        """The torch build that it was checked against; None for a source, or where no known build is what it is for."""
        return None if self.target is None else self.target.torch_build

    def checked_against(self, run: TorchBuild | None) -> TorchBuild | None:
        """The torch build that it was checked against: its own, or the run's where it has no target of its own."""
        return run if self.target is None else self.target.torch_build

    @property
    def torch_words(self) -> str:
        """The torch that it was checked against, in words, with its version where one is known."""
        words = "the torch of the run" if self.target is None else self.target.torch_words
        return words if self.torch_build is None else f"{words}, {self.torch_build.version}"

    @property
    def display(self) -> str:
        """`path`, or `path!member` for a member of a container."""
        return self.path if self.member is None else f"{self.path}!{self.member}"

    @property
    def standing(self) -> tuple[Finding, ...]:
        """The findings that no baseline and no ignore accepts."""
        return tuple(f for f in self.findings if not f.suppressed)


class Container(Struct, frozen=True):
    """A wheel, package or archive of the run: what it declares, and its members' verdicts rolled up.

    Attributes:
        kind: `wheel`, `sdist`, `conda`, `archive` or `installed`.
        name, version: of the distribution, as its metadata has them.
        tags: compatibility tags of a wheel's file name, expanded; metadata_tags: of its WHEEL file, as they stand.
        requires_dist: requirements as they stand; requires_torch: those of them on torch.
        verdict: of all members: fails if one fails, else undecided if one is, else loads if one does.
        artifacts: `ArtifactReport.display` of its members, sorted.
        requires_python: specifier of the Pythons that an installer admits, as it stands; None where none is declared.
        applicable_torch: those of `requires_torch` whose marker holds, without extras, on a Python that it is for.
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


class InputError(Struct, frozen=True):
    """A target, or a member of one, that could not be read: a line in the report, never silence."""

    path: str
    message: str


class Verdict(enum.StrEnum):
    """The gate's answer for a run; `cli` maps it to the exit status 0, 1, 3."""

    PASS = "pass"
    FAIL = "fail"
    INCOMPLETE = "incomplete"


class StaleEntry(Struct, frozen=True):
    """A baseline or ignore entry that matches nothing any more."""

    source: str
    entry: str
    fails: bool


ImportsShown = Literal["all", "unresolved"]

SCHEMA_VERSION = 2
"""Of the JSON report (`data/report.schema.json`)."""


class Report(Struct, frozen=True):
    """One run.

    Attributes:
        rules: every rule that the run could have fired, for formats that list them.
        cause_pages: the page of each cause that an artifact has.
        containers: the wheels, packages and archives that artifacts are members of, by path.
        notes: sentences about the run as a whole (several torches on the path, no GNU demangler here).
        fail_on: the lowest severity that fails the run, by the gate's policy; None for none.
        root: the directory whose file system was looked at (`--root`), as the user wrote it: paths are those of that
            system; None for this machine's own.
        accepted: displays and paths of what could not be read or decided, where an ignore accepts that.
        imports_shown: which imports a format that has them all lists; counts are of all.
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

    def failing(self, finding: Finding) -> bool:
        """Whether this finding fails the run."""
        return not finding.suppressed and finding.severity.at_least(self.fail_on)
