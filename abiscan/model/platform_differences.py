"""Wheels of one release of a package for several platforms that load on different releases of torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from abiscan.model.platforms import platform_of
from abiscan.model.report import ArtifactReport, Container
from abiscan.model.versions import ReleaseRanges, order

# Packages that notes name.
_MOST_NOTES = 8


LoadsOn = dict[str, frozenset[str]]
"""Platform -> releases of torch."""


def platform_differences(containers: Sequence[Container], artifacts: Sequence[ArtifactReport]) -> Iterator[str]:
    """One sentence for each package whose wheels differ."""
    for (name, version), on in list(differing_packages(containers, artifacts).items())[:_MOST_NOTES]:
        words = "; ".join(f"{platform_of(machine).shown}: {_words(on[machine])}" for machine in sorted(on))
        yield f"{name} {version}: the compatible torch releases differ by platform: {words}"


def differing_packages(
    containers: Iterable[Container], artifacts: Sequence[ArtifactReport]
) -> dict[tuple[str, str], LoadsOn]:
    """The packages whose wheels differ, by name and version, sorted."""
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
    # The wheels of one platform, each for a Python, count together.
    found = {
        package: {machine: frozenset[str]().union(*wheels.values()) for machine, wheels in by_machine.items()}
        for package, by_machine in sorted(releases.items())
    }
    return {package: on for package, on in found.items() if len(set(on.values())) > 1}


def _words(loads: frozenset[str]) -> str:
    known = sorted(loads, key=lambda release: order(release) or ())
    return ReleaseRanges.of_known(dict.fromkeys(known, True), loads.__contains__).text() if known else "none"
