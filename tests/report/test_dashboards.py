"""The queries of docs/how-to/dashboards.md, run unchanged over a folder of reports."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from abiscan.gate.apply import apply
from abiscan.gate.policy import Policy
from abiscan.report import json_report, ndjson
from tests.report import samples

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "dashboards.md"


def query(name: str) -> str:
    text = DOCS.read_text(encoding="utf-8")
    found = re.search(rf"<!-- duckdb: {name} -->\n```sql\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "reports"
    folder.mkdir()
    before = apply(samples.mixed(), Policy())
    artifact = samples.failing()
    more = replace(artifact, findings=(*artifact.findings, samples.a_finding(symbol="_Z3newv")))
    after = apply(samples.a_report(more), Policy())
    for name, report in (("2026-01-01_a1", before), ("2026-01-02_b2", after), ("2026-01-03_c3", samples.empty())):
        (folder / f"{name}.ndjson").write_text(ndjson.render(report), encoding="utf-8")
        (folder / f"{name}.json").write_text(json_report.render(report), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return folder


def test_findings_by_run_and_rule(reports: Path) -> None:
    # By hand, from the samples: the third run has no artifact, one const-data-ptr of the first is accepted.
    assert duckdb.sql(query("trend")).fetchall() == [
        ("2026-01-01_a1", "const-data-ptr", 2, 2),
        ("2026-01-01_a1", "missing-import", 1, 1),
        ("2026-01-01_a1", "unstable-abi", 1, 1),
        ("2026-01-02_b2", "missing-import", 2, 1),
        ("2026-01-02_b2", "const-data-ptr", 1, 1),
    ]


def test_builds_that_load(reports: Path) -> None:
    module = "example/_C.cpython-311-x86_64-linux-gnu.so"
    assert duckdb.sql(query("releases")).fetchall() == [
        ("2026-01-01_a1", module, 2, 6),
        ("2026-01-01_a1", "example/ops.abi3.so", 6, 6),
        ("2026-01-02_b2", module, 2, 6),
    ]


def test_json_reports_load_too(reports: Path) -> None:
    rows = duckdb.sql(
        "SELECT verdict, summary.artifacts, len(artifacts) FROM read_json('reports/*.json', filename = true,"
        " union_by_name = true, maximum_object_size = 268435456) ORDER BY filename"
    ).fetchall()
    assert rows == [("fail", 6, 6), ("fail", 1, 1), ("pass", 0, 0)]
