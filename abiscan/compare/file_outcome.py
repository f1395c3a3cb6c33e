"""Outcomes of installed shared objects and packages with a torch."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.model.cause import CauseId
from abiscan.model.environment_report import NO_RELEASE, PackageOutcome, PackageState, on_releases
from abiscan.model.finding import Severity
from abiscan.model.loading import NeededLibrary, StopKind
from abiscan.model.release import ReleaseState, best_releases
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.model.target import TorchKind
from abiscan.model.versions import ReleaseRanges
from abiscan.model.words import shortened
from abiscan.ownership.gpu_libraries import is_driver
from abiscan.target.build_names import names_release, release_in_name
from abiscan.target.package_builds import module_of, of_named_release, package_states, supported_releases


class FileOutcome(Struct, frozen=True):
    """The outcome of one file.

    Attributes:
        package_path: path in its package.
        module: the module that it is a build of (`module_of`).
        why: why it does not load, as a sentence; empty if it loads or is undecided.
        uses_torch: it imports symbols of torch.
        for_another: its name or folder declares another torch, CUDA or ROCm, or its package loads another build of
            its module.
        without_driver: it fails only because the GPU driver is missing.
        releases: (public version, outcome of the file) for each known build of torch.
        path: of the file. `needed` has the results of the library search.
        lacks_gpu: it fails only because torch is no GPU build, or ships another CUDA or ROCm.
        opened_by: name of the loading file of its package that opens it at run time, by its name; empty for none.
        caught_by: the Python source of its package that continues without it (`optional_files`); empty for none.
    """

    package_path: str
    module: str
    path: str
    verdict: ArtifactVerdict
    why: str
    uses_torch: bool
    for_another: bool
    without_driver: bool
    releases: tuple[tuple[str, ReleaseState], ...]
    needed: tuple[NeededLibrary, ...]
    lacks_gpu: bool = False
    opened_by: str = ""
    caught_by: str = ""

    @property
    def is_optional(self) -> bool:
        """Whether its package loads without it."""
        return bool(self.opened_by or self.caught_by)

    @property
    def loading_states(self) -> dict[str, ReleaseState]:
        """The releases on which its package loads it, with the outcome on their best build."""
        found: dict[str, ReleaseState] = {}
        for version, state in of_named_release(self.package_path, self.releases):
            if state.fits and found.get(version) is not ReleaseState.LOADS:
                found[version] = state
        return found


# Causes of a file that fails only because of a GPU library.
_GPU_LACKS = ({CauseId.CUDA_BUILD_REQUIRED}, {CauseId.CUDA_LIBRARY_MISMATCH})


def find_file_outcome(report: ArtifactReport, *, installed: bool) -> FileOutcome:
    """The outcome of a report.

    Args:
        installed: the run is about the installed torch; a file that is checked against another torch is for that one.
    """
    build = report.torch_build
    named = build is not None and names_release(report.package_path, build.version) is False
    elsewhere = installed and build is not None and build.kind is not TorchKind.INSTALLED
    of_torch = report.provenance.abi not in (None, "none") or report.verdict is ArtifactVerdict.LOADS
    uses_torch = of_torch and report.verdict is not ArtifactVerdict.NOT_TORCH
    verdict = ArtifactVerdict.FAILS if _changed_layout(report) is not None else report.verdict
    return FileOutcome(
        package_path=report.package_path,
        module=module_of(report),
        path=report.path,
        verdict=ArtifactVerdict.LOADS if report.replaced_by is not None else verdict,
        why=_why(report),
        uses_torch=uses_torch,
        for_another=named or elsewhere or report.replaced_by is not None,
        without_driver=_lacks_driver(report),
        releases=tuple((release.torch, release.state) for release in report.releases or ()),
        needed=report.needed,
        lacks_gpu=report.verdict is ArtifactVerdict.FAILS and {cause.cause for cause in report.causes} in _GPU_LACKS,
    )


def after_upgrade(later: Sequence[FileOutcome], now: Sequence[FileOutcome]) -> list[FileOutcome]:
    """Outcomes with another torch. A library that is missing now, and that neither the release nor the package
    provides, stays missing. A file for another CUDA or ROCm that does not load on the new torch stays one.

    Args:
        now: the same files with the installed torch.
    """
    before = {file.path: file for file in now}
    # Only for the installed torch are libraries searched on this machine.
    absent = {n.soname for file in now if not file.for_another for n in file.needed if n.found is None}
    return [_after_upgrade(file, before.get(file.path), absent) for file in later]


def _after_upgrade(file: FileOutcome, earlier: FileOutcome | None, absent: Collection[str]) -> FileOutcome:
    missing = [n.soname for n in file.needed if n.found is None and n.soname in absent and not is_driver(n.soname)]
    why = file.why
    if missing and not why and file.verdict is ArtifactVerdict.LOADS:
        why = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not found"
    if earlier is None:
        return replace(file, why=why)
    unnamed = release_in_name(file.package_path) is None
    stays = earlier.for_another and unnamed and file.verdict is ArtifactVerdict.FAILS
    return replace(
        file,
        why=why,
        for_another=file.for_another or stays,
        releases=earlier.releases,
        without_driver=earlier.without_driver,
    )


def _changed_layout(report: ArtifactReport) -> str | None:
    """The first class with another layout than the one compiled in, as a sentence: the file loads, then crashes."""
    found = (f for f in report.findings if f.rule == "layout-drift" and f.severity is Severity.ERROR)
    return next((each.message.partition("; ")[0] for each in found), None)


def _why(report: ArtifactReport) -> str:
    if report.replaced_by is not None:
        return ""
    layout = _changed_layout(report)
    if layout is not None and report.verdict is not ArtifactVerdict.FAILS:
        return layout
    if report.verdict is ArtifactVerdict.FAILS:
        if report.causes:
            return report.causes[0].summary.rstrip(".")
        return report.loader.error or next(iter((*report.failure_reasons, *report.notes)), "undefined symbols")
    if report.loader.torch_fails:
        return ""  # reported once, for torch
    refusal = next((f for f in report.findings if f.rule == "loader-refuses"), None)
    return "" if refusal is None else refusal.message


def _lacks_driver(report: ArtifactReport) -> bool:
    stop = report.loader.stop
    absent = stop is not None and stop.kind is StopKind.LIBRARY_NOT_FOUND and is_driver(stop.object)
    return absent and not report.loader.torch_fails and not _why(report)


def find_package_outcome(files: Sequence[FileOutcome]) -> PackageOutcome:
    """The outcome of a package: symbols of torch and Python decide. If files only lack other libraries, the package
    loads partly, unless no file loads; the same if a loading file opens those that lack a GPU library, or if the Python
    code continues without those that fail."""
    checked = [file for file in files if not file.for_another]
    failing = [file for file in checked if file.verdict is ArtifactVerdict.FAILS and not file.is_optional]
    refused = [file for file in checked if file.why and file.verdict is not ArtifactVerdict.FAILS]
    open_files = [f for f in checked if f.verdict in (ArtifactVerdict.UNDECIDED, ArtifactVerdict.UNREADABLE)]
    builds = [file for file in files if file.for_another]
    # This includes files that fail because a library of theirs lacks one.
    absent = dict.fromkeys(n.soname for f in refused for n in f.needed if n.found is None and not is_driver(n.soname))
    refused += (file for file in checked if file.is_optional)
    if failing:
        absent = {}
    state, why = PackageState.NOT_TORCH, ""
    if failing or refused:
        none_loads = len(refused) == len(files) and not all(file.caught_by for file in refused)
        state = PackageState.FAILS if failing or none_loads else PackageState.PARTLY
        first = (failing or refused)[0]
        why = (
            f"not found on this machine: {shortened(list(absent))}" if absent else f"{first.package_path}: {first.why}"
        )
        if first.opened_by and not absent:
            why += f"; {first.opened_by} opens it at run time, and loads without it"
        elif first.caught_by and not absent:
            why += f"; {first.caught_by} loads it in a `try` statement and continues without it"
    elif any(file.uses_torch for file in builds) and not any(file.uses_torch for file in checked):
        state, why = (
            PackageState.UNDECIDED,
            f"none of its builds is for this torch: they load on {on_releases(loads_on(builds))}",
        )
    elif open_files:
        state, why = PackageState.UNDECIDED, f"{open_files[0].package_path}: cannot be decided"
    elif any(file.uses_torch for file in checked):
        state = PackageState.LOADS
    return PackageOutcome(
        state,
        len(failing) + len(refused),
        why,
        for_another=len(builds),
        without_driver=sum(file.without_driver for file in checked),
        absent=tuple(absent),
    )


def loads_on(files: Sequence[FileOutcome]) -> str:
    """The best releases on which all files that import torch load (`best_releases`); or one of several builds;
    empty without torch."""
    known = dict.fromkeys(version for file in files for version, _state in file.releases)
    if not any(file.uses_torch for file in files):
        return ""
    return ReleaseRanges.of_known(known, releases_of(files).__contains__).text(last=", ") or NO_RELEASE


def releases_of(files: Sequence[FileOutcome]) -> frozenset[str]:
    """The same as a set."""
    rows = [(file.module, file.loading_states) for file in files if file.uses_torch]
    rows = [(module, states) for module, states in rows if states]
    states = package_states(rows)
    on = supported_releases((module, frozenset(found)) for module, found in rows)[0]
    return best_releases((version, states.get(version, ReleaseState.LOADS)) for version in on)
