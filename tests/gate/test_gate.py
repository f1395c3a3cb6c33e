"""The gate over literal reports: failures, accepted findings, stale entries, unknown results."""

from __future__ import annotations

import datetime
import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from abiscan.errors import UsageError
from abiscan.gate.apply import apply
from abiscan.gate.baseline import read_baseline, write_baseline
from abiscan.gate.policy import Ignore, Policy
from abiscan.gate.requirements import GATE_RULES
from abiscan.model.finding import Finding, Severity
from abiscan.model.provenance import Provenance
from abiscan.model.report import ArtifactReport, ArtifactVerdict, InputError, Report, Verdict
from abiscan.model.target import TargetEnvironment, TargetPart, TargetSource
from abiscan.model.versions import ReleaseRanges
from tests.report.samples import (
    CHECK_FAIL_OLD,
    CONST_PTR,
    TENSOR_PTR,
    a_finding,
    a_report,
    an_artifact,
    an_import,
    hostile,
    mixed,
    releases,
)

ERROR = a_finding(symbol="_Z1a")
WARNING = a_finding("const-data-ptr", CONST_PTR, severity=Severity.WARNING)
NOTE = a_finding("unstable-abi", TENSOR_PTR, severity=Severity.NOTE)


def standing(report: Report) -> list[Finding]:
    return [f for a in report.artifacts for f in a.findings if not f.suppressed]


@pytest.mark.parametrize(("fail_on", "finding"), [*itertools.product([*Severity, None], [ERROR, WARNING, NOTE, None])])
def test_fail_on(fail_on: Severity | None, finding: Finding | None) -> None:
    report = apply(a_report(an_artifact(findings=(finding,) if finding else ())), Policy(fail_on=fail_on))
    # The failing pairs, as literal values.
    fails = {
        (Severity.ERROR, Severity.ERROR),
        (Severity.WARNING, Severity.ERROR),
        (Severity.WARNING, Severity.WARNING),
        (Severity.NOTE, Severity.ERROR),
        (Severity.NOTE, Severity.WARNING),
        (Severity.NOTE, Severity.NOTE),
    }
    expected = Verdict.FAIL if finding is not None and (fail_on, finding.severity) in fails else Verdict.PASS
    assert report.verdict is expected


@pytest.mark.parametrize("verdict", [ArtifactVerdict.UNDECIDED, ArtifactVerdict.UNREADABLE])
def test_what_is_unknown_is_never_clean(verdict: ArtifactVerdict) -> None:
    unknown = an_artifact("lib/x.so", verdict=verdict)
    assert apply(a_report(unknown), Policy()).verdict is Verdict.INCOMPLETE
    assert apply(a_report(unknown), Policy(fail_on=None)).verdict is Verdict.INCOMPLETE
    assert apply(a_report(unknown, an_artifact(findings=(ERROR,))), Policy()).verdict is Verdict.FAIL
    accepted = apply(a_report(unknown), Policy(ignores=(Ignore("c, ignore 1", "no driver", path="lib/*"),)))
    assert accepted.verdict is Verdict.PASS
    assert any("lib/x.so" in note and "no driver" in note for note in accepted.notes)
    # An ignore of a rule does not accept undecided files.
    narrow = Policy(ignores=(Ignore("c, ignore 1", "no driver", rule="missing-import", path="lib/*"),))
    assert apply(a_report(unknown), narrow).verdict is Verdict.INCOMPLETE


def test_an_input_error_leaves_the_run_incomplete() -> None:
    report = a_report(an_artifact(), errors=(InputError("x.whl!pkg/a.so", "truncated"),))
    assert apply(report, Policy()).verdict is Verdict.INCOMPLETE
    ignores = (Ignore("c, ignore 1", "known", path="pkg/a.so"),)
    assert apply(report, Policy(ignores=ignores)).verdict is Verdict.PASS


def test_what_fails_for_another_file_alone_is_known_to_a_baseline() -> None:
    """Like torchaudio's _torchaudio.so, which resolves alone and fails because of its libtorchaudio.so."""
    fails = a_report(an_artifact(verdict=ArtifactVerdict.FAILS, notes=("libx.so fails",)))
    first = apply(fails, Policy())
    assert [(f.rule, f.message) for f in standing(first)] == [("does-not-load", "libx.so fails")]
    assert "does-not-load" in {rule.id for rule in first.rules}
    baseline = read_baseline(write_baseline(first), "b.json")
    assert apply(fails, Policy(), baseline).verdict is Verdict.PASS
    assert apply(fails, Policy(select=("const-data-ptr",))).verdict is Verdict.FAIL
    assert apply(fails, Policy(ignore_rules=("does-not-load",))).verdict is Verdict.PASS
    assert apply(fails, Policy(fail_on=None)).verdict is Verdict.PASS
    (stale,) = apply(a_report(an_artifact(verdict=ArtifactVerdict.LOADS)), Policy(), baseline).stale
    assert (stale.entry.partition(" ")[0], stale.fails) == ("does-not-load", True)
    loads = apply(a_report(an_artifact(verdict=ArtifactVerdict.LOADS)), Policy())
    assert "does-not-load" not in {rule.id for rule in loads.rules}


