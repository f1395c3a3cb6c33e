"""Wheels and packages of a run, as literal values: verdicts of their members merged, findings at their members."""

from __future__ import annotations

import json

from msgspec.structs import replace

from abiscan.analysis.containers import container_of, finish_container
from abiscan.analysis.merge import merge
from abiscan.gate.apply import apply
from abiscan.gate.policy import Policy
from abiscan.inputs import Group
from abiscan.model.cause import Confidence
from abiscan.model.finding import Finding, Severity
from abiscan.model.operators import Operator, Registration
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report, Verdict
from abiscan.model.target import TargetEnvironment, TargetPart, TargetSource, TorchBuild, TorchKind
from abiscan.report import json_report, text
from abiscan.wheel.container_facts import ContainerFacts, ContainerKind
from tests.rules.computed.wheels import CP311, KNOWN, WHEEL, container, member


def whole(*members: ArtifactReport) -> Report:
    tags = container(CP311).tags
    facts = ContainerFacts(WHEEL, ContainerKind.WHEEL, "pkg", "1.0", tags, tags, ("torch==2.4.0",))
    opened = container_of(Group(WHEEL, facts))
    assert opened is not None
    wheel = replace(opened, artifacts=(*(m.display for m in members), f"{WHEEL}!gone.so"))
    return merge(finish_container(wheel, members, lambda _machine: KNOWN), ())


def test_verdicts_roll_up() -> None:
    fails = member("pkg/b.so", verdict=ArtifactVerdict.FAILS)
    others = [member("pkg/a.so"), member("pkg/c.so", verdict=ArtifactVerdict.UNDECIDED)]
    assert whole(fails, *others).containers[0].verdict is ArtifactVerdict.FAILS
    assert whole(*others).containers[0].verdict is ArtifactVerdict.UNDECIDED
    assert whole(others[0]).containers[0].verdict is ArtifactVerdict.LOADS
    assert whole(others[0]).containers[0].artifacts == (f"{WHEEL}!pkg/a.so",)
    report = whole(fails, *others)
    assert (
        f"FAILS {WHEEL}: 1 of 3 files does not load, 1 undecided; declared: torch==2.4.0"
        in text.render(report, text.Style(width=None)).splitlines()
    )
    (entry,) = json.loads(json_report.render(report))["containers"]
    assert (entry["verdict"], entry["requires_torch"], len(entry["artifacts"])) == ("fails", ["torch==2.4.0"], 3)


def test_a_replaced_build_does_not_fail_its_wheel() -> None:
    """A package ships a module for CPU and for CUDA, and loads the one that fits."""
    error = Finding("missing-library", Severity.ERROR, Confidence.HIGH, None, "libtorch_cuda.so", "fix", "0" * 16)
    cuda = replace(member("pkg/_C_cuda.so", verdict=ArtifactVerdict.FAILS), findings=(error,))
    with_cpu = whole(cuda, member("pkg/_C_cpu.so"))
    assert with_cpu.containers[0].verdict is ArtifactVerdict.LOADS
    served = next(a for a in with_cpu.artifacts if a.member == "pkg/_C_cuda.so")
    assert served.replaced_by == f"{WHEEL}!pkg/_C_cpu.so"
    assert apply(with_cpu, Policy()).verdict is Verdict.PASS
    # Neither a build of another module nor a failing build replaces it.
    for other in (member("pkg/_D_cpu.so"), member("pkg/_C_cpu.so", verdict=ArtifactVerdict.FAILS)):
        alone = whole(cuda, other)
        assert alone.containers[0].verdict is ArtifactVerdict.FAILS
        assert apply(alone, Policy()).verdict is Verdict.FAIL


def built_for(release: str, verdict: ArtifactVerdict, torch: str = "2.8.0") -> ArtifactReport:
    made = member(f"pkg/torch-{release}/_C.so", verdict=verdict)
    build = TorchBuild(TorchKind.RELEASE, torch, "cu128", "12.8", None, True, None, None)
    target = TargetEnvironment(TargetPart(build.label, TargetSource.FOLDER, "its path"), build)
    return replace(made, target=target)


