"""A wheel and its members for the rules about wheels, as literal values."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.model.facts import Import, SymbolBinding, SymbolType, VersionNeed, Visibility
from abiscan.model.imports import CheckedImport, DemangledBy, Owner, Status
from abiscan.model.provenance import Provenance
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict, Container
from abiscan.model.versions import ReleaseRanges, Span
from abiscan.releases import open_index
from abiscan.wheel.container_facts import ContainerKind

CP311 = "cp311-cp311-manylinux_2_28_x86_64"
KNOWN = tuple(dict.fromkeys(build.torch for build in open_index().builds("x86_64")))
WHEEL = "dist/pkg-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
ALL = ReleaseRanges(((KNOWN[0], KNOWN[-1]),))


def imported(name: str, version: str | None = None, library: str = "libc.so.6", weak: bool = False) -> CheckedImport:
    need = VersionNeed(library, version, weak) if version is not None else None
    symbol = Import(name, SymbolBinding.GLOBAL, SymbolType.FUNC, Visibility.DEFAULT, need, True, 1)
    owner = Owner.PYTHON if name.startswith(("Py", "_Py")) else Owner.LIBC
    return CheckedImport(symbol, None, DemangledBy.NONE, owner, Status.RESOLVED, None)


def member(
    name: str,
    *imports: CheckedImport,
    torch_releases: Sequence[Span] | None = None,
    machine: str = "x86_64",
    verdict: ArtifactVerdict = ArtifactVerdict.LOADS,
    path: str = WHEEL,
    is_module: bool = True,
) -> ArtifactReport:
    return ArtifactReport(
        path,
        name,
        ArtifactKind.SHARED_OBJECT,
        1,
        machine,
        verdict,
        imports=imports,
        is_module=is_module,
        provenance=Provenance(torch_releases=None if torch_releases is None else ReleaseRanges(torch_releases)),
    )


def container(tag: str, *requires: str, metadata: tuple[str, ...] | None = None) -> Container:
    pythons, rest = tag.split("-", 1)
    tags = tuple(f"{python}-{rest}" for python in pythons.split("."))
    return Container(
        path=WHEEL,
        kind=ContainerKind.WHEEL.value,
        name="pkg",
        version="1.0",
        tags=tags,
        metadata_tags=tags if metadata is None else metadata,
        requires_dist=requires,
        requires_torch=tuple(line for line in requires if line.startswith("torch")),
        verdict=ArtifactVerdict.UNDECIDED,
        artifacts=(),
    )