def test_a_failing_file_fails_the_gate_without_a_finding() -> None:
    report = a_report(an_artifact(verdict=ArtifactVerdict.FAILS))
    assert apply(report, Policy()).verdict is Verdict.FAIL
    assert apply(report, Policy(fail_on=None)).verdict is Verdict.PASS
    assert apply(report, Policy(ignores=(Ignore("c", "old", path="*.so"),))).verdict is Verdict.PASS


def test_severity_overrides_reach_findings_and_rules() -> None:
    report = apply(a_report(an_artifact(findings=(WARNING,))), Policy(severities=(("const-data-ptr", Severity.ERROR),)))
    assert report.verdict is Verdict.FAIL
    assert standing(report)[0].severity is Severity.ERROR
    assert {r.id: r.severity for r in report.rules}["const-data-ptr"] is Severity.ERROR


# --- ignores ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "accepts"),
    [
        ({"rule": "missing-import"}, True),
        ({"rule": "const-data-ptr"}, False),
        ({"symbol": "_Z1a"}, True),
        ({"symbol": "_Z*"}, True),
        ({"symbol": "_Z1b"}, False),
        ({"path": "build/*.so"}, True),
        ({"path": "other/*.so"}, False),
        ({"rule": "missing-import", "symbol": "_Z1b"}, False),
        ({"rule": "missing-import", "symbol": "_Z1a", "path": "_C.*"}, True),
    ],
)
def test_ignores(conditions: dict[str, Any], accepts: bool) -> None:
    ignore = Ignore("abiscan.toml, ignore 1", "known upstream", **conditions)
    report = apply(a_report(an_artifact(findings=(ERROR,))), Policy(ignores=(ignore,)))
    (finding,) = report.artifacts[0].findings
    assert finding.suppressed is accepts
    assert report.verdict is (Verdict.PASS if accepts else Verdict.FAIL)
    if accepts:
        assert finding.suppression == "ignored: known upstream (abiscan.toml, ignore 1)"


def test_a_finding_of_many_names_is_ignored_only_if_all_are() -> None:
    many = replace(ERROR, symbol=None, symbols=("_Z1a", "_Z1b"))
    for symbol, accepts in (("_Z1a", False), ("_Z1?", True)):
        report = apply(a_report(an_artifact(findings=(many,))), Policy(ignores=(Ignore("c", "r", symbol=symbol),)))
        assert report.artifacts[0].findings[0].suppressed is accepts


def test_an_expired_ignore_is_reported_and_does_not_count() -> None:
    ignore = Ignore("abiscan.toml, ignore 1", "until 2.0", rule="missing-import", expires=datetime.date(2026, 6, 30))
    report = a_report(an_artifact(findings=(ERROR,)))
    on_the_day = apply(report, Policy(ignores=(ignore,)), today=datetime.date(2026, 6, 30))
    assert (on_the_day.verdict, on_the_day.stale) == (Verdict.PASS, ())
    after = apply(report, Policy(ignores=(ignore,)), today=datetime.date(2026, 7, 1))
    assert after.verdict is Verdict.FAIL
    (entry,) = after.stale
    assert "expired on 2026-06-30" in entry.entry
    assert not entry.fails


def test_an_unused_ignore_is_reported_and_does_not_fail() -> None:
    ignores = (
        Ignore("c, ignore 1", "r", rule="const-data-ptr"),
        # No file in this place was scanned: unknown.
        Ignore("c, ignore 2", "r", rule="const-data-ptr", path="elsewhere/*"),
    )
    report = apply(a_report(an_artifact()), Policy(ignores=ignores))
    assert report.verdict is Verdict.PASS
    assert [(entry.source, entry.fails) for entry in report.stale] == [("c, ignore 1", False)]


# --- baseline ---------------------------------------------------------------------------------------------------


def run(known: Report, now: Report, **policy: Any) -> Report:
    return apply(now, Policy(**policy), read_baseline(write_baseline(known), "baseline.json"))


