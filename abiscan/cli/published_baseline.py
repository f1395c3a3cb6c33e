"""`--baseline-release`: the wheels of a published release that have the tags of the scanned wheels."""

from __future__ import annotations

import os

from abiscan.cli.command_line import CommandLine
from abiscan.cli.fetched import fetch_for_tags, local_targets
from abiscan.errors import UsageError
from abiscan.model.report import Report
from abiscan.model.versions import is_version
from abiscan.wheel.requirement_lines import normal_name

LATEST = "latest"


def release_wheels(release: str, report: Report, line: CommandLine) -> tuple[list[str], str]:
    """The paths of the fetched wheels, without duplicates, and their names.

    Args:
        release: `NAME==VERSION`, `VERSION`, or `latest` for the newest release before that of each wheel.
        report: of the scan; its wheels have the tags, and the name unless `release` has one.

    Raises:
        UsageError: no such release, or no wheel among the inputs to take the name from.
        AbiscanError: the server does not answer.
    """
    option = f"--baseline-release {release}"
    if line.root is not None:
        raise UsageError(f"{option}: nothing is fetched with --root")
    name, equals, version = release.partition("==")
    if not equals:
        name, version = "", release
    if version != LATEST and not is_version(version):
        raise UsageError(f"{option}: use NAME==VERSION, VERSION or latest")
    wheels = [each for each in report.containers if each.kind == "wheel" and each.name is not None]
    if name:
        wheels = [each for each in wheels if normal_name(each.name or "") == normal_name(name)]
        if not wheels and version != LATEST:
            paths = local_targets([release], line)
            return paths, os.path.basename(paths[0])
    if not wheels:
        raise UsageError(f"{option}: no wheel {f'of {name} ' if name else ''}among the inputs: use NAME==VERSION")
    machines = {artifact.display: artifact.machine for artifact in report.artifacts}
    fetched: dict[str, None] = {}
    for wheel in wheels:
        older = f"<{wheel.version}" if version == LATEST else f"=={version}"
        machine = next(filter(None, map(machines.get, wheel.artifacts)), None)
        if machine is None:
            raise UsageError(f"{wheel.path}: no shared object in it: there is nothing to compare with a release")
        fetched[fetch_for_tags(f"{wheel.name}{older}", wheel.tags, machine, quiet=line.quiet)] = None
    return list(fetched), ", ".join(map(os.path.basename, fetched))
