"""`-f concise` and `--statistics` contain exactly what the report counts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.model.finding import Location, Severity
from abiscan.model.report import ArtifactKind, ArtifactVerdict, InputError, Report
from abiscan.report import concise, statistics
from abiscan.report.style import Style
from abiscan.report.summary import summary_of
from tests.cli.test_cli import FIXTURES, document, run
from tests.report import samples

LINE = re.compile(r"(?P<place>.+?): (?P<level>error|warning|note)\[(?P<rule>[a-z0-9-]+)\] (?P<message>.+)")


def levels_of(text: str) -> Counter[str]:
    return Counter(match["level"] for line in text.splitlines() if (match := LINE.fullmatch(line)) is not None)


@pytest.mark.parametrize("report", [samples.mixed(), samples.hostile(), samples.empty()])
def test_every_open_finding_has_a_line(report: Report) -> None:
    counts = summary_of(report)
    shown = concise.render(report)
    assert levels_of(shown) == Counter({level.value: number for level, number in counts.findings.items() if number})
    open_ = counts.verdicts[ArtifactVerdict.UNDECIDED] + counts.verdicts[ArtifactVerdict.UNREADABLE]
    assert len(shown.splitlines()) == sum(counts.findings.values()) + open_ + counts.errors + counts.stale


def test_the_place_of_a_finding_is_its_symbol_or_its_line() -> None:
    binary = samples.an_artifact("x.so", findings=(samples.a_finding("missing-import", "_Z1fv", message="two\nlines"),))
    note = samples.a_finding("half-intrinsic", None, severity=Severity.NOTE, message="here")
    source = samples.an_artifact(
        "k.cu",
        kind=ArtifactKind.SOURCE,
        machine=None,
        verdict=ArtifactVerdict.NOT_TORCH,
        findings=(replace(note, locations=(Location(file="k.cu", line=7),)),),
    )
    report = samples.a_report(binary, source, errors=(InputError("a.whl", "is damaged"),))
    assert concise.render(report).splitlines() == [
        "a.whl: unreadable: is damaged",
        "k.cu:7: note[half-intrinsic] here",
        "x.so:_Z1fv: error[missing-import] two lines",
    ]
    assert levels_of(concise.render(report, Style(quiet=True))) == Counter({"error": 1})


def test_what_is_not_known_is_never_silent() -> None:
    undecided = samples.an_artifact("x.so", verdict=ArtifactVerdict.UNDECIDED)
    assert concise.render(samples.a_report(undecided)) == "x.so: undecided: unknown whether it loads\n"


@dataclass
class Rows:
    """Name -> (first, second number) in a table."""

    rules: dict[str, tuple[int, int]]
    causes: dict[str, tuple[int, int]]


def rows_of(text: str) -> Rows:
    rules, causes = (
        {words[2]: (int(words[0]), int(words[1])) for words in map(str.split, table.splitlines()[1:])}
        for table in text.split("\n\n")
    )
    return Rows(rules, causes)


def test_statistics_are_the_counts_of_the_json_report() -> None:
    files: list[Path] = [FIXTURES / name for name in ("old-string-extension.so", "clang-const-data-ptr.so")]
    artifacts = document("--torch", "2.13.0", *files)["artifacts"]
    assert isinstance(artifacts, list)
    found = rows_of(run("--torch", "2.13.0", "--statistics", *files).stdout)
    of_rules = Counter(f"{f['severity']}[{f['rule']}]" for each in artifacts for f in each["findings"])
    assert {rule: number for rule, (number, _files) in found.rules.items()} == of_rules
    of_causes: Counter[str] = Counter()
    for each in artifacts:
        for cause in each["causes"]:
            of_causes[cause["cause"]] += len(cause["symbols"])
    assert {cause: number for cause, (number, _files) in found.causes.items()} == of_causes
    assert all(files_with <= 2 for table in (found.rules, found.causes) for _number, files_with in table.values())


def test_statistics_of_nothing_are_empty() -> None:
    assert statistics.render(samples.a_report(samples.an_artifact("x.so"))) == ""