def module(*symbols: str, path: str = "build/_C.cpython-311-x86_64-linux-gnu.so", member: str | None = None) -> Report:
    findings = tuple(a_finding(symbol=s, path=member or path) for s in symbols)
    return a_report(an_artifact(path, member, verdict=ArtifactVerdict.FAILS, findings=findings))


def test_only_what_is_new_fails_and_what_is_gone_is_stale() -> None:
    first = module("_Z1a", "_Z1b")
    assert run(first, first).verdict is Verdict.PASS
    assert run(first, first).stale == ()
    one_more = run(first, module("_Z1a", "_Z1b", "_Z1c"))
    assert one_more.verdict is Verdict.FAIL
    assert [f.symbol for f in standing(one_more)] == ["_Z1c"]
    assert one_more.stale == ()
    one_less = run(first, module("_Z1a"))
    assert one_less.verdict is Verdict.FAIL
    assert [(s.entry, s.fails) for s in one_less.stale] == [("missing-import of _Z1b in _C.so", True)]
    allowed = run(first, module("_Z1a"), allow_stale=True)
    assert allowed.verdict is Verdict.PASS
    assert [s.fails for s in allowed.stale] == [False]


@pytest.mark.parametrize(
    ("path", "member"),
    [
        ("/tmp/checkout-2/build/_C.cpython-311-x86_64-linux-gnu.so", None),
        ("../elsewhere/_C.cpython-312-x86_64-linux-gnu.so", None),
        ("_C.abi3.so", None),
        ("dist/pkg-2.0-cp311-cp311-linux_x86_64.whl", "pkg/_C.cpython-311-x86_64-linux-gnu.so"),
        ("env/lib/python3.11/site-packages/pkg/_C.so", None),
    ],
)
def test_a_baseline_survives_rebuilds_and_other_places(path: str, member: str | None) -> None:
    moved = module("_Z1a", path=path, member=member)
    report = run(module("_Z1a"), moved)
    assert (report.verdict, report.stale) == (Verdict.PASS, ())
    assert run(moved, module("_Z1a")).verdict is Verdict.PASS


def test_modules_of_one_name_in_two_packages_are_two() -> None:
    wheel = "dist/pkg-1.0-cp311-cp311-linux_x86_64.whl"
    one = module("_Z1a", path=wheel, member="pkg/a/_C.so")
    other = module("_Z1a", path=wheel, member="pkg/b/_C.so")
    report = run(one, other)
    assert report.verdict is Verdict.FAIL
    assert len(standing(report)) == 1
    assert [s.entry for s in report.stale] == ["missing-import of _Z1a in pkg/a/_C.so"]


def test_one_entry_accepts_one_finding() -> None:
    twice = module("_Z1a", "_Z1a")
    assert run(twice, twice).verdict is Verdict.PASS
    assert '"count": 2' in write_baseline(twice)
    assert len(standing(run(module("_Z1a"), twice))) == 1
    assert len(run(twice, module("_Z1a")).stale) == 1


def test_what_was_not_scanned_or_not_read_is_not_stale() -> None:
    both = replace(
        module("_Z1a"),
        artifacts=(*module("_Z1a", path="a/one.so").artifacts, *module("_Z1b", path="a/two.so").artifacts),
    )
    only_one = run(both, module("_Z1a", path="a/one.so"))
    assert (only_one.verdict, only_one.stale) == (Verdict.PASS, ())
    broken = an_artifact("a/two.so", verdict=ArtifactVerdict.UNREADABLE)
    unread = run(both, replace(both, artifacts=(both.artifacts[0], broken)))
    assert (unread.verdict, unread.stale) == (Verdict.INCOMPLETE, ())


def test_what_left_an_archive_that_was_read_whole_is_stale() -> None:
    wheel = "dist/pkg-1.0-cp311-cp311-linux_x86_64.whl"
    first = module("_Z1a", path=wheel, member="pkg/gone.so")
    newer = "dist/pkg-1.1-cp311-cp311-linux_x86_64.whl"
    now = a_report(an_artifact(newer, "pkg/other.so"))
    assert [s.entry for s in run(first, now).stale] == ["missing-import of _Z1a in pkg/gone.so"]
    damaged = replace(now, errors=(InputError(f"{newer}!pkg/gone.so", "encrypted"),))
    assert run(first, damaged).stale == ()
    assert run(first, a_report(an_artifact("dist/else-1.0-py3-none-any.whl", "else/other.so"))).stale == ()


