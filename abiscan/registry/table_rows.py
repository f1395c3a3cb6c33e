"""The tables of a registry run: type and meaning of every column, and the rows of one unit.

This is a contract with users' queries, like `report/json_report.py`: columns may be added, never renamed or retyped.
docs/reference/tables.md is generated from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from abiscan.compare.scope import scope_of
from abiscan.compare.scope_compatibility import Builds, find_compatibility
from abiscan.errors import UsageError
from abiscan.model.imports import Owner, Status
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict, Container, Report
from abiscan.report.json_report import text

SCHEMA_VERSION = 2

Row = dict[str, Any]


class Column(Struct, frozen=True):
    """A column.

    Attributes:
        type: `text`, `texts` (a list), `integer`, `real`, `truth` or `bytes`; all may be null.
        of: its meaning.
    """

    name: str
    type: str
    of: str


class RegistryTable(Struct, frozen=True):
    """A table: a file of this name in each part of a run."""

    name: str
    of: str
    columns: tuple[Column, ...]


_PATH = Column("path", "text", "the wheel or archive, as it was listed; the key that joins all tables of one run")
_MEMBER = Column("member", "text", "the file inside of it")
_SYMBOLS = Column("symbols", "texts", "mangled names")

TABLES = (
    RegistryTable(
        "wheels",
        "one row per wheel or archive",
        (
            _PATH,
            Column(
                "identity",
                "text",
                "what identifies its contents: `sha256:`, `etag:`, `modified:` or `file:SIZE:MTIME`; null: read again",
            ),
            Column("name", "text", "of the distribution, from its metadata"),
            Column("version", "text", "of the distribution"),
            Column("requires_python", "text", "as declared"),
            Column("requires_torch", "texts", "its requirements on torch, as declared"),
            Column("verdict", "text", "worst verdict of its files: loads, fails, undecided, unreadable or not-torch"),
            Column("gate", "text", "pass, fail, incomplete: exit status of `abiscan scan` for this wheel"),
            Column("torch", "text", "the release that its files were checked against; null for several"),
            Column("variant", "text", "of that build"),
            Column("files", "integer", "shared objects in it"),
            Column("errors", "integer", "rows of `errors` about it"),
            Column("size", "integer", "size in bytes"),
            Column(
                "bytes_read",
                "integer",
                "bytes read from the wheel (each byte of a local file once); 0: rechecked from stored facts",
            ),
            Column(
                "hash_checked",
                "boolean",
                "true: SHA-256 matches the index; false: read in part, or it differs (an error); null: no index",
            ),
            Column("seconds", "real", "wall time in seconds"),
            Column("cpu_seconds", "real", "processor time in seconds"),
            Column("peak_memory", "integer", "largest resident size of its worker so far, in bytes"),
            Column("source", "text", "`read`: from the wheel; `facts`: from facts that an earlier run stored"),
        ),
    ),
    RegistryTable(
        "files",
        "one row per shared object",
        (
            _PATH,
            _MEMBER,
            Column("verdict", "text", "loads, fails, undecided, unreadable, not-torch"),
            Column("torch", "text", "the release that it was checked against"),
            Column("variant", "text", "of that build"),
            Column("torch_detected_from", "text", "the text that this torch was read from"),
            Column("machine", "text", "its architecture"),
            Column("size", "integer", "in bytes, unpacked"),
            Column("build_id", "text", "hexadecimal"),
            Column("sha256", "text", "with `--hash`"),
            Column("needed", "texts", "needed libraries (sonames)"),
            Column("imports", "integer", "number of imports"),
            Column("unresolved", "integer", "number of imports that are missing, unreachable or undecided"),
            Column("replaced_by", "text", "the build of the same module that replaces it in the verdict"),
            Column("notes", "texts", "notes, as text"),
        ),
    ),
    RegistryTable(
        "imports",
        "one row per import that belongs to torch or did not resolve",
        (
            _PATH,
            _MEMBER,
            Column("mangled", "text", "the name"),
            Column("demangled", "text", "demangled name; null if no demangler accepts it"),
            Column("owner", "text", "owner: torch, python, cuda, ..."),
            Column("status", "text", "resolved, missing, unreachable, undecided, weak"),
            Column("provider", "text", "the library that exports it"),
            Column("exported_in", "text", "the releases of torch that export it: `2.1.0-2.2.2 and 2.12.0-2.15.0`"),
        ),
    ),
    RegistryTable(
        "findings",
        "one row per finding of a rule",
        (
            _PATH,
            _MEMBER,
            Column("rule", "text", "its id"),
            Column("severity", "text", "error, warning, note"),
            Column("confidence", "text", "high, medium, low"),
            Column("suppressed", "boolean", "accepted by the policy, or by another build of the module"),
            Column("message", "text", "what is wrong"),
            Column("fix", "text", "what to do"),
            Column("fingerprint", "text", "stable across rebuilds"),
            Column("places", "integer", "number of places"),
            _SYMBOLS,
        ),
    ),
    RegistryTable(
        "causes",
        "one row per cause of a failing file",
        (
            _PATH,
            _MEMBER,
            Column("cause", "text", "its id (docs/diagnosis.md)"),
            Column("confidence", "text", "high, medium, low"),
            Column("summary", "text", "one sentence"),
            Column("fix", "text", "what to do"),
            _SYMBOLS,
        ),
    ),
    RegistryTable(
        "compatibility",
        "one row per shared object that uses torch and known torch build",
        (
            _PATH,
            _MEMBER,
            Column("torch", "text", "public version"),
            Column("variant", "text", "of the build"),
            Column("state", "text", "loads, possible-layout, fails, other-cuda, other-layout"),
            Column("reason", "text", "reason of a failure; empty if it loads"),
            Column("missing", "integer", "number of symbols that the build does not export"),
        ),
    ),
    RegistryTable(
        "readiness",
        "one row per wheel that uses torch and known torch build: the heat map",
        (
            _PATH,
            Column("torch", "text", "public version"),
            Column("variant", "text", "of the build"),
            Column("works", "boolean", "whether every required file loads and the requirements admit the build"),
            Column("reason", "text", "reason in one word; empty if it works"),
        ),
    ),
    RegistryTable(
        "errors",
        "one row per input that could not be read",
        (_PATH, Column("place", "text", "the wheel, or a member of it"), Column("message", "text", "why")),
    ),
    RegistryTable(
        "facts",
        "one row per wheel with stored facts (used by `registry recheck`)",
        (
            _PATH,
            Column("identity", "text", "as in `wheels`"),
            Column("format", "integer", "format version of `facts`"),
            Column("facts", "bytes", "MessagePack; internal format"),
        ),
    ),
)
COLUMNS = {table.name: tuple(column.name for column in table.columns) for table in TABLES}

# Most rows are in these tables. Their texts from files are already valid Unicode.
_OF_THE_INDEX = frozenset({"compatibility", "readiness"})

_UNBOUND = (Status.MISSING, Status.UNREACHABLE, Status.UNDECIDED)


def rows_of(path: str, report: Report, builds: Builds) -> dict[str, list[Row]]:
    """The rows of one unit, except those in `wheels` and `facts`.

    Args:
        path: the unit's display name.
        report: of this unit only, after the policy was applied.
        builds: architecture -> known builds, oldest first.
    """
    found: dict[str, list[Row]] = {table.name: [] for table in TABLES}
    for file in report.artifacts:
        if file.kind is ArtifactKind.SHARED_OBJECT:
            for table, row in _file_rows(path, file):
                found[table].append(row)
    found["readiness"] += _readiness(path, report, builds)
    found["errors"] += ({"path": path, "place": error.path, "message": error.message} for error in report.errors)
    return {table: rows if table in _OF_THE_INDEX else [_clean(row) for row in rows] for table, rows in found.items()}


def wheel_row(path: str, report: Report) -> Row:
    """The row of a unit in `wheels`."""
    container = next((each for each in report.containers if each.path == path), None)
    files = [each for each in report.artifacts if each.kind is ArtifactKind.SHARED_OBJECT]
    torches = {
        (f.torch_build.version, f.torch_build.variant)
        for f in files
        if f.torch_build is not None and f.releases is not None
    }
    torch, variant = next(iter(torches)) if len(torches) == 1 else (None, None)
    return _clean(
        {
            "path": path,
            "name": None if container is None else container.name,
            "version": None if container is None else container.version,
            "requires_python": None if container is None else container.requires_python,
            "requires_torch": [] if container is None else list(container.requires_torch),
            "verdict": _verdict(container, report).value,
            "gate": report.verdict.value,
            "torch": torch,
            "variant": variant,
            "files": len(files),
            "errors": len(report.errors),
        }
    )


def _verdict(container: Container | None, report: Report) -> ArtifactVerdict:
    from abiscan.analysis.containers import rolled_up

    verdict = container.verdict if container is not None else rolled_up(report.artifacts)
    # An unread part may contain anything.
    sure = verdict in (ArtifactVerdict.FAILS, ArtifactVerdict.UNREADABLE) or not report.errors
    return verdict if sure else ArtifactVerdict.UNREADABLE


def _file_rows(path: str, file: ArtifactReport) -> Iterator[tuple[str, Row]]:
    key = {"path": path, "member": _text(file.member)}
    target = file.torch_build
    stated = None if file.target is None else file.target.torch
    unresolved = [bound for bound in file.imports if bound.status in _UNBOUND]
    yield (
        "files",
        {
            **key,
            "verdict": file.verdict.value,
            "torch": None if target is None else target.version,
            "variant": None if target is None else target.variant,
            "torch_detected_from": None if stated is None else stated.detected_from,
            "machine": file.machine,
            "size": file.size,
            "build_id": file.build_id,
            "sha256": file.sha256,
            "needed": [each.soname for each in file.needed],
            "imports": len(file.imports),
            "unresolved": len(unresolved),
            "replaced_by": file.replaced_by,
            "notes": list(file.notes),
        },
    )
    for bound in file.imports:
        if bound.owner is Owner.TORCH or bound.status in _UNBOUND:
            exported_in = file.exported_in.get(bound.name)
            releases = None if exported_in is None else exported_in.text()
            names = {"mangled": bound.name, "demangled": bound.demangled, "owner": bound.owner.value}
            status = {"status": bound.status.value, "provider": bound.provider, "exported_in": releases}
            yield "imports", {**key, **names, **status}
    for finding in file.findings:
        yield (
            "findings",
            {
                **key,
                "rule": finding.rule,
                "severity": finding.severity.value,
                "confidence": finding.confidence.value,
                "suppressed": finding.suppressed,
                "message": finding.message,
                "fix": finding.fix,
                "fingerprint": finding.fingerprint,
                "places": len(finding.locations),
                "symbols": list(finding.all_symbols),
            },
        )
    for group in file.causes:
        said = {"cause": group.cause.value, "confidence": group.confidence.value, "summary": group.summary}
        yield "causes", {**key, **said, "fix": group.fix, "symbols": list(group.symbols)}
    for each in file.releases or ():
        build = {"torch": each.torch, "variant": each.variant, "state": each.state.value}
        yield "compatibility", {**key, **build, "reason": text(each.reason), "missing": len(each.missing)}


def _readiness(path: str, report: Report, builds: Builds) -> Iterator[Row]:
    if not any(file.releases is not None for file in report.artifacts):
        return
    try:
        scope = scope_of(path, report)
    except UsageError:
        return  # several wheels in one archive: each member has its own rows in `compatibility`
    for build in find_compatibility(scope, builds).torch or ():
        yield {
            "path": path,
            "torch": build.torch,
            "variant": build.variant,
            "works": build.compatible,
            "reason": text(build.reason),
        }


def _clean(row: Row) -> Row:
    """Make texts valid Unicode: names in binaries are bytes."""
    return {name: value if value is None or type(value) is int else _text(value) for name, value in row.items()}


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_text(each) for each in value]
    return value
