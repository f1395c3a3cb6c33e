"""Converts the paths of a report to those of the repository that a CI server checked out."""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec.structs import replace

from abiscan.model.finding import Finding
from abiscan.model.report import Report


def with_repository_paths(report: Report, repository: str, directory: str, exists: Callable[[str], bool]) -> Report:
    """The report with repository-relative paths for files in it.

    Args:
        report: with paths relative to `directory`, or absolute.
        repository, directory: absolute paths.
        exists: whether a file exists: line tables name files of the build machine.
    """

    def moved(path: str) -> str:
        file, mark, member = path.partition("!")
        absolute = os.path.normpath(os.path.join(directory, file))
        if not absolute.startswith(os.path.join(repository, "")) or not exists(absolute):
            return path
        return f"{os.path.relpath(absolute, repository)}{mark}{member}"

    def finding_moved(finding: Finding) -> Finding:
        places = tuple(
            each if each.file is None else replace(each, file=moved(each.file)) for each in finding.locations
        )
        return replace(finding, locations=places)

    artifacts = tuple(
        replace(each, path=moved(each.path), findings=tuple(finding_moved(finding) for finding in each.findings))
        for each in report.artifacts
    )
    errors = tuple(replace(each, path=moved(each.path)) for each in report.errors)
    return replace(report, artifacts=artifacts, errors=errors, accepted=tuple(moved(each) for each in report.accepted))
