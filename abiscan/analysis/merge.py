"""Merge of the results of batches: a container is checked after its last member, then the report is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan import __version__
from abiscan.analysis.batches import BatchEnd, OpenedContainer, Scanned, ScannedArtifact
from abiscan.analysis.containers import finish_container
from abiscan.analysis.hip_notes import hip_notes
from abiscan.model.cause import Confidence
from abiscan.model.finding import RuleInfo
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container, InputError, Report
from abiscan.model.target import TorchBuild
from abiscan.model.versions import order
from abiscan.model.words import shortened
from abiscan.target.package_builds import module_of
from abiscan.wheel.requirement_lines import normal_name

if TYPE_CHECKING:
    from abiscan.model.cause_page import CausePage

Versions = Callable[[str], Sequence[str]]
"""Architecture -> public versions of the known torch builds for it, oldest first."""
Finished = Container | ArtifactReport | InputError | BatchEnd


# Notes on operators that several files define; files named in one note.
_MOST_NOTES = 3
# Operators that a model calls, named in one sentence.
_MOST_NAMES = 8


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
                yield from finish_container(found.container, found.reports, versions)
        else:
            yield item
    # A member that two inputs share comes once in a run, so its second container stays unfinished.
    for found in containers.values():
        yield from finish_container(found.container, found.reports, versions)


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
    torch_build, told = _run_torch(ends[0].target if ends else None, own)
    told = (*told, *_defined_twice(artifacts, containers), *_called_by_name(artifacts), *hip_notes(artifacts))
    if len({artifact.machine for artifact in artifacts}) > 1:
        from abiscan.model.platform_differences import platform_differences

        told = (*told, *platform_differences(containers, artifacts))
    report = Report(
        version=__version__,
        torch_build=torch_build,
        artifacts=tuple(sorted(artifacts, key=lambda a: (a.path, a.member or ""))),
        errors=tuple(sorted(set(errors), key=lambda e: (e.path, e.message))),
        rules=tuple(rules),
        notes=tuple(dict.fromkeys((*within, *told, *unlisted, *(note for end in ends for note in end.notes)))),
        containers=tuple(sorted(containers, key=lambda c: c.path)),
        root=root,
        cause_pages=_cause_pages(artifacts),
        silent_sources=silent,
    )
    if interrupted:
        raise ScanInterrupted(report)
    return report


def _cause_pages(artifacts: Iterable[ArtifactReport]) -> tuple[CausePage, ...]:
    causes = {group.cause for artifact in artifacts for group in artifact.causes}
    if not causes:
        return ()
    # Most runs have none.
    from abiscan.diagnosis.catalogue.cause_catalogue import cause_pages

    return cause_pages(causes)


def _defined_twice(artifacts: Iterable[ArtifactReport], containers: Iterable[Container]) -> tuple[str, ...]:
    """A note for each group of files that define the same operator: torch rejects the second one that is loaded
    (c10::Dispatcher::registerDef). Alternative builds of one module do not count, nor do wheels of one distribution, of
    which an environment has one."""
    wheels = {
        display: (normal_name(each.name) if each.name else each.path, each.path)
        for each in containers
        for display in each.artifacts
    }
    definers: dict[tuple[str, str], list[ArtifactReport]] = {}
    for artifact in artifacts:
        for operator in artifact.operators:
            if operator.defines and operator.confidence is not Confidence.LOW and "::" in operator.name:
                definers.setdefault((operator.name, operator.overload), []).append(artifact)
    shared: dict[tuple[str, ...], list[str]] = {}
    for (name, overload), defining in definers.items():
        projects: dict[str, dict[str, dict[str, str]]] = {}
        for artifact in defining if len(defining) > 1 else ():
            project, wheel = wheels.get(artifact.display, ("", ""))
            places = projects.setdefault(project, {}).setdefault(wheel, {})
            module = module_of(artifact)
            places.setdefault(module, artifact.display)
        # Of several wheels of a distribution, take the one with the most such files.
        files = sorted(f for each in projects.values() for f in max(each.values(), key=len).values())
        if len(files) > 1:
            shared.setdefault(tuple(files), []).append(f"{name}.{overload}" if overload else name)
    notes = []
    for group, names in sorted(shared.items())[:_MOST_NOTES]:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        # Files of one wheel are named without it.
        outside = {path.rpartition("!")[0] for path in group}
        within = f"{outside.pop()}: " if len(outside) == 1 and "" not in outside else ""
        shown = [path.rpartition("!")[2] if within else path for path in group[:_MOST_NOTES]]
        listed = ", ".join(shown) + (", ..." if len(group) > _MOST_NOTES else "")
        defined = f"{within}{len(group)} files define the operator {min(names)}{more}"
        notes.append(f"{defined}; a process can load only one: {listed}")
    if len(shared) > _MOST_NOTES:
        rest = len(shared) - _MOST_NOTES
        notes.append(f"{rest} more group{'s of files define' if rest > 1 else ' of files defines'} the same operators")
    return tuple(notes)


def _called_by_name(artifacts: Sequence[ArtifactReport]) -> Iterator[str]:
    """Notes for each AOTInductor model: the operators that it calls by name, and which of the checked files register
    them. A file may register an operator without a trace in its strings, so a missing one is not certain."""
    registering: dict[tuple[str, str], set[str]] = {}
    for artifact in artifacts:
        for operator in artifact.operators:
            if operator.defines is not False and operator.confidence is not Confidence.LOW:
                registering.setdefault((operator.name, operator.overload), set()).add(artifact.display)
    for artifact in artifacts:
        groups: dict[str, list[str]] = {}
        for each in artifact.called:
            files, bare = (
                sorted(registering.get((name, each.overload), ())) for name in (each.name, each.name.partition("::")[2])
            )
            version = (
                "the torch of the run" if artifact.torch_build is None else f"torch {artifact.torch_build.version}"
            )
            if each.in_torch is False:
                who = f"which {version} does not have: it cannot be loaded with that torch"
            elif each.in_torch:
                continue
            elif files:
                who = f"which {', '.join(files[:_MOST_NOTES])} {'registers' if len(files) == 1 else 'register'}"
            elif bare:
                who = f"which {', '.join(bare[:_MOST_NOTES])} may register: the namespace is not in the file"
            else:
                who = "which no scanned file registers: register it before the model is loaded"
            groups.setdefault(who, []).append(each.full_name)
        for who, names in sorted(groups.items()):
            yield f"{artifact.display} calls {shortened(names, _MOST_NAMES)} by name, {who}"


def _run_torch(default: TorchBuild | None, own: Sequence[ArtifactReport]) -> tuple[TorchBuild | None, tuple[str, ...]]:
    """The torch of the run as a whole, and notes if its files are checked against several.

    Args:
        default: the torch of files that declare none.
        own: the files that use torch.
    """
    counts = Counter(a.torch_build for a in own if a.torch_build is not None)
    plain = None if default is None else replace(default, note=None, python=None)
    if not counts or (plain in counts and len(counts) == 1):
        return default, ()
    if len(counts) == 1:
        return next(iter(counts)), ()
    listed = sorted({target.label for target in counts}, key=lambda text: (order(text) or (), text))
    chosen = sorted({a.target.torch_words for a in own if a.target is not None and a.torch_build is not None})
    note = f"files are checked against {', or '.join(chosen)}: {', '.join(listed)} (details: -v)"
    if default is not None and plain not in counts:
        # Its note is about files that declare nothing, and there are none.
        default = replace(default, note=None)
    return default, (note,)
