"""Advice of an explanation to install a torch, restricted to the releases on which the package of the file loads."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from msgspec.structs import replace

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.diagnosis.fixes.file_package import distribution_of_file, import_of_file
from abiscan.diagnosis.fixes.torch_ranges import INSTALL, restrict_releases
from abiscan.environment.owning_environment import owning_environment
from abiscan.errors import AbiscanError
from abiscan.inputs.expand import INSTALLED
from abiscan.model.report import ArtifactReport
from abiscan.model.subject import Subject
from abiscan.releases.pythons import installable
from abiscan.target.package_builds import verified_releases
from abiscan.target.run_torch import FALLBACK_MACHINE


def with_verified_advice(
    subjects: Sequence[Subject], paths: Sequence[str], options: ScanOptions
) -> tuple[Subject, ...]:
    """The subjects without fixes that advise a torch on which their file, or another file of its package, does not
    load: a release that exports one symbol may lack the next one.

    Args:
        paths: absolute, of the file of each subject on this machine; empty for none.
    """

    found: dict[str, tuple[Sequence[str], frozenset[str] | None]] = {}

    def restricted(subject: Subject, path: str) -> Subject:
        advised = any(re.search(INSTALL, cause.fix) for cause in subject.causes)
        if not path or not advised or distribution_of_file(path) == "torch":
            return subject
        name = import_of_file(path)
        if (name or path) not in found:
            found[name or path] = _verified(path, name, options)
        known, verified = found[name or path]
        if verified is None:
            return subject
        fixes = (restrict_releases(cause.fix, known, verified.__contains__) for cause in subject.causes)
        causes = (replace(cause, fix=fix) for cause, fix in zip(subject.causes, fixes, strict=True))
        return replace(subject, causes=tuple(causes))

    return tuple(map(restricted, subjects, paths))


def _verified(path: str, name: str | None, options: ScanOptions) -> tuple[Sequence[str], frozenset[str] | None]:
    """The known releases, and those on which the package of a file loads and which have wheels for its Python; None if
    they are unknown."""
    environment = owning_environment(path, options.environment)
    within = replace(options, environment=environment, matrix=True)
    members = _members(path, name, within)
    verified = verified_releases(members)
    if verified is None:
        return (), None
    known = AnalysisContext(within).known_versions(members[0].machine or FALLBACK_MACHINE)
    if environment is not None and environment.version is not None:
        verified = verified.intersection(installable(known, environment.version))
    return known, verified


def _members(path: str, name: str | None, options: ScanOptions) -> Sequence[ArtifactReport]:
    """The reports of the installed package with the file, or else of the file alone; empty if it cannot be read."""
    for target in (path,) if name is None else (f"{INSTALLED}{name}", path):
        try:
            found = scan([target], options).artifacts
        except AbiscanError:
            continue
        places = (os.path.join(options.settings.cwd, each.path) for each in found)
        real = options.settings.files.real
        if real(path) in map(real, places):
            return found
    return ()
