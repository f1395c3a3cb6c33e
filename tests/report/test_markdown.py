"""Markdown: the facts are there, and no name can leave its cell or its code block."""

from __future__ import annotations

import html
import re

import pytest

from abiscan.report import markdown
from tests.report import samples


def test_what_a_reviewer_needs() -> None:
    text = markdown.render(samples.mixed())
    assert text.startswith("## abiscan: ❌ fail\n\n6 files, 2 loads, 1 fails, 1 undecided, 1 unreadable, 1 not torch")
    assert "against torch 2.13.0 (cpu)" in text
    assert "| 2 of 6 | 1 | 1 | - |" in text
    assert "```sh\n" + samples.CXX11.fix + "\n```" in text
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


def test_tables_keep_their_columns() -> None:
    for line in rows(markdown.render(samples.hostile())):
        assert len(re.findall(r"(?<!\\)\|", line)) in (5 + 2, 4 + 1), line
    assert "<script>alert(1)</script>" not in re.sub(
        r"(?ms)^(`{3,})sh\n.*?^\1$", "", markdown.render(samples.hostile())
    )


def test_a_fence_outlasts_what_it_holds() -> None:
    assert markdown.fenced("a\n```\n# b\n````x") == "`````sh\na\n```\n# b\n````x\n`````"


def test_it_fits_a_job_summary() -> None:
    text = markdown.render(samples.large(files=200, imports=60_000, builds=2))
    assert len(text.encode()) <= 1 << 20
    assert "… and" in text


def test_a_run_with_nothing_in_it() -> None:
    text = markdown.render(samples.empty())
    assert text.startswith("## abiscan: ✅ pass\n\n0 files")
    assert "no shared object in x.whl" in text