def test_entries_below_fail_on_never_fail_as_stale() -> None:
    first = a_report(an_artifact(findings=(NOTE,)))
    gone = run(first, a_report(an_artifact()))
    assert (gone.verdict, [s.fails for s in gone.stale]) == (Verdict.PASS, [False])
    assert run(first, a_report(an_artifact()), fail_on=Severity.NOTE).verdict is Verdict.FAIL


def test_an_ignore_makes_no_entry_stale_and_is_not_written() -> None:
    first = module("_Z1a")
    ignore = Ignore("c, ignore 1", "r", rule="missing-import")
    report = run(first, first, ignores=(ignore,))
    assert (report.verdict, report.stale) == (Verdict.PASS, ())
    assert '"entries": []' in write_baseline(apply(first, Policy(ignores=(ignore,))))


def test_what_the_old_baseline_accepts_is_in_the_new_one() -> None:
    first = module("_Z1a")
    assert write_baseline(run(first, first)) == write_baseline(first)


def test_the_file_is_the_same_from_every_run() -> None:
    report = mixed()
    turned = replace(report, artifacts=tuple(replace(a, findings=a.findings[::-1]) for a in reversed(report.artifacts)))
    assert write_baseline(report) == write_baseline(turned)
    assert write_baseline(report).isascii()


def test_hostile_names_come_back() -> None:
    report = hostile()
    again = apply(report, Policy(), read_baseline(write_baseline(report), "b.json"))
    assert standing(again) == []
    assert again.stale == ()


def test_another_torch_is_reported() -> None:
    first = module("_Z1a")
    assert first.torch_build is not None
    now = replace(first, torch_build=replace(first.torch_build, version="2.14.0"))
    assert any("2.13.0+cpu" in note and "2.14.0+cpu" in note for note in run(first, now).notes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "{}",
        '{"abiscan_baseline": 2, "entries": []}',
        '{"abiscan_baseline": 1}',
        '{"abiscan_baseline": 1, "entries": [1]}',
        '{"abiscan_baseline": 1, "entries": [{"fingerprint": "a"}]}',
        '{"abiscan_baseline": 1, "entries": [{"fingerprint": "a", "rule": "r", "severity": "x", "symbol": null,'
        ' "artifact": "a", "container": null, "message": ""}]}',
        '{"abiscan_baseline": 1, "entries": [{"fingerprint": "a", "rule": "r", "severity": "error", "symbol": null,'
        ' "artifact": "a", "container": null, "message": "", "count": true}]}',
        r'{"abiscan_baseline": 1, "entries": [{"\ud800": "a"}]}',
    ],
)
def test_an_invalid_baseline_is_rejected_with_one_line(text: str) -> None:
    with pytest.raises(UsageError, match=r"b\.json.*--write-baseline") as caught:
        read_baseline(text, "b.json")
    assert "\n" not in str(caught.value)


# --- requirements -----------------------------------------------------------------------------------------------


def test_every_build_in_the_range_must_load() -> None:
    artifact = an_artifact(releases=releases(loads=("2.6.0", "2.8.0", "2.12.0", "2.13.0")))
    met = apply(a_report(artifact), Policy(require_torch=">=2.6"))
    assert met.verdict is Verdict.PASS
    assert "require-torch '>=2.6' is satisfied (1 file)" in met.notes
    report = apply(a_report(artifact), Policy(require_torch=">=2.4,<2.9"))
    assert report.verdict is Verdict.FAIL
    assert not any("is satisfied" in note for note in report.notes)
    (finding,) = standing(report)
    assert finding.rule == "require-torch"
    assert "2 of 4 known builds" in finding.message
    assert "2.4.0+cpu, 2.4.1+cpu (old string ABI, 2 missing)" in finding.message
    assert finding.symbols == tuple(sorted((CHECK_FAIL_OLD, TENSOR_PTR)))
    assert "require-torch" in {rule.id for rule in report.rules}


@pytest.mark.parametrize(
    ("torch", "of"),
    [
        (TargetPart("none", TargetSource.NEWEST_KNOWN, "no torch build for x86_64 is known"), "x86_64"),
        (TargetPart("ROCm 6", TargetSource.VERSION_LABEL, "1.0+pt29rocm64"), "ROCm 6"),
    ],
)
def test_why_a_range_was_not_checked(torch: TargetPart, of: str) -> None:
    artifact = an_artifact(an_import(TENSOR_PTR), verdict=ArtifactVerdict.UNDECIDED)
    artifact = replace(artifact, releases=None, target=TargetEnvironment(torch))
    notes = apply(a_report(artifact), Policy(require_torch=">=2.4")).notes
    assert any(note.endswith(f"not checked against torch >=2.4: no torch build for {of} is known") for note in notes)


