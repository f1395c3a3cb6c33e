"""`--json-lines`: events on standard output while a scan runs (`$defs/event` of the schema)."""

from __future__ import annotations

import sys
from typing import Any

from abiscan.analysis.merge import Finished
from abiscan.model.outcome import GateOutcome
from abiscan.model.report import SCHEMA_VERSION, ArtifactReport, Container, InputError, Report
from abiscan.report import json_report
from abiscan.report.summary import summary_of


def print_event(finished: Finished) -> None:
    """Print the event of a finished artifact, container or read error; nothing for other results."""
    if isinstance(finished, ArtifactReport):
        record = json_report.artifact(finished, GateOutcome.LOADS, imports_shown="unresolved")
        del record["outcome"]  # the gate decides at the end of the run
        _print("artifact", record)
    elif isinstance(finished, Container):
        _print("container", json_report.plain(finished))
    elif isinstance(finished, InputError):
        _print("error", json_report.plain(finished))


def print_summary(report: Report, status: int) -> None:
    """Print the last event: counts and verdict after the gate."""
    counts = json_report.summary(summary_of(report))
    head = {"schema_version": SCHEMA_VERSION, "verdict": report.verdict, "exit_status": status}
    _print("summary", {**head, "summary": counts})


def _print(event: str, value: dict[str, Any]) -> None:
    sys.stdout.write(json_report.compact({"event": event, **value}) + "\n")
    sys.stdout.flush()
