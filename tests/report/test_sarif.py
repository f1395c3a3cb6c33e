"""SARIF compared with the official schema in pysarif, and with the requirements in GitHub's documentation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from msgspec.structs import replace

from abiscan.gate.apply import apply
from abiscan.gate.policy import Policy
from abiscan.model.finding import Severity
from abiscan.model.report import Report
from abiscan.report import sarif
from tests.report import samples
from tests.report.sarif_types import misfits
from tools.repository import address

REPORTS = {"mixed": samples.mixed(), "hostile": samples.hostile(), "empty": samples.empty()}


def run_of(report: Report) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sarif.render(report))
    (run,) = document["runs"]
    return run


@pytest.mark.parametrize("name", REPORTS)
def test_the_official_schema_accepts_it(name: str) -> None:
    text = sarif.render(REPORTS[name])
    text.encode("utf-8")
    assert misfits(json.loads(text)) == []


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda run: run["results"][0].update(level="fatal"), "$.runs[0].results[0].level: 'fatal' is none of"),
        (lambda run: run["results"][0].pop("message"), "$.runs[0].results[0]: Result needs 'message'"),
        (lambda run: run["results"][0].update(ruleID="x"), "$.runs[0].results[0]: Result has no 'ruleID'"),
        (lambda run: run["artifacts"][0].update(length="5"), "$.runs[0].artifacts[0].length: '5' is no int"),
        (lambda run: run["artifacts"][0].update(roles="x"), "$.runs[0].artifacts[0].roles: 'x' is no list"),
        (lambda run: run["tool"].update(driver=None), "$.runs[0].tool.driver: None is no object"),
    ],
)
def test_the_schema_can_refuse(spoil: Callable[[dict[str, Any]], object], said: str) -> None:
    document = sarif.document(samples.mixed())
    spoil(document["runs"][0])
    (found,) = misfits(document)
    assert found.startswith(said)


@pytest.mark.parametrize("name", REPORTS)
def test_what_code_scanning_needs(name: str) -> None:
    run = run_of(REPORTS[name])
    rules = run["tool"]["driver"]["rules"]
    fingerprints = set()
    # These lists are sets in the schema.
    for members in (rules, run["artifacts"], *(result["locations"] for result in run["results"])):
        written = [json.dumps(member) for member in members]
        assert len(set(written)) == len(written)
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert len(rule["fullDescription"]["text"]) <= 1024
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert 1 <= len(result["locations"]) <= 100
        for location in result["locations"]:
            physical = location["physicalLocation"]
            assert physical["region"]["startLine"] >= 1
            assert physical["region"].get("byteOffset", 0) >= 0
            uri = physical["artifactLocation"]["uri"]
            assert uri.isascii()
            assert not set(uri) & set(' <>"{}|\\^`\n')
        primary = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        key = (primary, result["ruleId"], result["partialFingerprints"]["primaryLocationLineHash"])
        assert key not in fingerprints
        fingerprints.add(key)


def test_a_missing_symbol_has_its_cause_and_a_rule_its_fix_as_text() -> None:
    """The message and the help are all that code scanning shows of a result."""
    run = run_of(samples.mixed())
    missing = [each for each in run["results"] if each["properties"].get("causes")]
    assert missing
    for each in missing:
        _what, cause, _fix = each["message"]["text"].split("\n\n")
        assert cause.startswith("Cause: ")
        assert cause.endswith(f"[{each['properties']['causes'][0]}]")
    for rule, info in zip(run["tool"]["driver"]["rules"], sorted(samples.RULES, key=lambda each: each.id), strict=True):
        if info.use_instead:
            assert f"\n\nFix: {info.use_instead.strip()}" in rule["help"]["markdown"]


def test_every_rule_is_listed_though_it_did_not_fire() -> None:
    run = run_of(samples.a_report(samples.an_artifact()))
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == sorted(rule.id for rule in samples.RULES)
    assert run["results"] == []


def test_a_rule_missing_in_the_catalogue_is_listed_for_its_result() -> None:
    report = samples.a_report(samples.an_artifact(findings=(samples.a_finding("surprise"),)))
    run = run_of(report)
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "surprise"


def test_places() -> None:
    run = run_of(samples.mixed())
    by_rule = {}
    for result in run["results"]:
        by_rule.setdefault((result["ruleId"], result["message"]["text"].split("(")[0]), result)
    source, binary = by_rule[("const-data-ptr", "const_data_ptr<long>")]["locations"]
    # The editable line is first: code scanning annotates only that.
    assert source["physicalLocation"]["artifactLocation"]["uri"] == "csrc/kernel%20one.cpp"
    assert source["physicalLocation"]["region"] == {"startLine": 42}
    assert binary["physicalLocation"]["region"] == {"startLine": 1, "byteOffset": 0x11C0}
    assert binary["logicalLocations"][0]["fullyQualifiedName"] == "void f(at::Tensor)"
    assert (
        binary["physicalLocation"]["artifactLocation"]["uri"]
        == "dist/example-1.0-cp311-cp311-linux_x86_64.whl!example/_C.cpython-311-x86_64-linux-gnu.so"
    )
    index = binary["physicalLocation"]["artifactLocation"]["index"]
    assert run["artifacts"][index]["location"]["uri"] == binary["physicalLocation"]["artifactLocation"]["uri"]


@pytest.mark.parametrize(
    ("path", "member", "expected"),
    [
        ("a b/c#d.so", None, "a%20b/c%23d.so"),
        ("/abs/x.so", None, "file:///abs/x.so"),
        ("a!b.whl", "c/d.so", "a%21b.whl!c/d.so"),
        ("c:d.so", None, "c%3Ad.so"),
        ("x\udcff.so", None, "x%FF.so"),
        ("100%.so", None, "100%25.so"),
        ("é.so", None, "%C3%A9.so"),
    ],
)
def test_uris(path: str, member: str | None, expected: str) -> None:
    assert sarif.uri(path, member) == expected
    assert unquote(expected.removeprefix("file://"), errors="surrogateescape") == path + (
        f"!{member}" if member else ""
    )


def test_inputs_that_failed_are_notifications() -> None:
    (invocation,) = run_of(samples.mixed())["invocations"]
    assert invocation["executionSuccessful"] is False
    told = [(n["level"], n["message"]["text"]) for n in invocation["toolExecutionNotifications"]]
    assert ("error", "dist/other.whl: not a zip archive: it ends after 3 bytes") in told
    assert ("error", "lib/broken.so: could not be read") in told
    assert ("warning", "lib/undecided.so: cannot be decided: libfoo.so was not found") in told
    (fine,) = run_of(samples.a_report(samples.failing()))["invocations"]
    assert fine["executionSuccessful"] is True


def test_suppressions_carry_the_reason() -> None:
    suppressed = [r for r in run_of(samples.mixed())["results"] if "suppressions" in r]
    assert [s["justification"] for r in suppressed for s in r["suppressions"]] == [
        "ignored: goes with 2.0 (abiscan.toml, ignore 1)"
    ]


def test_severity_follows_the_policy() -> None:
    policy = Policy(severities=(("const-data-ptr", Severity.ERROR),))
    run = run_of(apply(samples.mixed(), policy))
    assert {r["level"] for r in run["results"] if r["ruleId"] == "const-data-ptr"} == {"error"}


def test_two_hits_of_one_fingerprint_are_distinguished() -> None:
    finding = samples.a_finding()
    run = run_of(samples.a_report(samples.an_artifact(findings=(finding, finding))))
    hashes = [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]]
    assert hashes == [f"{finding.fingerprint}:1", f"{finding.fingerprint}:2"]


def test_results_over_the_limit_are_counted_and_the_worst_are_kept() -> None:
    note = samples.a_finding("unstable-abi", severity=Severity.NOTE, message="n")
    many = (*(replace(note, fingerprint=f"{i:032x}") for i in range(sarif.MAX_RESULTS)), samples.a_finding())
    run = run_of(samples.a_report(samples.an_artifact(findings=many)))
    assert len(run["results"]) == sarif.MAX_RESULTS
    assert run["results"][0]["level"] == "error"
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "1 of 25001 results are left out" in notice["message"]["text"]


def test_what_is_too_large_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MAX_COMPRESSED", 5_000)
    report = samples.large(files=4, imports=4_000)
    run = run_of(report)
    total = sum(len(a.findings) for a in report.artifacts)
    assert 0 < len(run["results"]) < total
    assert "left out" in run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f()::{lambda(int)#1}::operator()", "f()::{lambda(int)#1}::operator()"),
        ("a {0} b", "a {{0}} b"),
        ("see [here](1)", r"see \[here](1)"),
        ("a[abi:cxx11](b)", r"a\[abi:cxx11](b)"),
        ("a[1] b", "a[1] b"),
    ],
)
def test_messages_are_read_literally(text: str, expected: str) -> None:
    report = samples.a_report(samples.an_artifact(findings=(replace(samples.a_finding(message=text), fix=""),)))
    assert run_of(report)["results"][0]["message"]["text"] == expected


def test_the_tool_has_name_and_version() -> None:
    """The rule SARIF2005 of Microsoft's multitool requires it (ProvideToolProperties)."""
    driver = run_of(samples.mixed())["tool"]["driver"]
    # The placeholder of an address that is not known yet is in no output.
    assert driver.get("informationUri") == (None if "/OWNER/" in address() else address())
    assert driver["fullName"] == f"abiscan {driver['semanticVersion']}"
    assert driver["version"] == driver["semanticVersion"]
    assert driver["shortDescription"]["text"]
