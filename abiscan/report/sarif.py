"""SARIF 2.1.0 (OASIS, errata 01) for code-scanning services.

Within the limits of GitHub (docs.github.com, "SARIF support for code scanning" and "results exceed limit"): every rule
is listed with its help; every result has a location with a line and a fingerprint that survives a rebuild. The least
important results over the limits are dropped, and a notification has their number."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from abiscan.model.cause import CauseId
from abiscan.model.cause_page import CausePage
from abiscan.model.finding import DOES_NOT_LOAD, EXPLAINED_BY_CAUSES, Finding, Location, RuleInfo, Severity
from abiscan.model.outcome import outcome_of
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report
from abiscan.report.address import project_address
from abiscan.report.cause_text import render_markdown, render_text
from abiscan.report.escape import code_fence, printable, printable_lines
from abiscan.report.order import sorted_artifacts, sorted_errors, sorted_findings
from abiscan.report.style import Style

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MAX_RESULTS = 25_000
MAX_LOCATIONS = 100
MAX_COMPRESSED = 10_000_000
_MAX_DESCRIPTION = 1024
_UNWRAPPED = Style(width=None)

# SARIF levels and precisions equal our severities and confidences; this property of GitHub differs in one word.
_PROBLEM = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}


def render(report: Report) -> str:
    """The run as a SARIF log, ending in a newline."""
    keep = MAX_RESULTS
    while True:
        log = document(report, max_results=keep)
        text = json.dumps(log, ensure_ascii=False) + "\n"
        # A text below the limit needs no compression to check it.
        size = len(text) if len(text) * 4 <= MAX_COMPRESSED else len(zlib.compress(text.encode("utf-8"), 6))
        kept = len(log["runs"][0]["results"])
        if size <= MAX_COMPRESSED or kept == 0:
            return text
        keep = kept * MAX_COMPRESSED // size * 9 // 10


def document(report: Report, *, max_results: int = MAX_RESULTS) -> dict[str, Any]:
    """The SARIF log as JSON values, with at most `max_results` results."""
    rules = _rules(report)
    index = {rule["id"]: place for place, rule in enumerate(rules)}
    artifacts = sorted_artifacts(report.artifacts)
    hits = [(place, a, f) for place, a in enumerate(artifacts) for f in sorted_findings(a.findings)]
    # Stable: within one severity, results stay in the order of the files.
    hits.sort(key=lambda hit: (hit[2].suppressed, hit[2].severity.rank))
    seen: dict[tuple[str, str], int] = {}
    results = [_result(a, f, place, index, seen) for place, a, f in hits[:max_results]]
    notifications = _notifications(report, artifacts)
    if len(hits) > len(results):
        notifications.append(
            _notification(
                "warning",
                f"{len(hits) - len(results)} of {len(hits)} results are left out, the least severe ones, to keep "
                "within what code scanning accepts; the JSON report has all",
            )
        )
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "abiscan",
                        "fullName": f"abiscan {report.version}",
                        "shortDescription": {"text": "Symbol and ABI forensics for PyTorch extension binaries"},
                        "version": report.version,
                        "semanticVersion": report.version,
                        **({} if project_address() is None else {"informationUri": project_address()}),
                        "rules": rules,
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": not any(n["level"] == "error" for n in notifications),
                        "toolExecutionNotifications": notifications,
                    }
                ],
                "artifacts": [_artifact(report, a) for a in artifacts],
                "results": results,
                "columnKind": "utf16CodeUnits",
            }
        ],
    }


def uri(path: str, member: str | None = None) -> str:
    """A URI reference (RFC 3986) for a file, or for a member as `container!member`. A relative path stays relative:
    code scanning resolves it in the repository. A `!` in the name of the container is escaped. Bytes that are not UTF-8
    are kept (`%FF`)."""
    text = quote(path.replace("\\", "/"), safe="/", errors="surrogateescape")
    if text.startswith("/"):
        text = "file://" + ("/" + text.lstrip("/"))
    if member is not None:
        text += "!" + quote(member, safe="/!", errors="surrogateescape")
    return text


# --- rules ------------------------------------------------------------------------------------------------------


def _rules(report: Report) -> list[dict[str, Any]]:
    pages = _pages_of_rules(report)
    listed = {rule.id: _rule(rule, pages.get(rule.id, ())) for rule in report.rules}
    for artifact in report.artifacts:
        for finding in artifact.findings:
            # A result must not refer to a rule that is not listed.
            if finding.rule not in listed:
                listed[finding.rule] = {
                    "id": printable(finding.rule),
                    "shortDescription": {"text": printable(finding.rule)},
                    "fullDescription": {"text": printable(finding.rule)},
                    "help": {"text": printable_lines(finding.fix) or printable(finding.rule)},
                    "defaultConfiguration": {"level": finding.severity.value},
                }
    return [listed[rule_id] for rule_id in sorted(listed)]


def _pages_of_rules(report: Report) -> dict[str, tuple[CausePage, ...]]:
    explained: dict[str, set[CauseId]] = {}
    for artifact in report.artifacts:
        for rule in {f.rule for f in artifact.findings} & (EXPLAINED_BY_CAUSES | {DOES_NOT_LOAD}):
            explained.setdefault(rule, set()).update(group.cause for group in artifact.causes)
    return {rule: tuple(p for p in report.cause_pages if p.id in causes) for rule, causes in explained.items()}


def _rule(rule: RuleInfo, pages: Sequence[CausePage]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": printable(rule.id),
        "name": "".join(part.capitalize() for part in rule.id.split("-")),
        "shortDescription": {"text": printable_lines(rule.summary)[:_MAX_DESCRIPTION]},
        "fullDescription": {"text": (printable_lines(rule.why) or printable_lines(rule.summary))[:_MAX_DESCRIPTION]},
        "help": {
            "text": "\n\n".join((_help_text(rule), *(render_text(page, _UNWRAPPED).rstrip() for page in pages))),
            "markdown": "\n\n".join((_help_markdown(rule), *(render_markdown(page, 2) for page in pages))),
        },
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {
            "tags": ["pytorch", "abi"],
            "precision": rule.confidence.value,
            "problem.severity": _PROBLEM[rule.severity],
        },
    }
    link = next((r for r in rule.references if r.startswith(("https://", "http://"))), None)
    if link is not None:
        described["helpUri"] = quote(link, safe="/:?#[]@!$&'()*+,;=%~")
    return described


def _help_text(rule: RuleInfo) -> str:
    parts = [rule.summary, rule.why]
    if rule.example:
        parts.append(f"Example: {rule.example}")
    if rule.use_instead:
        parts.append(f"Fix: {rule.use_instead}")
    parts += list(rule.references)
    return "\n\n".join(printable_lines(part.strip()) for part in parts if part.strip())


def _help_markdown(rule: RuleInfo) -> str:
    parts = [f"**{rule.summary.strip()}**", rule.why.strip()]
    if rule.example.strip():
        fence = code_fence(rule.example)
        parts.append(f"Example:\n\n{fence}cpp\n{rule.example.strip()}\n{fence}")
    if rule.use_instead.strip():
        parts.append(f"Fix: {rule.use_instead.strip()}")
    if rule.references:
        parts.append("\n".join(f"- <{link}>" if "://" in link else f"- {link}" for link in rule.references))
    return "\n\n".join(part for part in parts if part)


# --- results ----------------------------------------------------------------------------------------------------


def _result(
    artifact: ArtifactReport, finding: Finding, place: int, index: dict[str, int], seen: dict[tuple[str, str], int]
) -> dict[str, Any]:
    # Code scanning annotates only the first location, so a source line goes first.
    places = sorted(finding.locations, key=lambda location: location.file is None)[:MAX_LOCATIONS]
    locations = [_location(artifact, location, place) for location in places] or [_location(artifact, None, place)]
    primary = locations[0]["physicalLocation"]["artifactLocation"]["uri"]
    number = seen[(primary, finding.fingerprint)] = seen.get((primary, finding.fingerprint), 0) + 1
    symbols = set(finding.all_symbols) if finding.rule in EXPLAINED_BY_CAUSES else set()
    groups = [group for group in artifact.causes if symbols.intersection(group.symbols)]
    causes = [group.cause.value for group in groups]
    message = _message(finding.message)
    message += "".join(f"\n\nCause: {_message(group.summary)} [{group.cause.value}]" for group in groups[:1])
    if finding.fix:
        message += f"\n\nFix: {_message(finding.fix)}"
    result: dict[str, Any] = {
        "ruleId": printable(finding.rule),
        "ruleIndex": index[finding.rule],
        "level": finding.severity.value,
        "message": {"text": message},
        "locations": locations,
        # GitHub reads the first one; it must differ between two results of one file.
        "partialFingerprints": {
            "primaryLocationLineHash": f"{finding.fingerprint}:{number}",
            "abiscan/v1": finding.fingerprint,
        },
        "properties": {
            "confidence": finding.confidence.value,
            **({"symbol": printable(finding.symbol)} if finding.symbol is not None else {}),
            **({"symbols": [printable(s) for s in finding.symbols]} if finding.symbols else {}),
            **({"causes": causes} if causes else {}),
        },
    }
    if any(location.file is not None for location in places):
        result["analysisTarget"] = {"uri": uri(artifact.path, artifact.member), "index": place}
    if finding.suppressed:
        result["suppressions"] = [
            {
                "kind": "inSource" if finding.in_source else "external",
                "status": "accepted",
                "justification": printable(finding.suppression or ""),
            }
        ]
    return result


def _location(artifact: ArtifactReport, location: Location | None, place: int) -> dict[str, Any]:
    # A binary has no lines, but code scanning requires one. Text and binary parts of a region are independent of each
    # other (section 3.30.4), so both are given.
    region: dict[str, Any] = {"startLine": 1}
    where: dict[str, Any] = {"uri": uri(artifact.path, artifact.member), "index": place}
    if location is not None and location.file is not None:
        where = {"uri": uri(location.file)}
        region = {"startLine": max(location.line or 1, 1)}
    elif location is not None and location.offset is not None:
        region["byteOffset"] = location.offset
    found: dict[str, Any] = {"physicalLocation": {"artifactLocation": where, "region": region}}
    if location is not None and location.function is not None:
        name = printable(location.function)
        found["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "function"}]
    return found


def _artifact(report: Report, artifact: ArtifactReport) -> dict[str, Any]:
    outcome = outcome_of(artifact, report.fail_on, report.accepted)
    described: dict[str, Any] = {
        "location": {"uri": uri(artifact.path, artifact.member)},
        "length": artifact.size,
        "roles": ["analysisTarget"],
        "properties": {"verdict": artifact.verdict.value, "outcome": outcome.value},
    }
    if artifact.sha256 is not None:
        described["hashes"] = {"sha-256": artifact.sha256}
    return described


# --- notifications ----------------------------------------------------------------------------------------------


def _notifications(report: Report, artifacts: list[ArtifactReport]) -> list[dict[str, Any]]:
    found = [
        _notification("error", f"{printable(e.path)}: {printable(e.message)}", uri(*e.path.split("!", 1)))
        for e in sorted_errors(report)
    ]
    for artifact in artifacts:
        where = uri(artifact.path, artifact.member)
        if artifact.verdict is ArtifactVerdict.UNREADABLE:
            found.append(_notification("error", f"{printable(artifact.display)}: could not be read", where))
        elif artifact.verdict is ArtifactVerdict.UNDECIDED:
            why = "; ".join(printable(note) for note in artifact.notes)
            text = f"{printable(artifact.display)}: cannot be decided" + (f": {why}" if why else "")
            found.append(_notification("warning", text, where))
    for entry in report.stale:
        level = "error" if entry.fails else "note"
        # A stale entry is a failure of the gate, not of the tool.
        text = f"{printable(entry.source)}: stale: {printable(entry.entry)}"
        found.append(_notification("warning" if level == "error" else level, text))
    found += [_notification("note", printable(note)) for note in report.all_notes]
    return found


def _notification(level: str, text: str, where: str | None = None) -> dict[str, Any]:
    value: dict[str, Any] = {"level": level, "message": {"text": _message(text)}}
    if where is not None:
        value["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": where}}}]
    return value


def _message(text: str) -> str:
    """Plain text without placeholders (`{0}`) or embedded links (`[a](1)`), which sections 3.11.5 and 3.11.6 require to
    be escaped. Viewers show unnecessary escapes, so only these forms are escaped: `{lambda(int)#1}` of a C++ name is
    unchanged."""
    text = re.sub(r"\{(\d+)\}", r"{{\1}}", printable_lines(text))
    return re.sub(r"\[(?=[^\]]*\]\()", r"\\[", text)
