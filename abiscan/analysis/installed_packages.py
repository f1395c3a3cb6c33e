"""Scan of the packages of an environment, one after the other. Only what the caller selects is kept of each file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.executors import in_children, in_process
from abiscan.analysis.run import stream
from abiscan.analysis.scan_options import ScanOptions
from abiscan.inputs.distributions import Distribution
from abiscan.inputs.expand import INSTALLED
from abiscan.model.report import ArtifactKind, ArtifactReport, Container, InputError

Kept = TypeVar("Kept")


def scan_packages(
    packages: Sequence[Distribution], options: ScanOptions, keep: Callable[[ArtifactReport], Kept], jobs: int
) -> tuple[dict[str, list[Kept]], tuple[InputError, ...]]:
    """Scan all installed packages: distribution name -> selected results of its shared objects, and the read errors.

    Raises:
        UnknownBuild: `--torch` names no torch.
    """
    owners: dict[str, str] = {}
    found: dict[str, list[Kept]] = {package.name: [] for package in packages}
    by_folder = {package.package.dist_info or "": package.name for package in packages}
    errors = []
    executor = in_process if jobs == 1 else in_children(jobs)
    # By directory: the name in METADATA may be any text.
    targets = [f"{INSTALLED}{package.package.name}" for package in packages]
    for item in stream(targets, AnalysisContext(options), jobs=jobs, executor=executor):
        if isinstance(item, Container):
            owner = by_folder.get(item.path.rpartition("/")[2])
            owners |= dict.fromkeys(item.artifacts, owner or "")
        elif isinstance(item, ArtifactReport) and item.kind is ArtifactKind.SHARED_OBJECT:
            found.setdefault(owners.get(item.display, ""), []).append(keep(item))
        elif isinstance(item, InputError):
            errors.append(item)
    found.pop("", None)
    return found, tuple(errors)
