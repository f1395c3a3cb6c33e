"""Merge of the results of batches: a container is checked after its last member, then the report is made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan import __version__
from abiscan.analysis.batches import BatchEnd, OpenedContainer, Scanned, ScannedArtifact
from abiscan.model.finding import RuleInfo
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container, InputError, Report
from abiscan.model.target import TorchBuild
from abiscan.model.versions import order

if TYPE_CHECKING:
    from abiscan.model.cause_page import CausePage

Versions = Callable[[str], Sequence[str]]
"""Architecture -> public versions of the known torch builds for it, oldest first."""
Finished = Container | ArtifactReport | InputError | BatchEnd


class ScanInterrupted(KeyboardInterrupt):
    """Ctrl-C, with the report so far, without unfinished containers."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


class _Open:
    """A container with the reports of its finished members."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.waiting = set(container.artifacts)
        self.reports: list[ArtifactReport] = []

    def finish(self, versions: Versions) -> Iterator[Container | ArtifactReport]:
        from abiscan.analysis.containers import finish_container  # a file by itself is in none

        return finish_container(self.container, self.reports, versions)


def finish_containers(scanned: Iterable[Scanned], versions: Versions) -> Iterator[Finished]:
    """The stream, with the verdict of each container after its last member. Only members of unfinished containers are
    held back."""
    containers: dict[str, _Open] = {}
    for item in scanned:
        if isinstance(item, OpenedContainer):
            containers.setdefault(item.container.path, _Open(item.container))
        elif isinstance(item, ScannedArtifact):
            found = containers.get(item.container) if item.container is not None else None
            if found is None:
                yield from item.reports
                continue
            found.reports += item.reports
            found.waiting.discard(item.display)
            if not found.waiting:
                del containers[found.container.path]
                yield from found.finish(versions)
        else:
            yield item
    # A member that two inputs share comes once in a run, so its second container stays unfinished.
    for found in containers.values():
        yield from found.finish(versions)


def merge(items: Iterable[Finished], rules: Sequence[RuleInfo], root: str | None = None) -> Report:
    """The report of all items, sorted independently of the order of batches.

    Args:
        rules: all rules that were applied.
        root: `Report.root`.

    Raises:
        ScanInterrupted: Ctrl-C before the last item.
    """
    artifacts: list[ArtifactReport] = []
    containers: list[Container] = []
    errors: list[InputError] = []
    ends: list[BatchEnd] = []
    interrupted = False
    try:
        for item in items:
            match item:
                case ArtifactReport():
                    artifacts.append(item)
                case Container():
                    containers.append(item)
                case InputError():
                    errors.append(item)
                case BatchEnd():
                    ends.append(item)
    except KeyboardInterrupt:
        interrupted = True
        if isinstance(items, Generator):
            items.close()  # ends the processes
    own = [a for a in artifacts if a.target is not None and a.verdict is not ArtifactVerdict.NOT_TORCH]
    silent = sum(end.silent_sources for end in ends)
    within = (f"{root} is the root of the file system: paths and `this machine` refer to it",) if root else ()
    unlisted = (f"{silent} source file{'s' if silent > 1 else ''} without a finding",) if silent else ()
    torch_build, of_torch = _run_torch(ends[0].target if ends else None, own)
    of_files = _notes_on_files(artifacts, containers)
    of_batches = (note for end in ends for note in end.notes)
    report = Report(
        version=__version__,
        torch_build=torch_build,
        artifacts=tuple(sorted(artifacts, key=lambda a: (a.path, a.member or ""))),
        errors=tuple(sorted(set(errors), key=lambda e: (e.path, e.message))),
        rules=tuple(rules),
        notes=tuple(dict.fromkeys((*within, *of_torch, *of_files, *unlisted, *of_batches))),
        containers=tuple(sorted(containers, key=lambda c: c.path)),
        root=root,
        cause_pages=_cause_pages(artifacts),
        silent_sources=silent,
    )
    if interrupted:
        raise ScanInterrupted(report)
    return report


def _notes_on_files(artifacts: Sequence[ArtifactReport], containers: Sequence[Container]) -> Iterator[str]:
    """What the files show together: operators, sources for HIP, differences between platforms."""
    if any(artifact.operators or artifact.called for artifact in artifacts):
        from abiscan.analysis.operator_notes import operator_notes

        yield from operator_notes(artifacts, containers)
    yield from hip_notes(artifacts)
    if len({artifact.machine for artifact in artifacts}) > 1:
        from abiscan.model.platform_differences import platform_differences

        yield from platform_differences(containers, artifacts)


def _cause_pages(artifacts: Iterable[ArtifactReport]) -> tuple[CausePage, ...]:
    causes = {group.cause for artifact in artifacts for group in artifact.causes}
    if not causes:
        return ()
    # Most runs have none.
    from abiscan.diagnosis.catalogue.cause_catalogue import cause_pages

    return cause_pages(causes)


def _run_torch(default: TorchBuild | None, own: Sequence[ArtifactReport]) -> tuple[TorchBuild | None, tuple[str, ...]]:
    """The torch of the run as a whole, and notes if its files are checked against several.

    Args:
        default: the torch of files that declare none.
        own: the files that use torch.
    """
    counts = Counter(a.torch_build for a in own if a.torch_build is not None)
    plain = None if default is None else replace(default, note=None, python=None)
    undeclared = (a for a in own if a.torch_build == plain)
    if default is not None and not any(a.target and a.target.takes_the_torch_of_the_run for a in undeclared):
        default = replace(default, note=None)  # it is about files that declare nothing
    if not counts or (plain in counts and len(counts) == 1):
        return default, ()
    if len(counts) == 1:
        return next(iter(counts)), ()
    listed = sorted({target.label for target in counts}, key=lambda text: (order(text) or (), text))
    if len(listed) == 1:
        return default, ()  # one release, for several architectures
    chosen = sorted({a.target.torch_words for a in own if a.target is not None and a.torch_build is not None})
    note = f"each file is checked against {', or '.join(chosen)}: {', '.join(listed)} (details: -v)"
    return default, (note,)


# Below the root of an archive of sources: `torch_scatter-2.1.2/csrc/cuda/utils.cuh`.
_OF_RELEASE = r"(?:^|[/!])([A-Za-z]\w{0,63})-(\d[\w.]{0,31})/(?:[^/]{1,255}/){0,8}[^/]{1,255}$"


def hip_notes(artifacts: Iterable[ArtifactReport]) -> Iterator[str]:
    """A note for each release with known device code: which sources to build with HIP instead."""
    paths = (artifact.member or artifact.path for artifact in artifacts)
    found = (re.search(_OF_RELEASE, path) for path in paths if path.endswith((".cu", ".cuh")))
    releases = {each.groups() for each in found if each is not None}
    if not releases:
        return
    from abiscan.diagnosis.fixes.hip_sources import hip_note

    for name, version in sorted(releases):
        note = hip_note(name.replace("_", "-").lower(), version)
        if note is not None:
            yield note
