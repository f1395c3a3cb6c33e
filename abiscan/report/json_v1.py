"""The JSON report, version 1: a contract with users' scripts and dashboards.

This is a copy of `model`'s types, on purpose: a field may be renamed there, never here. Fields may be added. The shape
is `data/report-v1.schema.json`, which `abiscan schema` prints.

The text is UTF-8. A name in a binary is bytes, and may not be UTF-8; each byte that is not is written as the four
characters `\\xNN`, so the document is always valid and two names stay two names. Everything is sorted, and what the
list's order means (causes best first, releases oldest first, needed libraries as the loader walks them) is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from abiscan.model.binding import BoundImport, Status
from abiscan.model.cause import Cause, CauseGroup
from abiscan.model.finding import (
    Finding,
    RuleInfo,
    Severity,
    WhatIf,
)
from abiscan.model.provenance import Provenance
from abiscan.model.release import ReleaseVerdict
from abiscan.model.report import (
    ArtifactReport,
    ArtifactVerdict,
    Container,
    Report,
    StaleEntry,
)
from abiscan.model.subject import Subject
from abiscan.model.target import Target
from abiscan.model.versions import Windows

SCHEMA_VERSION = 1

# Elements of these lists stand on one line each: a diff of two reports then reads, and `grep` finds a name.
_EXPAND_TO = 3

_SURROGATE = re.compile("[\ud800-\udfff]")
_SEVERITY_ORDER = {severity: place for place, severity in enumerate(Severity)}


def render(report: Report) -> str:
    """The whole run as one JSON document, ending in a newline."""
    return dump(document(report))


def document(report: Report) -> dict[str, Any]:
    """The run as JSON values. Every string is valid Unicode."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": tool(report.version),
        "target": target(report.target),
        "verdict": report.verdict.value,
        "fail_on": report.fail_on.value if report.fail_on is not None else "never",
        "summary": summary(report),
        "artifacts": [artifact(a) for a in sorted_artifacts(report)],
        "containers": [container(c) for c in sorted(report.containers, key=lambda c: c.path)],
        "errors": errors(report),
        "stale": [_stale(entry) for entry in report.stale],
        "notes": _texts(report.notes),
        "rules": [_rule(rule) for rule in sorted(report.rules, key=lambda r: r.id)],
    }


def explain_document(subjects: Sequence[Subject], version: str) -> dict[str, Any]:
    """The answer of `explain`, in the order in which the text named its subjects (`$defs/explain` of the schema)."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": tool(version),
        "subjects": [_subject(subject) for subject in subjects],
    }


def dump(value: Any) -> str:
    """JSON text of `value`: indented down to a report's large lists, whose elements take a line each."""
    return _dump(value, 0) + "\n"


# --- parts that other formats use too ---------------------------------------------------------------------------


def text(value: str) -> str:
    """`value` as valid Unicode: a byte that was not UTF-8 becomes the four characters `\\xNN`."""
    if value.isascii():
        return value
    return _SURROGATE.sub(_escaped, value)


def tool(version: str) -> dict[str, Any]:
    return {"name": "abiscan", "version": version}


def target(value: Target | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "kind": value.kind.value,
        "torch": text(value.torch),
        "variant": text(value.variant),
        "cuda": _optional(value.cuda),
        "hip": _optional(value.hip),
        "cxx11_abi": value.cxx11_abi,
        "path": _optional(value.path),
        "note": _optional(value.note),
        "machine": _optional(value.machine),
        "git_revision": _optional(value.git_revision),
        "python": _optional(value.python),
    }


def summary(report: Report) -> dict[str, Any]:
    """Counts. `findings` counts what stands; what a baseline or an ignore accepts is in `suppressed`."""
    verdicts = [a.verdict for a in report.artifacts]
    findings = [f for a in report.artifacts for f in a.findings]
    return {
        "artifacts": len(verdicts),
        "loads": verdicts.count(ArtifactVerdict.LOADS),
        "fails": verdicts.count(ArtifactVerdict.FAILS),
        "undecided": verdicts.count(ArtifactVerdict.UNDECIDED),
        "unreadable": verdicts.count(ArtifactVerdict.UNREADABLE),
        "not_torch": verdicts.count(ArtifactVerdict.NOT_TORCH),
        "findings": {s.value: sum(f.severity is s and not f.suppressed for f in findings) for s in Severity},
        "suppressed": sum(f.suppressed for f in findings),
        "stale": len(report.stale),
        "errors": len(report.errors),
    }


