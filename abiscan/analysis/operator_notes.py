"""Notes on the operators of several files of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from abiscan.model.cause import Confidence
from abiscan.model.report import ArtifactReport, Container
from abiscan.model.words import shortened
from abiscan.target.package_builds import module_of
from abiscan.wheel.requirement_lines import normal_name

# Notes on operators that several files define; files named in one note.
_MOST_NOTES = 3
# Operators that a model calls, named in one sentence.
_MOST_NAMES = 8


def operator_notes(artifacts: Sequence[ArtifactReport], containers: Iterable[Container]) -> Iterator[str]:
    """Notes on operators that several files define, and on those that AOTInductor models call by name."""
    yield from _defined_twice(artifacts, containers)
    yield from _called_by_name(artifacts)


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