def test_only_the_build_for_the_release_counts() -> None:
    """metatensor-torch loads only `torch-{major}.{minor}` on that release."""
    loads, fails = ArtifactVerdict.LOADS, ArtifactVerdict.FAILS
    good = whole(built_for("2.7", loads), built_for("2.8", loads), built_for("2.9", fails))
    assert good.containers[0].verdict is loads
    assert [a.replaced_by is None for a in good.artifacts] == [False, True, False]
    # That another build would load there does not help.
    bad = whole(built_for("2.7", loads), built_for("2.8", fails))
    assert bad.containers[0].verdict is fails
    # Files of an installed package have no member.
    installed = [
        replace(each, path=f"/venv/lib/python3.11/site-packages/{each.member}", member=None)
        for each in (built_for("2.7", fails), built_for("2.8.0", loads))
    ]
    assert whole(*installed).containers[0].verdict is loads
    assert apply(bad, Policy()).verdict is Verdict.FAIL


def test_a_required_range_is_checked_per_build() -> None:
    cells = tuple(
        ReleaseVerdict(f"{torch}+cu128-x86_64", torch, "cu128", True, state, (), (), "")
        for torch, state in (
            ("2.7.1", ReleaseState.FAILS),
            ("2.8.0", ReleaseState.LOADS),
            ("2.9.1", ReleaseState.FAILS),
        )
    )
    report = whole(replace(built_for("2.8", ArtifactVerdict.LOADS), releases=cells))
    assert apply(report, Policy(require_torch=">=2.8,<2.9")).verdict is Verdict.PASS
    wider = apply(report, Policy(require_torch=">=2.8"))
    assert wider.verdict is Verdict.FAIL
    (finding,) = wider.artifacts[0].findings
    assert "none for 2.9, which >=2.8 allows" in finding.message


def test_a_finding_of_a_wheel_keeps_its_fingerprint_at_another_member() -> None:
    prints = set()
    for name in ("pkg/a.so", "pkg/z.so"):
        report = whole(member(name, torch_releases=(("2.6.0", "2.6.0"),)))
        ((finding,),) = [artifact.findings for artifact in report.artifacts]
        assert finding.rule == "torch-requirement-too-wide"
        prints.add(finding.fingerprint)
    assert len(prints) == 1


def test_files_that_define_one_operator() -> None:
    """Releases of one distribution are never in one process; files of one wheel, and of two distributions, are."""

    def note(*wheels: tuple[str, str, tuple[str, ...]]) -> tuple[str, ...]:
        operator = Operator("ns::f", Registration.TORCH_LIBRARY, schema="ns::f() -> ()", confidence=Confidence.HIGH)
        containers, files = [], []
        for name, version, members in wheels:
            path = f"{name}-{version}.whl"
            inside = [replace(member(m), path=path, operators=(operator,)) for m in members]
            opened = container_of(Group(path, ContainerFacts(path, ContainerKind.WHEEL, name, version, (), (), ())))
            assert opened is not None
            containers.append(replace(opened, artifacts=tuple(f.display for f in inside)))
            files += inside
        return tuple(n for n in merge((*containers, *files), ()).notes if "operator" in n)

    assert note(("pkg_a", "1.0", ("a.so",)), ("pkg-a", "1.1", ("lib/a.so",)), ("Pkg.A", "1.2", ("a.so",))) == ()
    assert note(("a", "1.0", ("a.so",)), ("b", "1.0", ("a.so",)), ("a", "2.0", ("a.so",))) == (
        "2 files define the operator ns::f; a process can load only one: a-1.0.whl!a.so, b-1.0.whl!a.so",
    )
    assert note(("a", "1.0", ("a.so", "b.so")), ("a", "2.0", ("a.so",))) == (
        "a-1.0.whl: 2 files define the operator ns::f; a process can load only one: a.so, b.so",
    )