def test_an_undecided_range_is_not_met() -> None:
    for artifact in (an_artifact(), an_artifact(releases=releases())):
        report = apply(a_report(artifact), Policy(require_torch=">=3"))
        assert report.verdict is Verdict.INCOMPLETE
        assert any(artifact.path in note for note in report.notes)


def test_what_is_not_torch_needs_no_torch() -> None:
    plain = an_artifact(verdict=ArtifactVerdict.NOT_TORCH)
    policy = Policy(require_torch=">=2.4", require_stable_abi=True)
    assert apply(a_report(plain), policy).verdict is Verdict.PASS


def test_a_baseline_of_a_requirement_counts_the_builds() -> None:
    policy = Policy(require_torch=">=2.4")
    fewer = apply(a_report(an_artifact(releases=releases(loads=("2.6.0", "2.8.0", "2.12.0", "2.13.0")))), policy)
    baseline = read_baseline(write_baseline(fewer), "b.json")
    same = a_report(an_artifact(releases=releases(loads=("2.6.0", "2.8.0", "2.12.0", "2.13.0"))))
    assert apply(same, policy, baseline).verdict is Verdict.PASS
    # Not checked without the requirement: not stale.
    assert apply(same, Policy(), baseline).stale == ()
    assert apply(a_report(an_artifact(releases=releases())), policy, baseline).verdict is Verdict.FAIL


def stable(first: str | None, abi: str | None = "stable") -> ArtifactReport:
    releases = ReleaseRanges([(first, "2.15.0")]) if first is not None else None
    return an_artifact(imports=(an_import(TENSOR_PTR),), provenance=Provenance(abi=abi, torch_releases=releases))


@pytest.mark.parametrize(
    ("artifact", "version", "expected"),
    [
        (stable("2.9.0"), None, Verdict.PASS),
        (stable("2.10.0"), "2.10", Verdict.PASS),
        (stable("2.10.1"), "2.10", Verdict.PASS),
        (stable("2.10.1"), "2.10.0", Verdict.FAIL),
        (stable("2.11.0"), "2.10", Verdict.FAIL),
        (stable(None), "2.10", Verdict.INCOMPLETE),
        (stable("2.9.0", "unstable"), None, Verdict.FAIL),
        (stable("2.9.0", "none"), None, Verdict.PASS),
        (stable("2.9.0", None), None, Verdict.INCOMPLETE),
    ],
)
def test_require_stable_abi(artifact: ArtifactReport, version: str | None, expected: Verdict) -> None:
    policy = Policy(require_stable_abi=True, stable_abi_version=version)
    report = apply(a_report(artifact), policy)
    assert report.verdict is expected
    if artifact.provenance.abi == "unstable":
        assert standing(report)[0].symbols == (TENSOR_PTR,)


def test_the_gates_own_rules_obey_the_policy() -> None:
    policy = Policy(require_torch=">=2.4", severities=(("require-torch", Severity.WARNING),))
    report = apply(a_report(an_artifact(releases=releases())), policy)
    assert report.verdict is Verdict.PASS
    assert [f.severity for f in standing(report)] == [Severity.WARNING]
    assert all(rule.summary and rule.why and rule.use_instead for rule in GATE_RULES)


@pytest.mark.parametrize(
    ("select", "ignore", "left"),
    [
        ((), (), {"const-data-ptr", "unstable-abi"}),
        (("unstable-abi",), (), {"unstable-abi"}),
        ((), ("unstable-abi",), {"const-data-ptr"}),
        (("const-data-ptr", "unstable-abi"), ("unstable-abi",), {"const-data-ptr"}),
    ],
)
def test_rules_of_the_command_line(select: tuple[str, ...], ignore: tuple[str, ...], left: set[str]) -> None:
    """Findings of excluded rules stay in the report, marked, and do not fail it."""
    policy = Policy(fail_on=Severity.NOTE, select=select, ignore_rules=ignore)
    report = apply(a_report(an_artifact(findings=(WARNING, NOTE))), policy)
    assert {finding.rule for finding in standing(report)} == left
    assert len(report.artifacts[0].findings) == 2
    assert {finding.rule for finding in report.artifacts[0].findings if finding.is_left_out} == {
        "const-data-ptr",
        "unstable-abi",
    } - left
    only = apply(a_report(an_artifact(findings=(NOTE,))), Policy(fail_on=Severity.NOTE, ignore_rules=("unstable-abi",)))
    assert only.verdict is Verdict.PASS
