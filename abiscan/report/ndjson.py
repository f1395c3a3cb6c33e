"""Newline-delimited JSON for dashboards: one line for the run, then one per artifact.

Every line repeats the few fields for grouping (`torch`, `variant`, `run_verdict`), so that files of many runs can be
loaded as one table without a join (docs/how-to/dashboards.md). Resolved imports are counted, not listed; the JSON
report has them all. Field names and meanings are those of the JSON report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from abiscan.model.outcome import outcome_of
from abiscan.model.report import SCHEMA_VERSION, ArtifactReport, Report
from abiscan.report import json_report
from abiscan.report.order import sorted_artifacts, sorted_errors
from abiscan.report.summary import Summary, summary_of


def render(report: Report) -> str:
    """The lines, each ending in a newline."""
    return "".join(stream(report, summary_of(report), sorted_artifacts(report.artifacts)))


def stream(head: Report, counts: Summary, artifacts: Iterable[ArtifactReport]) -> Iterator[str]:
    """The same lines one by one, to limit memory.

    Args:
        head: the run; its `artifacts` are ignored.
        counts: of all the artifacts; the first line has them.
        artifacts: in the order of `order.sorted_artifacts`.
    """
    build = head.torch_build
    shared: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "tool_version": head.version,
        "torch": json_report.text(build.version) if build else None,
        "variant": json_report.text(build.variant) if build else None,
        "torch_kind": build.kind if build else None,
        "run_verdict": head.verdict,
        "root": json_report.plain(head.root),
    }
    run = {
        "summary": json_report.summary(counts),
        "errors": [json_report.plain(e) for e in sorted_errors(head)],
        "stale": json_report.plain(head.stale),
        "notes": json_report.plain(head.notes),
    }
    yield json_report.compact({"record": "run", **shared, **run}) + "\n"
    for artifact in artifacts:
        outcome = outcome_of(artifact, head.fail_on, head.accepted)
        record = json_report.artifact(artifact, outcome, imports_shown="unresolved")
        yield json_report.compact({"record": "artifact", **shared, **record}) + "\n"
