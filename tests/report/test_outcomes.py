"""Every format counts the same failing wheels: forty of all kinds of files, rendered in all formats. Oracle: the way a
wheel was made. It fails if a file does not load or has an error, and this is not accepted."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from abiscan.gate.apply import apply
from abiscan.gate.policy import Ignore, Policy
from abiscan.model.finding import Severity
from abiscan.model.outcome import GateOutcome, container_outcomes, load_outcome, outcomes_of
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container, InputError, Report
from abiscan.registry.table_rows import wheel_row
from abiscan.report import json_report, junit, markdown, ndjson, sarif, text
from abiscan.report.html.view import ordered, page_view
from abiscan.report.style import Style
from tests.report import samples

_KINDS = {
    "loads": GateOutcome.LOADS,
    "warns": GateOutcome.LOADS,
    "plain": GateOutcome.NOT_TORCH,
    "undecided": GateOutcome.UNDECIDED,
    "unreadable": GateOutcome.UNREADABLE,
    "fails": GateOutcome.FAILS,
    "fails-silently": GateOutcome.FAILS,
    "required": GateOutcome.FAILS,
    "known": GateOutcome.ACCEPTED,
    "left-out": GateOutcome.IGNORED,
    "other-build": GateOutcome.REPLACED,
}
POLICY = Policy(
    ignores=(Ignore("abiscan.toml, ignore 1", "known", rule="python-abi-mismatch"),), ignore_rules=("missing-library",)
)


def member(path: str, number: int, kind: str) -> ArtifactReport:
    file = samples.an_artifact(path, f"x/{kind}{number}.so")
    verdicts = {"plain": "not-torch", "warns": "loads", "required": "loads"}
    wanted = verdicts.get(kind, kind if kind in set(ArtifactVerdict) else "fails")
    findings = {
        "fails": (samples.a_finding(),),
        "warns": (samples.a_finding("const-data-ptr", severity=Severity.WARNING),),
        "required": (samples.a_finding("require-torch", None),),
        "known": (samples.a_finding("python-abi-mismatch", None),),
        "left-out": (samples.a_finding("missing-library", None),),
    }.get(kind, ())
    replaced = f"{path}!x/other.so" if kind == "other-build" else None
    return replace(file, verdict=ArtifactVerdict(wanted), findings=findings, replaced_by=replaced)


def wheel(number: int, kinds: list[str], *, damaged: bool = False) -> tuple[Report, GateOutcome]:
    """A wheel with files of these kinds, and its expected outcome."""
    path = f"dist/w{number:02}-1.0-cp311-cp311-linux_x86_64.whl"
    files = tuple(member(path, place, kind) for place, kind in enumerate(kinds))
    names = tuple(file.display for file in files)
    container = Container(path, "wheel", f"w{number:02}", "1.0", (), (), (), (), ArtifactVerdict.LOADS, names)
    errors = (InputError(f"{path}!x/damaged.so", "not an ELF file"),) if damaged else ()
    expected = {_KINDS[kind] for kind in kinds} - {GateOutcome.REPLACED} | (
        {GateOutcome.UNREADABLE} if damaged else set()
    )
    report = replace(samples.a_report(*files, errors=errors), containers=(container,))
    return report, min(expected, key=list(GateOutcome).index, default=GateOutcome.NOT_TORCH)


def forty() -> tuple[Report, dict[str, GateOutcome]]:
    chosen = random.Random(40)
    made = [wheel(number, [kind]) for number, kind in enumerate(_KINDS)]
    for number in range(len(made), 40):
        kinds = chosen.choices(list(_KINDS), weights=[6, 3, 3, 1, 1, 1, 1, 1, 2, 2, 2], k=chosen.randint(2, 4))
        made.append(wheel(number, kinds, damaged=number % 10 == 0))
    report = replace(
        samples.a_report(
            *(a for each, _ in made for a in each.artifacts), errors=tuple(e for each, _ in made for e in each.errors)
        ),
        containers=tuple(c for each, _ in made for c in each.containers),
    )
    return report, {each.containers[0].path: outcome for each, outcome in made}


REPORT, EXPECTED = forty()
JUDGED = apply(REPORT, POLICY)
FAILING = {path for path, outcome in EXPECTED.items() if outcome is GateOutcome.FAILS}


def wheels_in(lines: str) -> set[str]:
    return set(re.findall(r"dist/w\d\d-1\.0-cp311-cp311-linux_x86_64\.whl", lines))


def of_text() -> set[str]:
    lines = text.render(JUDGED, Style(width=None)).splitlines()
    assert not [line for line in lines if line.startswith("loads") and wheels_in(line) & FAILING]
    return wheels_in("\n".join(line for line in lines if line.startswith("FAILS ")))


def of_json() -> set[str]:
    document = json.loads(json_report.render(JUDGED))
    found = {c["path"] for c in document["containers"] if c["outcome"] == "fails"}
    assert document["summary"]["containers"]["fails"] == len(found)
    counts = Counter(a["outcome"].replace("-", "_") for a in document["artifacts"])
    assert Counter(document["summary"]["outcomes"]) == counts
    assert counts["replaced"] > 0
    assert found == {a["path"] for a in document["artifacts"] if a["outcome"] == "fails"}
    return found


def of_ndjson() -> set[str]:
    records = [json.loads(line) for line in ndjson.render(JUDGED).splitlines()]
    return {r["path"] for r in records if r["record"] == "artifact" and r["outcome"] == "fails"}


def of_markdown() -> set[str]:
    table = markdown.render(JUDGED).split("| file |")[0].replace("&#45;", "-").replace("&#95;", "_")
    return wheels_in("\n".join(line for line in table.splitlines() if "❌ fails" in line))


def of_sarif() -> set[str]:
    (run,) = json.loads(sarif.render(JUDGED))["runs"]
    errors = [r for r in run["results"] if r["level"] == "error" and not r.get("suppressions")]
    return wheels_in(json.dumps([r["locations"] for r in errors]))


def of_junit() -> set[str]:
    suites = ET.fromstring(junit.render(JUDGED)).iter("testsuite")
    return {suite.attrib["name"] for suite in suites if int(suite.attrib["failures"])}


def of_page() -> set[str]:
    view = page_view(JUDGED, ordered(JUDGED), None, ())
    found = {w.path for w in view.wheels if w.verdict == "fails"}
    assert view.headline.startswith(f"{len(found)} of 40 wheels fail")
    return found


def of_tables() -> set[str]:
    rows = []
    for container in REPORT.containers:
        files = tuple(a for a in REPORT.artifacts if a.path == container.path)
        alone = replace(REPORT, artifacts=files, containers=(container,), errors=())
        rows.append(wheel_row(container.path, apply(alone, POLICY)))
    return {str(row["path"]) for row in rows if row["gate"] == "fail"}


@pytest.mark.parametrize(
    "counted",
    [of_text, of_json, of_ndjson, of_markdown, of_sarif, of_junit, of_page, of_tables],
    ids=lambda f: f.__name__,
)
def test_every_format_has_the_same_failing_wheels(counted: object) -> None:
    assert callable(counted)
    assert counted() == FAILING


def test_every_format_counts_the_same_failing_files() -> None:
    """Builds that a package does not load are counted separately from failing ones."""
    made = Counter(outcomes_of(JUDGED).values())
    shown = {
        kind: number for kind, _words, number, _section in page_view(JUDGED, ordered(JUDGED), None, ()).tallies[:6]
    }
    assert (shown["fails"], shown["loads"]) == (made[GateOutcome.FAILS], made[GateOutcome.LOADS])
    assert text.count_line(JUDGED) in markdown.render(JUDGED).splitlines()[2]
    document = json.loads(json_report.render(JUDGED))
    assert sum(a["outcome"] == "fails" for a in document["artifacts"]) == made[GateOutcome.FAILS]


def test_what_a_wheel_comes_to_is_the_worst_of_its_files() -> None:
    assert container_outcomes(JUDGED) == EXPECTED
    # Every outcome occurs, so each is counted in a sample.
    assert set(EXPECTED.values()) == set(GateOutcome) - {GateOutcome.REPLACED}


def test_what_a_baseline_accepts_fails_nowhere() -> None:
    """Nothing red is printed above `pass`."""
    report, _ = wheel(1, ["known", "loads"])
    judged = apply(report, POLICY)
    shown = text.render(judged, Style(width=None))
    assert judged.verdict.value == "pass"
    assert "FAILS" not in shown
    assert shown.startswith("accepted dist/w01")
    assert text.summary_line(judged) == "pass: 2 files checked: 1 accepted, 1 loads (1 accepted finding)"


@pytest.mark.parametrize(
    ("policy", "headline", "counts"),
    [
        (Policy(ignore_rules=("missing-library",)), "ignored", "1 ignored, 1 loads (1 ignored finding)"),
        (Policy(select=("missing-import",)), "ignored", "1 ignored, 1 loads (1 ignored finding)"),
        (
            Policy(ignores=(Ignore("abiscan.toml, ignore 1", "known"),)),
            "accepted",
            "1 accepted, 1 loads (1 accepted finding)",
        ),
    ],
)
def test_a_rule_that_is_left_out_accepts_nothing(policy: Policy, headline: str, counts: str) -> None:
    """Oracle: the options of the run; `accepted` is a decision about a finding, with a reason."""
    report, _ = wheel(1, ["left-out", "loads"])
    judged = apply(report, policy)
    shown = text.render(judged, Style(width=None))
    assert shown.startswith(f"{headline} ")
    assert f"1 failure {headline}" in shown
    assert text.summary_line(judged) == f"pass: 2 files checked: {counts}"


def test_a_headline_ignores_only_errors_of_loading() -> None:
    """A library that was not found without a failure is a note: to ignore it does not accept the failure."""
    report, _ = wheel(1, ["fails"])
    file = report.artifacts[0]
    note = samples.a_finding("missing-library", None, severity=Severity.NOTE)
    unaccepted = replace(report, artifacts=(replace(file, findings=(*file.findings, note)),))
    shown = text.render(apply(unaccepted, Policy(ignore_rules=("missing-library",))), Style(width=None))
    assert "the file does not load on" not in shown
    assert load_outcome(apply(unaccepted, Policy(ignore_rules=("missing-library",))).artifacts[0]) is None
