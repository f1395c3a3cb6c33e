"""Wording that several formats share, not escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from abiscan.model.finding import Finding, Location
from abiscan.model.outcome import GateOutcome
from abiscan.model.platforms import loading_words
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Verdict
from abiscan.model.target import TargetEnvironment, TorchKind
from abiscan.model.versions import ReleaseRanges

if TYPE_CHECKING:
    from abiscan.model.cause import CauseGroup
    from abiscan.model.compatibility import Compatibility

TARGET_KINDS = {TorchKind.INSTALLED: "installed", TorchKind.RELEASE: "released build", TorchKind.PATH: "by path"}


def verdict_words(verdict: ArtifactVerdict | GateOutcome | Verdict, machines: Iterable[str | None] = ()) -> str:
    """`loads`, `not torch`, `accepted`, `incomplete`; `resolves` for files of macOS.

    Args:
        machines: platforms of the files that have the verdict.
    """
    if verdict.value == ArtifactVerdict.LOADS.value:
        return loading_words(machines).one
    return verdict.value.replace("-", " ")


def machines_of(artifacts: Iterable[ArtifactReport]) -> tuple[str, ...]:
    """The platforms of the files that use torch."""
    users = (each for each in artifacts if each.verdict is not ArtifactVerdict.NOT_TORCH)
    return tuple(dict.fromkeys(each.machine for each in users if each.machine is not None))


def requirement_words(lines: Sequence[str]) -> str:
    """Requirements with their markers: `torch==2.4.0 if python_version < "3.12", torch>=2.6 if ...`."""
    parts = [line.partition(";") for line in lines]
    return ", ".join(f"{what.strip()} if {marker.strip()}" if marker else what for what, _, marker in parts)


def target_parts(target: TargetEnvironment) -> list[tuple[str, str]]:
    """(`torch`, `2.8.0+cu128 (Requires-Dist: torch==2.8.0)`) of each known part of a target environment."""
    parts = (("torch", target.torch), ("Python", target.python), ("GPU", target.gpu), ("system", target.platform))
    return [(name, f"{part.value} ({part.detected_from})") for name, part in parts if part is not None]


def readable_names(artifact: ArtifactReport) -> dict[str, str]:
    """Mangled name of each import -> its demangled name; the mangled name if no demangler accepts it."""
    return {b.name: b.demangled or b.name for b in artifact.imports}


def source_place(location: Location) -> str | None:
    """`csrc/ops.cpp:42 in f(at::Tensor)`; None for a location that is not in a source."""
    if location.file is None:
        return None
    line = f":{location.line}" if location.line is not None else ""
    return f"{location.file}{line}" + (f" in {location.function}" if location.function else "")


def place_words(location: Location) -> str:
    """`csrc/ops.cpp:42 in f`, or `f (file offset 0x1f0)` for a location in code; empty if neither is known."""
    where = source_place(location) or location.function or ""
    if location.file is not None or location.offset is None:
        return where
    return f"{where} (file offset {location.offset:#x})" if where else f"file offset {location.offset:#x}"


def source_location(finding: Finding) -> Location | None:
    """The first location in a source, which can be edited."""
    return next((location for location in finding.locations if location.file is not None), None)


def fixes_once(causes: Sequence[CauseGroup]) -> Iterator[tuple[CauseGroup, str]]:
    """Each cause with its fix; a fix that an earlier cause has is a reference to it."""
    first: dict[str, CauseGroup] = {}
    for group in causes:
        earlier = first.setdefault(group.fix, group)
        yield group, group.fix if earlier is group or not group.fix else f"Same fix as for: {earlier.summary}"


def ranges_words(ranges: ReleaseRanges) -> str:
    """`2.1.0-2.2.2, 2.12.0-2.15.0`; `no release` for none."""
    return ranges.text(last=", ") or "no release"


def python_words(versions: Sequence[str]) -> str:
    """`3.9-3.14, 3.13t` for sorted CPythons, with ranges of minor releases."""
    runs: list[list[str]] = []
    for flag in ("", "t"):
        last = None
        for version in (v for v in versions if v.endswith("t") == bool(flag)):
            minor = int(version.removesuffix("t").rpartition(".")[2])
            if last is not None and minor == last + 1:
                runs[-1][1:] = [version]
            else:
                runs.append([version])
            last = minor
    return ", ".join("-".join(run) for run in runs)


def system_words(reach: Compatibility) -> str:
    """Minimum versions of system libraries: `glibc 2.28, GLIBCXX 3.4.21`."""
    # CXXABI is numbered by the same library as GLIBCXX.
    parts = {floor.part for floor in reach.floors}
    return ", ".join(f.text for f in reach.floors if f.part != "CXXABI" or "GLIBCXX" not in parts)
