"""Literal inputs of comparisons."""

from __future__ import annotations

from abiscan.inputs.distributions import Distribution
from abiscan.inputs.packages import InstalledPackage
from abiscan.model.compatibility import BuildOfTorch, Compatibility, Floor
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict


def builds(**works: str) -> tuple[BuildOfTorch, ...]:
    """`builds(v2_4="", v2_5="symbols added later")`: releases with the reason why they fail; empty if they load."""
    return tuple(
        BuildOfTorch(f"{name[1:].replace('_', '.')}.0", "cu121", not reason, reason) for name, reason in works.items()
    )


def reach(
    torch: tuple[BuildOfTorch, ...] | None = None,
    pythons: tuple[str, ...] | None = None,
    gpus: tuple[str, ...] | None = None,
    *floors: Floor,
    machines: tuple[str, ...] = ("x86_64",),
    cuda: tuple[str, ...] = (),
) -> Compatibility:
    return Compatibility(machines, torch, pythons, gpus, floors, cuda, gpus or ())


def floor(part: str, *version: int) -> Floor:
    return Floor(part, version, "who asks")


def report(path: str, verdict: ArtifactVerdict = ArtifactVerdict.LOADS) -> ArtifactReport:
    return ArtifactReport(path, None, ArtifactKind.SHARED_OBJECT, 1, "x86_64", verdict)


def distribution(name: str, *requires: str, from_source: bool = False) -> Distribution:
    package = InstalledPackage(name, "/site-packages", f"{name}-1.0.dist-info", ())
    return Distribution(name, "1.0", package, requires, (), from_source)
