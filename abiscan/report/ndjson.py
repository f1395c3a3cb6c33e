"""Newline-delimited JSON for dashboards: one line for the run, then one per artifact.

Every line repeats the few fields for grouping (`torch`, `variant`, `run_verdict`), so that files of many runs can be
loaded as one table without a join (docs/how-to/dashboards.md). Resolved imports are counted, not listed; the JSON
report has them all. Field names and meanings are those of the JSON report."""

from __future__ import annotations

from typing import Any

from abiscan.model.outcome import outcome_of
from abiscan.model.report import SCHEMA_VERSION, Report
from abiscan.report import json_report
from abiscan.report.order import sorted_artifacts, sorted_errors
from abiscan.report.summary import summary_of


def render(report: Report) -> str:
    """The lines, each ending in a newline."""
    build = report.torch_build
    shared: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "tool_version": report.version,
        "torch": json_report.text(build.version) if build else None,
        "variant": json_report.text(build.variant) if build else None,
        "torch_kind": build.kind if build else None,
        "run_verdict": report.verdict,
        "root": json_report.plain(report.root),
    }
    run = {
        "summary": json_report.summary(summary_of(report)),
        "errors": [json_report.plain(e) for e in sorted_errors(report)],
        "stale": json_report.plain(report.stale),
        "notes": json_report.plain(report.notes),
    }
    records = [{"record": "run", **shared, **run}]
    for artifact in sorted_artifacts(report.artifacts):
        outcome = outcome_of(artifact, report.fail_on, report.accepted)
        record = json_report.artifact(artifact, outcome, imports_shown="unresolved")
        records.append({"record": "artifact", **shared, **record})
    return "".join(json_report.compact(record) + "\n" for record in records)
