"""Workflow commands, decoded as the runner decodes them (actions/toolkit, docs/commands.md)."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from abiscan.model.finding import Location, Severity
from abiscan.report import github
from tests.report import samples

COMMAND = re.compile(r"::(error|warning|notice) ((?:[a-z]+=[^,:]*,?)+)::(.*)")


def decoded(line: str) -> tuple[str, dict[str, str], str]:
    match = COMMAND.fullmatch(line)
    assert match is not None, line

    def data(text: str) -> str:
        return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")

    properties = dict(pair.split("=", 1) for pair in match[2].split(","))
    return (
        match[1],
        {k: data(v.replace("%3A", ":").replace("%2C", ",")) for k, v in properties.items()},
        data(match[3]),
    )


def test_every_kind_is_there() -> None:
    commands = [decoded(line) for line in github.render(samples.mixed()).splitlines()]
    assert ("error", "abiscan: cannot be read") in [(level, p["title"]) for level, p, _ in commands]
    assert ("error", "abiscan: stale entry") in [(level, p["title"]) for level, p, _ in commands]
    assert ("warning", "abiscan: undecided") in [(level, p["title"]) for level, p, _ in commands]
    (source,) = [p for _, p, m in commands if "const_data_ptr<long>" in m]
    assert (source["file"], source["line"]) == ("csrc/kernel one.cpp", "42")
    (missing,) = [(p, m) for _, p, m in commands if "nothing exports" in m]
    assert missing[0]["file"] == "dist/example-1.0-cp311-cp311-linux_x86_64.whl"
    assert missing[1].endswith("\nfix: Rebuild with torch 2.13.0")
    # One const-data-ptr of ops.abi3.so is accepted and not reported.
    assert not [m for _, p, m in commands if "ops.abi3.so" in m and "const-data-ptr" in p["title"]]


def test_a_name_cannot_start_a_command() -> None:
    text = github.render(samples.hostile())
    for line in text.split("\n")[:-1]:
        decoded(line)
    assert "\x1b" not in text
    assert "\r" not in text
    assert all(line.startswith("::") for line in text.split("\n")[:-1])


@pytest.mark.parametrize(("number", "lines"), [(10, 10), (11, 10), (500, 10)])
def test_ten_of_a_level(number: int, lines: int) -> None:
    findings = tuple(
        samples.a_finding(symbol=f"_Z{i}", locations=(Location(None, "a.cpp", i + 1, None),)) for i in range(number)
    )
    text = github.render(samples.a_report(samples.an_artifact(findings=findings)))
    assert text.count("\n") == lines
    if number > 10:
        assert f"and {number - 9} more" in text.splitlines()[-1]


def test_failing_files_lead_with_their_cause_and_findings_take_turns() -> None:
    """Two wheels, one with a member of many findings before it in the alphabet: each wheel has one annotation before
    any has two."""
    wheels = ("dist/a.whl", "dist/b.whl")
    artifacts = [
        replace(
            samples.failing(),
            path=path,
            member=f"x/m{n}.so",
            findings=tuple(
                samples.a_finding(rule, f"_Z{i}")
                for rule in ("missing-import", "const-data-ptr")
                for i in range(400 if path == wheels[0] else 2)
            ),
        )
        for path in wheels
        for n in range(2)
    ]
    told = [decoded(line) for line in github.render(samples.a_report(*artifacts)).splitlines()]
    assert [(p["file"], p["title"]) for _, p, _ in told[:9]] == [
        *((path, "abiscan: does not load") for path in wheels),
        *((path, "abiscan: const-data-ptr") for path in wheels),
        *((path, "abiscan: missing-import") for path in wheels),
    ]
    cause = samples.failing().causes[0]
    fix = f"{cause.summary}\nfix: {cause.fix}"
    assert told[0][2] == f"dist/a.whl!x/m0.so and 1 more file of this wheel: {fix}"
    assert told[1][2] == f"dist/b.whl!x/m0.so and 1 more file of this wheel: {fix}"
    assert told[2][2].endswith("\nand 799 more of this rule in 2 files of this wheel")
    assert told[3][2].endswith("\nand 3 more of this rule in 2 files of this wheel")


def test_accepted_findings_are_not_printed() -> None:
    artifact = replace(samples.failing(), findings=(replace(samples.a_finding(), suppressed=True),))
    assert github.render(samples.a_report(artifact)) == ""


def test_paths_are_escaped() -> None:
    finding = samples.a_finding(locations=(Location(None, "a,b:c%d.cpp", 7, None),), severity=Severity.NOTE)
    (line,) = github.render(samples.a_report(samples.an_artifact(findings=(finding,)))).splitlines()
    level, properties, _ = decoded(line)
    assert (level, properties["file"], properties["line"]) == ("notice", "a,b:c%d.cpp", "7")


def test_nothing_to_say() -> None:
    assert github.render(samples.a_report(samples.an_artifact())) == ""


def test_a_name_is_escaped_as_the_runner_decodes_it() -> None:
    """Line ends are decoded again (actions/toolkit, escapeData and escapeProperty); no other control character may
    reach the log."""
    name = "a\r\nb\x1b[31m\u202e%0A,:.cpp"
    finding = samples.a_finding(rule=name, message=f"100% of {name}", locations=(Location(None, name, 7, None),))
    text = github.render(samples.a_report(samples.an_artifact(findings=(finding,))))
    (line,) = text.splitlines()
    _, properties, message = decoded(line)
    shown = "a\r\nb\\x1b[31m\\u202e%0A,:.cpp"
    assert properties["file"] == shown
    assert properties["title"] == f"abiscan: {shown}"
    assert f"100% of {shown}" in message