def errors(report: Report) -> list[dict[str, Any]]:
    return [
        {"path": text(error.path), "message": text(error.message)}
        for error in sorted(report.errors, key=lambda e: (e.path, e.message))
    ]


def sorted_artifacts(report: Report) -> list[ArtifactReport]:
    """The order in which every machine format lists artifacts."""
    return sorted(report.artifacts, key=lambda a: (a.path, a.member or "", a.kind.value))


def sorted_findings(findings: Iterable[Finding]) -> list[Finding]:
    """The order in which every machine format lists findings: worst first, then by name."""
    return sorted(
        findings,
        key=lambda f: (_SEVERITY_ORDER[f.severity], f.rule, f.symbol or "", f.fingerprint, f.message),
    )


def artifact(value: ArtifactReport) -> dict[str, Any]:
    """One artifact. `releases` is empty both where no build is known and where none was asked for; `releases_judged`
    tells the two apart."""
    return {
        "path": text(value.path),
        "member": _optional(value.member),
        "kind": value.kind.value,
        "sha256": value.sha256,
        "size": value.size,
        # The contract has a string here: a source file, or one that could not be read, is of no machine.
        "machine": text(value.machine) if value.machine is not None else "none",
        "build_id": value.build_id,
        "verdict": value.verdict.value,
        "loader": {
            "outcome": value.loader.outcome.value if value.loader.outcome is not None else None,
            "error": _optional(value.loader.error),
            "undecided": _optional(value.loader.undecided),
        },
        "needed": [{"soname": text(n.soname), "found": _optional(n.found)} for n in value.needed],
        "imports": [bound_import(b) for b in sorted_imports(value.imports)],
        "import_counts": import_counts(value),
        "releases": [release(r) for r in value.releases or ()],
        "releases_judged": value.releases is not None,
        "what_if": [_what_if(w) for w in value.what_if],
        "provenance": _provenance(value.provenance),
        "findings": [finding(f) for f in sorted_findings(value.findings)],
        "causes": [_cause_group(group) for group in value.causes],
        "notes": _texts(value.notes),
    }


def container(value: Container) -> dict[str, Any]:
    return {
        "path": text(value.path),
        "kind": value.kind,
        "name": _optional(value.name),
        "version": _optional(value.version),
        "tags": _texts(value.tags),
        "requires_torch": _texts(value.requires_torch),
        "verdict": value.verdict.value,
        "artifacts": _texts(value.artifacts),
    }


def sorted_imports(imports: Iterable[BoundImport]) -> list[BoundImport]:
    return sorted(imports, key=lambda b: (b.name, b.symbol.version.name if b.symbol.version else "", b.symbol.index))


def import_counts(value: ArtifactReport) -> dict[str, int]:
    """How many imports have each status; every status is there, zero or not."""
    counts = {status.value: 0 for status in Status}
    for bound in value.imports:
        counts[bound.status.value] += 1
    return counts


def bound_import(value: BoundImport) -> dict[str, Any]:
    symbol = value.symbol
    return {
        "mangled": text(symbol.name),
        "demangled": _optional(value.demangled),
        "demangled_by": value.demangled_by.value,
        "binding": symbol.binding.value,
        "version": text(symbol.version.name) if symbol.version is not None else None,
        "owner": value.owner.value,
        "status": value.status.value,
        "provider": _optional(value.provider),
        "windows": windows(value.windows),
        "causes": [_cause(cause) for cause in value.causes],
    }


def release(value: ReleaseVerdict) -> dict[str, Any]:
    return {
        "build": text(value.build),
        "torch": text(value.torch),
        "variant": text(value.variant),
        "cxx11_abi": value.cxx11_abi,
        "verdict": "loads" if value.loads else "fails",
        "missing": sorted(_texts(value.missing)),
        "drift": sorted(_texts(value.drift)),
        "reason": text(value.reason),
    }


