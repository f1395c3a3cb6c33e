"""Wheels of one release of a package for several platforms that load on different releases of torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from abiscan.model.platforms import platform_of
from abiscan.model.report import ArtifactReport, Container
from abiscan.model.versions import ReleaseRanges, order

# Packages that notes name.
_MOST_NOTES = 8


def platform_differences(containers: Sequence[Container], artifacts: Sequence[ArtifactReport]) -> Iterator[str]:
    """One sentence for each package whose wheels differ."""
    reports = {artifact.display: artifact for artifact in artifacts}
    releases: dict[tuple[str, str], dict[str, dict[str, frozenset[str]]]] = {}
    for container in containers:
        inside = [reports[each] for each in container.artifacts if each in reports]
        machines = {each.machine for each in inside if each.loads_on is not None and each.machine is not None}
        if container.name is None or container.version is None or len(machines) != 1:
            continue
        (machine,) = machines
        loads = frozenset.intersection(*(frozenset(each.loads_on) for each in inside if each.loads_on is not None))
        for_platform = releases.setdefault((container.name, container.version), {}).setdefault(machine, {})
        for_platform[container.path] = loads
    told = 0
    for (name, version), by_machine in sorted(releases.items()):
        # The wheels of one platform, each for a Python, count together.
        on = {machine: frozenset[str]().union(*wheels.values()) for machine, wheels in by_machine.items()}
        if len(set(on.values())) > 1 and told < _MOST_NOTES:
            told += 1
            words = "; ".join(f"{platform_of(machine).shown}: {_words(on[machine])}" for machine in sorted(on))
            yield f"{name} {version} loads on other releases of torch on each platform: {words}"


def _words(loads: frozenset[str]) -> str:
    known = sorted(loads, key=lambda release: order(release) or ())
    return ReleaseRanges.of_known(dict.fromkeys(known, True), loads.__contains__).text() if known else "none"
