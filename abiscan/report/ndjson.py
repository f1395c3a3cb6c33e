"""Newline-delimited JSON for dashboards: a line for the run, then one for each artifact.

Every line repeats the few fields that a query groups by (`torch`, `variant`, `run_verdict`), so that files of many runs
can be loaded as one table without a join (docs/dashboards.md). Imports that resolved are counted, not listed; the JSON
report has them all. Field names and meanings are those of the JSON report.
"""

from __future__ import annotations

import json
from typing import Any

from abiscan.model.report import Report
from abiscan.report import json_v1


def render(report: Report) -> str:
    """The lines, each ending in a newline."""
    target = json_v1.target(report.target)
    header: dict[str, Any] = {
        "schema_version": json_v1.SCHEMA_VERSION,
        "tool_version": report.version,
        "torch": target["torch"] if target else None,
        "variant": target["variant"] if target else None,
        "target_kind": target["kind"] if target else None,
        "run_verdict": report.verdict.value,
    }
    whole = json_v1.document(report)
    records: list[dict[str, Any]] = [
        {"record": "run", **header, **{key: whole[key] for key in ("summary", "errors", "stale", "notes")}}
    ]
    for artifact in whole["artifacts"]:
        artifact["imports"] = [i for i in artifact["imports"] if i["status"] != "resolved"]
        records.append({"record": "artifact", **header, **artifact})
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
