"""Properties of every format: the table, and work per file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from msgspec.structs import asdict, replace

from abiscan.errors import UsageError
from abiscan.gate import baseline
from abiscan.gate.apply import apply
from abiscan.gate.policy import Ignore, Policy
from abiscan.model.finding import Severity
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container, Report
from abiscan.report import FORMATS, render, text
from tests.report import samples


class Compared(ArtifactReport, frozen=True):
    """An artifact whose comparison is a Python call, which is counted below."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def of_many(number: int, *, wheels: bool) -> Report:
    """A run over many files, good and bad ones: each in a wheel of its own, or all in one."""
    artifacts = []
    for n in range(number):
        verdict = ArtifactVerdict.FAILS if n % 2 else ArtifactVerdict.LOADS
        severity = Severity.ERROR if n % 2 else Severity.WARNING
        path = f"dist/p{n if wheels else 0}-1.0-cp311-cp311-linux_x86_64.whl"
        made = samples.an_artifact(
            path, f"p{n}/_C.so", verdict=verdict, findings=(samples.a_finding(severity=severity),)
        )
        artifacts.append(Compared(**asdict(made)))
    members: dict[str, list[str]] = {}
    for artifact in artifacts:
        members.setdefault(artifact.path, []).append(artifact.display)
    containers = tuple(
        Container(path, "wheel", "p", "1.0", (), (), (), (), ArtifactVerdict.FAILS, tuple(names))
        for path, names in members.items()
    )
    return replace(samples.a_report(*artifacts), containers=containers)


def steps(work: Callable[[], object]) -> int:
    """Executed lines and called functions, of Python and C: independent of the machine's load."""
    count = 0

    def seen(frame: FrameType, event: str, argument: object) -> Callable[..., object]:
        nonlocal count
        count += event in ("line", "call", "c_call")
        return seen

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(seen)
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count


def with_baseline(report: Report) -> Report:
    accepted = baseline.read_baseline(baseline.write_baseline(report), "baseline.json")
    return apply(report, Policy(), accepted)


def with_stale_baseline(report: Report) -> Report:
    accepted = baseline.read_baseline(baseline.write_baseline(report), "baseline.json")
    fixed = replace(report, artifacts=tuple(replace(a, findings=()) for a in report.artifacts))
    return apply(fixed, Policy(), accepted)


POLICY = Policy(ignores=(Ignore("abiscan.toml, ignore 1", "known", path="p1/*"),), require_torch=">=2.4")
WORK: dict[str, Callable[[Report], object]] = {
    **{name: lambda report, name=name: render(name, report) for name in FORMATS},  # type: ignore[misc]
    "text, verbose": lambda report: text.render(report, text.Style(verbose=True)),
    "summary line": text.summary_line,
    "gate": lambda report: apply(report, POLICY),
    "baseline": with_baseline,
    "stale baseline": with_stale_baseline,
}


@pytest.mark.slow
@pytest.mark.parametrize("wheels", [False, True], ids=["one wheel", "many wheels"])
@pytest.mark.parametrize("work", WORK)
def test_twice_the_files_are_twice_the_work(work: str, wheels: bool) -> None:
    few, many = of_many(100, wheels=wheels), of_many(200, wheels=wheels)
    WORK[work](few)  # imports and caches
    assert steps(lambda: WORK[work](many)) < 2.2 * steps(lambda: WORK[work](few))


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(UsageError, match="no format is called 'nothing'"):
        render("nothing", samples.mixed())
