"""Markdown: complete facts, and no name can leave its cell or code block."""

from __future__ import annotations

import html
import re

import pytest
from msgspec.structs import replace

from abiscan.model.finding import Severity
from abiscan.model.report import ArtifactVerdict, InputError
from abiscan.model.target import TargetEnvironment
from abiscan.report import markdown
from tests.report import samples


def test_what_a_reviewer_needs() -> None:
    text = markdown.render(samples.mixed())
    assert text.startswith(
        "## abiscan: ❌ fail\n\n6 files checked: 1 loads, 1 fails to load, 1 undecided, 1 unreadable, 1 not torch"
    )
    assert "against torch 2.13.0 (cpu)" in text
    assert "| 2 of 6 | 1 | 1 | - |" in text
    assert "```text\n" + samples.CXX11.fix + "\n```" in text
    assert "could not be read: <code>dist/other.whl</code>" in text
    assert "stale (fails): missing-import of &#95;Zgone" in text
    assert "the same function with the other std::string" in text


def rows(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("| ")]


@pytest.mark.parametrize("name", samples.HOSTILE)
def test_a_name_stays_in_its_cell(name: str) -> None:
    cell = markdown.code(name, limit=10_000)
    inner = cell.removeprefix("<code>").removesuffix("</code>")
    assert not set(inner) & set("<>|`\n\r\\[]*_@")
    assert html.unescape(inner).isprintable()


def test_prose_is_readable_as_text() -> None:
    text = "torch>=1.13 (cu102)+x: a_C.x86_64.so, std::vector<int> const& it's"
    assert markdown.plain(text) == text.replace("<", "&#60;")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("_a_ and __b__", "&#95;a&#95; and &#95;&#95;b&#95;&#95;"),
        ("x `a` _b", "x <code>a</code> &#95;b"),
        ("> quoted", "&#62; quoted"),
        ("+ item", "&#43; item"),
        ("&lt;b", "&#38;lt;b"),
        ("[a](b) ![c]", "&#91;a&#93;(b) !&#91;c&#93;"),
        ("@user #1 ~a~ $x$ *b*", "&#64;user &#35;1 &#126;a&#126; &#36;x&#36; &#42;b&#42;"),
    ],
)
def test_markup_in_prose_is_escaped(text: str, shown: str) -> None:
    # CommonMark 0.31.2, 2.4, 2.5 and 6.2; GitHub mentions, references, strikethrough and mathematics.
    assert markdown.plain(text) == shown


def test_tables_keep_their_columns() -> None:
    for line in rows(markdown.render(samples.hostile())):
        assert len(re.findall(r"(?<!\\)\|", line)) in (5 + 2, 4 + 1), line
    assert "<script>alert(1)</script>" not in re.sub(
        r"(?ms)^(`{3,})text\n.*?^\1$", "", markdown.render(samples.hostile())
    )


def test_a_fence_outlasts_what_it_holds() -> None:
    assert markdown.fenced("a\n```\n# b\n````x") == "`````text\na\n```\n# b\n````x\n`````"


def test_it_fits_a_job_summary() -> None:
    text = markdown.render(samples.large(files=200, imports=60_000, builds=2))
    assert len(text.encode()) <= 1 << 20
    assert "… and" in text


def test_a_run_with_nothing_in_it() -> None:
    text = markdown.render(samples.empty())
    assert text.startswith("## abiscan: ✅ pass\n\n0 files")
    assert "no shared object in x.whl" in text


def test_unreadable_files_are_counted_without_a_torch() -> None:
    report = samples.a_report(errors=(InputError("x.whl", "cut off"),))
    assert markdown.render(report).split("\n\n")[1] == "1 input could not be read"


def test_many_wheels_have_a_table_and_files_in_order_are_counted() -> None:
    report = samples.wheels()
    _, _, wheels, files = markdown.render(report).split("\n\n")[:4]
    shown = [html.unescape(re.sub("<.*?>", "", row)).split(" | ") for row in wheels.splitlines()[2:]]
    assert {cells[0].removeprefix("| ") for cells in shown} == {c.path for c in report.containers}
    worst_first = [cells[1].split()[-1] for cells in shown]
    assert worst_first[0] == "fails"
    assert worst_first == sorted(worst_first, key=["fails", "undecided", "loads", "torch"].index)
    settled = (ArtifactVerdict.LOADS, ArtifactVerdict.NOT_TORCH)
    quiet = [
        a
        for a in report.artifacts
        if a.verdict in settled and not any(f.severity is not Severity.NOTE for f in a.standing)
    ]
    assert quiet
    assert files.count("\n| <code>") == len(report.artifacts) - len(quiet)
    assert f"{len(quiet)} file" in markdown.render(report)


def test_findings_of_a_rule_in_one_file_are_one_row() -> None:
    findings = tuple(samples.a_finding(symbol=f"_Z{n}") for n in range(5))
    text = markdown.render(samples.a_report(samples.an_artifact(findings=findings)))
    (row,) = [row for row in rows(text) if findings[0].rule in row]
    assert "(5 findings of this rule in 1 file)" in row


def test_the_torch_is_named_if_all_files_have_it() -> None:
    one = samples.an_artifact("", "a.so")
    build = replace(samples.TARGET, version="2.4.0")
    other = replace(samples.an_artifact("", "b.so"), target=TargetEnvironment(torch_build=build))
    assert "against torch 2.13.0 (cpu)" in markdown.render(samples.a_report(one))
    text = markdown.render(samples.a_report(one, other))
    assert "each against its target torch" in text
    assert "against torch 2.13.0" not in text
