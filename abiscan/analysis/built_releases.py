"""Builds of the index for a target or a release."""

from __future__ import annotations

from abiscan.model.target import TorchBuild, TorchKind
from abiscan.releases import Build, ReleaseIndex


def build_of(target: TorchBuild, machine: str, index: ReleaseIndex) -> Build | None:
    """The build of the index that is the target; None if the index does not have it (source build, nightly)."""
    same = [b for b in index.builds(machine) if b.torch == target.version]
    if target.kind is not TorchKind.RELEASE and target.git_revision is not None:
        same = [b for b in same if b.git_revision == target.git_revision]
    exact = [b for b in same if b.variant == target.variant]
    return next(iter(exact or same), None)


def newest_of(release: str | None, machine: str, index: ReleaseIndex) -> Build | None:
    """The newest build of a release given as `2.13` or `2.13.0`."""
    if release is None:
        return None
    builds = [b for b in index.builds(machine) if f"{b.torch}.".startswith(f"{release}.")]
    return builds[-1] if builds else None
