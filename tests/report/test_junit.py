"""JUnit XML against the schema of Jenkins' xUnit plugin, and read back as a CI server would."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import xmlschema
from msgspec.structs import replace

from abiscan.gate.apply import apply
from abiscan.gate.policy import Ignore, Policy
from abiscan.model.finding import Severity
from abiscan.model.report import ArtifactVerdict
from abiscan.report import junit
from tests.report import samples

SCHEMA = xmlschema.XMLSchema(Path(__file__).parent / "schemas" / "junit-10.xsd")
REPORTS = {"mixed": samples.mixed(), "hostile": samples.hostile(), "empty": samples.empty()}


@pytest.mark.parametrize("name", REPORTS)
def test_the_schema_accepts_it(name: str) -> None:
    text = junit.render(REPORTS[name])
    SCHEMA.validate(text)
    root = ET.fromstring(text.encode("utf-8"))
    assert root.tag == "testsuites"
    cases = root.findall("testsuite/testcase")
    assert int(root.attrib["tests"]) == len(cases)
    assert int(root.attrib["failures"]) == len(root.findall("testsuite/testcase/failure"))
    assert int(root.attrib["errors"]) == len(root.findall("testsuite/testcase/error"))
    for suite in root:
        assert int(suite.attrib["tests"]) == len(suite)
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))


def test_the_schema_can_refuse() -> None:
    assert not SCHEMA.is_valid(junit.render(samples.mixed()).replace("<failure", "<fail").replace("/failure", "/fail"))


def states(text: str) -> dict[tuple[str, str], str]:
    found = {}
    for case in ET.fromstring(text.encode("utf-8")).iter("testcase"):
        kinds = [child.tag for child in case if child.tag != "system-out"]
        found[case.attrib["classname"].split("!")[-1], case.attrib["name"]] = kinds[0] if kinds else "passed"
    return found


def test_every_state_has_its_word() -> None:
    loads = "loads on torch 2.13.0 (cpu)"
    module = "example/_C.cpython-311-x86_64-linux-gnu.so"
    assert states(junit.render(samples.mixed())) == {
        (module, loads): "failure",
        (module, "missing-import"): "failure",
        (module, "const-data-ptr"): "passed",
        ("example/ops.abi3.so", loads): "passed",
        ("example/ops.abi3.so", "unstable-abi"): "passed",
        ("example/ops.abi3.so", "const-data-ptr"): "skipped",
        ("lib/undecided.so", loads): "error",
        ("lib/broken.so", loads): "error",
        ("lib/plain.so", loads): "passed",
        ("csrc/kernel one.cpp", loads): "passed",
        ("csrc/kernel one.cpp", "const-data-ptr"): "passed",
        ("dist/other.whl", "can be read"): "error",
        ("baseline.json", "still needed: missing-import of _Zgone in example/_C.so"): "failure",
    }


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Policy(), "failure"),
        (Policy(fail_on=None), "skipped"),
        (Policy(fail_on=Severity.WARNING), "failure"),
        (Policy(ignores=(Ignore("c, ignore 1", "known", rule="missing-import"),)), "skipped"),
    ],
)
def test_a_test_view_agrees_with_the_gate(policy: Policy, expected: str) -> None:
    report = apply(samples.a_report(samples.failing()), policy)
    found = states(junit.render(report))
    key = ("example/_C.cpython-311-x86_64-linux-gnu.so", "loads on torch 2.13.0 (cpu)")
    assert found[key] == expected
    assert ("failure" in found.values()) == (report.verdict.value == "fail")


def test_a_file_that_fails_with_no_finding_is_a_failure() -> None:
    report = apply(samples.a_report(samples.an_artifact(verdict=ArtifactVerdict.FAILS)), Policy())
    assert list(states(junit.render(report)).values()) == ["failure"]


def test_names_are_text_and_control_characters_are_written_out() -> None:
    text = junit.render(samples.hostile())
    root = ET.fromstring(text.encode("utf-8"))
    allowed = {"testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"}
    assert {element.tag for element in root.iter()} <= allowed
    messages = {e.attrib["message"] for e in root.iter("failure")}
    assert "nothing exports <script>alert(1)</script>" in messages
    assert "nothing exports ]]><x/>" in messages
    assert r"nothing exports \x1b[31mred\x1b[0m\x07" in messages
    assert r"nothing exports raw\xff\x80byte" in messages


def test_many_findings_of_a_rule_are_one_case() -> None:
    findings = tuple(samples.a_finding(symbol=f"_Z{i}") for i in range(30))
    text = junit.render(apply(samples.a_report(samples.an_artifact(findings=findings)), Policy()))
    (failure,) = ET.fromstring(text).iter("failure")
    assert failure.attrib["message"].startswith("30 findings")
    assert failure.text is not None
    assert failure.text.count("nothing exports") == 30


def test_a_report_without_a_target() -> None:
    report = replace(samples.a_report(samples.an_artifact()), target=None)
    assert states(junit.render(report)) == {("build/_C.cpython-311-x86_64-linux-gnu.so", "loads"): "passed"}
