r"""The JSON report, version 2: a contract with users' scripts and dashboards.

Fields of the types of `model` are keys, unless `_FIELDS` lists others; a test compares them with the schema. Keys may
be added, never renamed. The schema is `data/report.schema.json`, which `abiscan schema` prints.

The text is UTF-8. A name in a binary may contain other bytes; each of them is written as the four characters `\xNN`, so
the document is always valid and different names stay different. Everything is sorted, except lists with a meaningful
order: causes (best first), releases (oldest first), needed libraries (order of the loader)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from abiscan import __version__
from abiscan.model.cause_page import CausePage
from abiscan.model.finding import Finding, RuleInfo
from abiscan.model.imports import CheckedImport, Status
from abiscan.model.loading import LoaderPrediction
from abiscan.model.operators import Operator
from abiscan.model.outcome import GateOutcome, container_outcome, outcome_of
from abiscan.model.release import ReleaseVerdict
from abiscan.model.report import (
    SCHEMA_VERSION,
    ArtifactReport,
    ArtifactVerdict,
    Container,
    ImportsShown,
    Report,
)
from abiscan.model.subject import Subject
from abiscan.report.order import sorted_artifacts, sorted_errors, sorted_findings, sorted_imports
from abiscan.report.summary import Summary, status_counts, summary_of

# Elements of these lists have one line each, so that `diff` and `grep` are useful.
_EXPAND_TO = 3

_SURROGATE = re.compile("[\ud800-\udfff]")


def render(report: Report) -> str:
    """The whole run as one JSON document, ending in a newline."""
    outcomes: dict[str, GateOutcome] = {}
    artifacts = []
    for each in sorted_artifacts(report.artifacts):
        outcomes[each.display] = outcome = outcome_of(each, report.fail_on, report.accepted)
        artifacts.append(artifact(each, outcome, imports_shown=report.imports_shown))
    containers = sorted(report.containers, key=lambda c: c.path)
    return document(
        report.version,
        {
            "root": plain(report.root),
            "torch_build": plain(report.torch_build),
            "verdict": report.verdict,
            "fail_on": report.fail_on if report.fail_on is not None else "never",
            "summary": summary(summary_of(report)),
            "imports_shown": report.imports_shown,
            "artifacts": artifacts,
            "containers": [
                {**plain(each), "outcome": container_outcome(each, report, outcomes)} for each in containers
            ],
            "errors": [plain(e) for e in sorted_errors(report)],
            "stale": plain(report.stale),
            "notes": plain(report.notes),
            "rules": [plain(rule) for rule in sorted(report.rules, key=lambda r: r.id)],
        },
    )


def render_explanation(
    subjects: Sequence[Subject] = (),
    *,
    cause: CausePage | None = None,
    rules: Sequence[RuleInfo] = (),
    near: Sequence[str] = (),
) -> str:
    """The result of `explain`, in the order of the subjects in the text (`$defs/explain` of the schema).

    Args:
        cause: the page of the cause with the given id.
        rules: the rules with the given id, as in `abiscan rules -f json`.
        near: similar ids.
    """
    # The contract requires an owner: a message without a symbol has none.
    members: dict[str, Any] = {"subjects": [{**plain(each), "owner": each.owner or "other"} for each in subjects]}
    if cause is not None:
        # The torch in the title is unknown without a file.
        members["cause"] = {**msgspec.to_builtins(cause), "title": cause.title_for()}
    if rules:
        members["rules"] = [msgspec.structs.asdict(rule) for rule in rules]
    if near:
        members["near"] = list(near)
    return document(__version__, members)


def document(version: str, members: Mapping[str, Any]) -> str:
    """The result of a command as one JSON document, ending in a newline."""
    tool = {"name": "abiscan", "version": version}
    return _indented({"schema_version": SCHEMA_VERSION, "tool": tool, **members}, 0) + "\n"


# --- parts that NDJSON uses too ---------------------------------------------------------------------------------


def text(value: str) -> str:
    r"""`value` as valid Unicode: a byte that is not UTF-8 becomes the four characters `\xNN`."""
    if value.isascii():
        return value
    return _SURROGATE.sub(_escaped, value)


def plain(value: Any, more: Mapping[type, tuple[str, ...]] | None = None) -> Any:
    """`value` as JSON values: texts as valid Unicode, tuples as arrays, tables and types of the model as objects.

    Args:
        more: further types of which other fields are written, as in `_FIELDS`.
    """
    if isinstance(value, str):
        return text(value)
    if isinstance(value, tuple):
        return [plain(item, more) for item in value]
    if isinstance(value, dict):
        return {text(key): plain(item, more) for key, item in value.items()}
    if not isinstance(value, msgspec.Struct):
        return value
    fields = _FIELDS.get(type(value)) or (more or {}).get(type(value)) or value.__struct_fields__
    return {field: plain(getattr(value, field), more) for field in fields}


def summary(counts: Summary) -> dict[str, Any]:
    """Counts. `findings` counts open findings; accepted ones are in `suppressed`."""
    return {
        "artifacts": counts.artifacts,
        "loads": counts.verdicts[ArtifactVerdict.LOADS],
        "fails": counts.verdicts[ArtifactVerdict.FAILS],
        "undecided": counts.verdicts[ArtifactVerdict.UNDECIDED],
        "unreadable": counts.verdicts[ArtifactVerdict.UNREADABLE],
        "not_torch": counts.verdicts[ArtifactVerdict.NOT_TORCH],
        "findings": counts.findings,
        "suppressed": counts.suppressed,
        "stale": counts.stale,
        "errors": counts.errors,
        "containers": _by_outcome(counts.containers),
        "outcomes": _by_outcome(counts.outcomes),
    }


def _by_outcome(counts: Mapping[GateOutcome, int]) -> dict[str, int]:
    return {outcome.value.replace("-", "_"): number for outcome, number in counts.items()}


def artifact(value: ArtifactReport, outcome: GateOutcome, *, imports_shown: ImportsShown = "all") -> dict[str, Any]:
    """One artifact. `releases` is empty if no build is known or none was checked; `releases_checked` distinguishes the
    two."""
    imports: Iterable[CheckedImport] = value.imports
    if imports_shown == "unresolved":
        imports = (each for each in imports if each.status is not Status.RESOLVED)
    return {
        "path": text(value.path),
        "member": plain(value.member),
        "kind": value.kind,
        "sha256": value.sha256,
        "size": value.size,
        # The contract requires a string: a source or unreadable file has no machine.
        "machine": text(value.machine) if value.machine is not None else "none",
        "build_id": value.build_id,
        "verdict": value.verdict,
        "outcome": outcome,
        "loader": plain(value.loader),
        "needed": plain(value.needed),
        "imports": [_import(b, value) for b in sorted_imports(imports)],
        "import_counts": status_counts(value.imports),
        "releases": [
            {**plain(each), "missing": sorted(plain(each.missing)), "drift": sorted(plain(each.drift))}
            for each in value.releases or ()
        ],
        "releases_checked": value.releases is not None,
        "what_if": plain(value.what_if),
        "provenance": plain(value.provenance),
        "findings": [plain(f) for f in sorted_findings(value.findings)],
        "causes": plain(value.causes),
        "target": plain(value.target),
        "notes": plain(value.notes),
        "replaced_by": plain(value.replaced_by),
        "operators": plain(value.operators),
        "called_operators": plain(value.called),
        "parts": plain(value.parts),
    }


# --- the rest ---------------------------------------------------------------------------------------------------

# Of these types not every field is written, or others are, in this order.
_FIELDS: dict[type, tuple[str, ...]] = {
    LoaderPrediction: ("outcome", "error", "undecided"),
    Operator: ("name", "overload", "registration", "schema", "confidence", "defines"),
    Finding: (
        *("rule", "severity", "confidence", "symbol", "symbols", "message", "fix", "locations", "fingerprint"),
        *("suppressed", "suppression"),
    ),
    Container: (
        *("path", "kind", "name", "version", "tags", "requires_torch", "verdict", "artifacts"),
        *("requires_dist", "requires_python", "applicable_torch"),
    ),
    ReleaseVerdict: ("build", "torch", "variant", "cxx11_abi", "verdict", "state", "missing", "drift", "reason"),
    RuleInfo: ("id", "summary", "severity", "confidence"),
}


def _import(value: CheckedImport, report: ArtifactReport) -> dict[str, Any]:
    symbol = value.symbol
    return {
        "mangled": text(symbol.name),
        "demangled": plain(value.demangled),
        "demangled_by": value.demangled_by,
        "binding": symbol.binding,
        "version": text(symbol.version.name) if symbol.version is not None else None,
        "owner": value.owner,
        "status": value.status,
        "provider": plain(value.provider),
        "exported_in": report.exported_in.get(value.name),
        "causes": plain(report.import_causes.get(value.name, ())),
    }


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def compact(value: Any) -> str:
    """JSON text of `value` on one line, spaced like `json.dumps`. Enumeration members are written as their values. Uses
    one encoder implemented in C: `json.dumps` creates one per call, and a report has a line per import."""
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


def _indented(value: Any, depth: int) -> str:
    """Elements of lists of objects, and members of these objects, one line each, down to the depth `_EXPAND_TO`."""
    inner, outer = "\n" + "  " * (depth + 1), "\n" + "  " * depth
    if depth <= _EXPAND_TO and isinstance(value, dict) and value:
        parts = [f"{inner}{compact(key)}: {_indented(item, depth + 1)}" for key, item in value.items()]
        return "{" + ",".join(parts) + outer + "}"
    if depth <= _EXPAND_TO and isinstance(value, list) and value and isinstance(value[0], dict):
        return "[" + ",".join(inner + _indented(item, depth + 1) for item in value) + outer + "]"
    return compact(value)
