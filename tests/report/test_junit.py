"""JUnit XML read by junitparser, and by the standard library like in a CI server. No known package ships a schema of
the format. junitparser reads the common subset of CI servers, so each element and attribute must be known to it, with
equal counts."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, SystemOut, TestCase, TestSuite
from junitparser.junitparser import Attr
from msgspec.structs import replace

from abiscan.gate.apply import apply
from abiscan.gate.policy import Ignore, Policy
from abiscan.model.finding import Severity
from abiscan.model.report import ArtifactVerdict
from abiscan.report import junit, markdown
from tests.report import samples

# Parents of each element, and the attributes that junitparser's class for it reads.
PARENTS = {
    "testsuite": "testsuites",
    "testcase": "testsuite",
    "failure": "testcase",
    "error": "testcase",
    "skipped": "testcase",
    "system-out": "testcase",
}
CLASSES = (JUnitXml, TestSuite, TestCase, Failure, Error, Skipped, SystemOut)
ATTRIBUTES = {
    made._tag: {name for kind in made.__mro__ for name, value in vars(kind).items() if isinstance(value, Attr)}
    for made in CLASSES
}
REPORTS = {"mixed": samples.mixed(), "hostile": samples.hostile(), "empty": samples.empty()}


@pytest.mark.parametrize("name", REPORTS)
def test_a_reader_of_the_format_knows_all_of_it(name: str) -> None:
    text = junit.render(REPORTS[name])
    assert misfits(text) == []
    read = JUnitXml.fromstring(text.encode("utf-8"))
    for part in (read, *read):
        written = [part.tests, part.failures, part.errors]
        part.update_statistics()
        assert [part.tests, part.failures, part.errors] == written
    for suite in read:
        assert suite.skipped == sum(case.is_skipped for case in suite)
        for case in suite:
            assert case.name
            assert case.classname
            assert len(case.result) <= 1
            assert all(result.message for result in case.result)


@pytest.mark.parametrize("name", REPORTS)
def test_the_counts_are_those_of_the_cases(name: str) -> None:
    root = ET.fromstring(junit.render(REPORTS[name]).encode("utf-8"))
    assert root.tag == "testsuites"
    cases = root.findall("testsuite/testcase")
    assert int(root.attrib["tests"]) == len(cases)
    # Jenkins' schema has it only for suites.
    assert "skipped" not in root.attrib
    assert int(root.attrib["failures"]) == len(root.findall("testsuite/testcase/failure"))
    assert int(root.attrib["errors"]) == len(root.findall("testsuite/testcase/error"))
    for suite in root:
        assert int(suite.attrib["tests"]) == len(suite)
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))


def misfits(text: str) -> list[str]:
    """Elements and attributes that a reader does not know, or not in that place."""
    root = ET.fromstring(text.encode("utf-8"))
    parents = {child: parent.tag for parent in root.iter() for child in parent}
    found = [e.tag for e in root.iter() if e is not root and PARENTS.get(e.tag) != parents[e]]
    return found + [
        f"{e.tag} {name}" for e in root.iter() for name in e.attrib if name not in ATTRIBUTES.get(e.tag, {})
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "found"),
    [
        ("failure", "fail", ["fail", "fail type", "fail message"]),
        ("classname=", "class=", ["testcase class"]),
        ("testsuites", "suites", ["testsuite", "suites name"]),
    ],
)
def test_a_reader_of_the_format_can_refuse(right: str, wrong: str, found: list[str]) -> None:
    text = junit.render(samples.mixed())
    for start in ("<", "</", " "):
        text = text.replace(start + right, start + wrong)
    assert set(found) <= set(misfits(text))


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
        ("lib/plain.so", "does not use torch"): "passed",
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


def test_a_fix_is_written_once() -> None:
    findings = tuple(samples.a_finding(symbol=f"_Z{i}") for i in range(30))
    group = samples.failing().causes[0]
    causes = (group, replace(group, summary="another cause"))
    file = samples.an_artifact(verdict=ArtifactVerdict.FAILS, findings=findings, causes=causes)
    report = apply(samples.a_report(file), Policy())
    for text in (failure.text or "" for failure in ET.fromstring(junit.render(report)).iter("failure")):
        assert text.count(group.fix) <= 1
        assert text.count(findings[0].fix) <= 1
    shown = markdown.render(report)
    assert shown.count("```text\n" + group.fix) == 1
    assert junit.render(report).count(f"Same fix as for: {group.summary}") == 1
    assert shown.count(f"Same fix as for: {markdown.plain(group.summary)}") == 1


def test_a_report_without_a_target() -> None:
    report = replace(samples.a_report(samples.an_artifact()), torch_build=None)
    assert states(junit.render(report)) == {("build/_C.cpython-311-x86_64-linux-gnu.so", "loads"): "passed"}
