"""The wheels, packages and archives of a run on the page, each with its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from abiscan.model.compat_report import CompatReport
from abiscan.model.compatibility import Compared, loading_releases, ranges_of
from abiscan.model.outcome import BAD, container_outcome, outcome_of
from abiscan.model.platforms import loading_words
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container, Report
from abiscan.model.versions import ReleaseRanges
from abiscan.model.words import natural_order
from abiscan.report.html.file_view import ranges_words
from abiscan.report.html.heat_map import declared_of
from abiscan.report.html.values import FileView, WheelView
from abiscan.report.summary import failure_reason
from abiscan.report.wording import machines_of, requirement_words, system_words, verdict_words


class WheelUnit(Struct, frozen=True):
    """A wheel, package or archive with the numbers of its files, or a single file."""

    container: Container | None
    target: Compared | None
    files: tuple[int, ...]

    def path(self, artifacts: Sequence[ArtifactReport]) -> str:
        """The path of the container, or of the single file."""
        return artifacts[self.files[0]].display if self.container is None else self.container.path


def units_of(report: Report, artifacts: Sequence[ArtifactReport], together: CompatReport | None) -> list[WheelUnit]:
    reach = {} if together is None else {target.path: target for target in together.inputs}
    owner = {display: place for place, container in enumerate(report.containers) for display in container.artifacts}
    members: list[list[int]] = [[] for _ in report.containers]
    loose: list[int] = []
    for number, artifact in enumerate(artifacts):
        place = owner.get(artifact.display)
        (loose if place is None else members[place]).append(number)
    units = [
        WheelUnit(container, reach.get(container.path), tuple(inside))
        for container, inside in zip(report.containers, members, strict=True)
    ]
    units.sort(key=lambda unit: natural_order(unit.container.path.rpartition("/")[2].lower() if unit.container else ""))
    return units + [WheelUnit(None, reach.get(artifacts[number].display), (number,)) for number in loose]


def wheel_view(
    number: int,
    report: Report,
    unit: WheelUnit,
    artifacts: Sequence[ArtifactReport],
    files: Sequence[FileView],
    *,
    anchor: str,
) -> WheelView:
    inside = [files[n] for n in unit.files]
    container = unit.container
    outcomes = {artifacts[n].display: outcome_of(artifacts[n], report.fail_on, report.accepted) for n in unit.files}
    machines = machines_of(artifacts[n] for n in unit.files)
    if container is None:
        (only,) = inside
        (outcome,) = outcomes.values()
        word, reason = verdict_words(outcome, machines), _reason([artifacts[n] for n in unit.files]) if only.bad else ""
        return WheelView(number, anchor, "", only.display, outcome.value, word, only.bad, reason, (only,))
    unread = tuple((error.path, error.message) for error in report.errors_in(container.path))
    outcome = container_outcome(container, report, outcomes)
    bad = outcome in BAD
    file_name = container.path.rpartition("/")[2]
    concerned = [f for f in inside if f.verdict != ArtifactVerdict.NOT_TORCH.value or f.bad]
    return WheelView(
        number=number,
        anchor=anchor,
        title=f"{container.name} {container.version}" if container.name and container.version else file_name,
        path=container.path,
        verdict=outcome.value,
        word=verdict_words(outcome, machines),
        bad=bad,
        reason=_reason([artifacts[n] for n in unit.files if files[n].bad]) if bad else "",
        line=" · ".join(filter(None, _line(container, artifacts, unit))),
        facts=tuple(fact for fact in _wheel_facts(unit, container, machines) if fact[1]),
        target=tuple(f for f in inside[0].target if all(f in file.target for file in inside)) if inside else (),
        requirements=tuple(r for r in container.requires_dist if r not in container.requires_torch),
        files=tuple(concerned + [f for f in inside if f not in concerned]),
        plain=len(inside) - len(concerned),
        unread=unread,
    )


def _reason(bad: Sequence[ArtifactReport]) -> str:
    """The reason of the first failing file."""
    failing = [a for a in bad if a.verdict is ArtifactVerdict.FAILS]
    if failing:
        return failure_reason(failing[0])[0]
    messages = [f.message for a in bad for f in a.standing]
    return messages[0].split("\n")[0] if messages else ""


def _line(container: Container, artifacts: Sequence[ArtifactReport], unit: WheelUnit) -> Iterator[str]:
    """What distinguishes it from similar ones: `cp311`, `x86_64`."""
    interpreters = dict.fromkeys(tag.split("-")[0] for tag in container.tags)
    abis = dict.fromkeys(tag.split("-")[1] for tag in container.tags if tag.count("-") >= 2)
    yield "-".join([".".join(list(interpreters)[:3]), *(abi for abi in abis if abi == "abi3" or abi.endswith("t"))])
    if len({a.machine for a in artifacts if a.machine is not None}) > 1:
        yield "/".join(dict.fromkeys(m for n in unit.files if (m := artifacts[n].machine)))


def _wheel_facts(unit: WheelUnit, container: Container, machines: Sequence[str]) -> list[tuple[str, str]]:
    builds = unit.target.compatibility.torch if unit.target is not None else None
    facts = []
    tags = container.metadata_tags
    if builds:
        loads, declared = loading_releases(builds), declared_of(builds)
        facts.append((f"{loading_words(machines).clause} on torch", loads))
        if declared is not None:
            facts.append(("Requires-Dist allows torch", ranges_words(declared)))
            facts.append(
                ("admitted, and does not work there", ranges_words(refused_by(unit)) if refused_by(unit) else "")
            )
    facts += [
        ("requires torch", _required(container)),
        ("Requires-Python", container.requires_python or ""),
        ("tags", ", ".join(container.tags)),
        ("tags in its metadata", "" if set(tags) == set(container.tags) else ", ".join(tags)),
        ("kind", container.kind),
        ("file", container.path),
    ]
    if unit.target is not None:
        facts.append(("system", system_words(unit.target.compatibility)))
    return facts


def _required(container: Container) -> str:
    if container.applicable_torch:
        return requirement_words(container.applicable_torch)
    if container.requires_torch:
        return f"nothing without extras, on its Pythons; declared: {requirement_words(container.requires_torch)}"
    return "no requirement is declared"


def refused_by(unit: WheelUnit) -> ReleaseRanges:
    """The releases that the requirement allows and that it does not load on."""
    builds = (unit.target.compatibility.torch if unit.target is not None else None) or ()
    good = {build.torch for build in builds if build.compatible}
    return ranges_of(builds, lambda build: build.admitted is True and build.torch not in good)