def finding(value: Finding) -> dict[str, Any]:
    return {
        "rule": text(value.rule),
        "severity": value.severity.value,
        "confidence": value.confidence.value,
        "symbol": _optional(value.symbol),
        "symbols": _texts(value.symbols),
        "message": text(value.message),
        "fix": text(value.fix),
        "locations": [
            {
                "function": _optional(location.function),
                "file": _optional(location.file),
                "line": location.line,
                "offset": location.offset,
            }
            for location in value.locations
        ],
        "fingerprint": value.fingerprint,
        "suppressed": value.suppressed,
        "suppression": _optional(value.suppression),
    }


def windows(value: Windows | None) -> list[list[str]] | None:
    return None if value is None else [[text(first), text(last)] for first, last in value]


# --- the rest ---------------------------------------------------------------------------------------------------


def _cause(value: Cause) -> dict[str, Any]:
    return {
        "cause": value.cause.value,
        "confidence": value.confidence.value,
        "evidence": _texts(value.evidence),
        "fix": text(value.fix),
    }


def _cause_group(value: CauseGroup) -> dict[str, Any]:
    return {
        "cause": value.cause.value,
        "confidence": value.confidence.value,
        "summary": text(value.summary),
        "evidence": _texts(value.evidence),
        "fix": text(value.fix),
        "symbols": _texts(value.symbols),
    }


def _what_if(value: WhatIf) -> dict[str, Any]:
    return {
        "rule": text(value.rule),
        "symbols": _texts(value.symbols),
        "windows": windows(value.windows),
        "assumes": text(value.assumes),
    }


def _provenance(value: Provenance) -> dict[str, Any]:
    return {
        "compilers": _texts(value.compilers),
        "cxx11_abi": value.cxx11_abi,
        "torch_window": windows(value.torch_window),
        "built_for": _optional(value.built_for),
        "built_for_basis": _optional(value.built_for_basis),
        "python_abi": _optional(value.python_abi),
        "cuda": _optional(value.cuda),
        "gpu_archs": _texts(value.gpu_archs),
        "abi": _optional(value.abi),
        "glibc_needed": _optional(value.glibc_needed),
        "libstdcxx_needed": _optional(value.libstdcxx_needed),
    }


def _stale(value: StaleEntry) -> dict[str, Any]:
    return {"source": text(value.source), "entry": text(value.entry), "fails": value.fails}


def _rule(value: RuleInfo) -> dict[str, Any]:
    return {
        "id": text(value.id),
        "summary": text(value.summary),
        "severity": value.severity.value,
        "confidence": value.confidence.value,
    }


def _subject(value: Subject) -> dict[str, Any]:
    location = value.location
    return {
        "text": text(value.text),
        "kind": value.kind.value,
        "mangled": _optional(value.mangled),
        "demangled": _optional(value.demangled),
        "demangled_by": value.demangled_by.value,
        # The contract has a string here: a message that is about no name has no owner to tell.
        "owner": value.owner.value if value.owner is not None else "other",
        "windows": windows(value.windows),
        "causes": [_cause(cause) for cause in value.causes],
        "history": _texts(value.history),
        "needed_by": _optional(value.needed_by),
        "location": None
        if location is None
        else {
            "function": _optional(location.function),
            "file": _optional(location.file),
            "line": location.line,
            "offset": location.offset,
        },
        "notes": _texts(value.notes),
    }


def _optional(value: str | None) -> str | None:
    return None if value is None else text(value)


def _texts(values: Iterable[str]) -> list[str]:
    return [text(value) for value in values]


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def _dump(value: Any, depth: int) -> str:
    inner, outer = "\n" + "  " * (depth + 1), "\n" + "  " * depth
    if depth <= _EXPAND_TO and isinstance(value, dict) and value:
        parts = [
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {_dump(item, depth + 1)}" for key, item in value.items()
        ]
        return "{" + ",".join(parts) + outer + "}"
    if depth <= _EXPAND_TO and isinstance(value, list) and value and isinstance(value[0], dict):
        return "[" + ",".join(inner + _dump(item, depth + 1) for item in value) + outer + "]"
    # Without indentation this runs in the encoder that is written in C.
    return json.dumps(value, ensure_ascii=False)
