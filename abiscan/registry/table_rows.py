"""The tables of a registry run, from `data/registry_tables.toml`, and the rows of one unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from abiscan.compare.scope import scope_of
from abiscan.compare.scope_compatibility import Builds, find_compatibility
from abiscan.data import read_table
from abiscan.errors import UsageError
from abiscan.model.imports import Owner, Status
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict, Container, Report
from abiscan.report.json_report import text

SCHEMA_VERSION = 2

Row = dict[str, Any]


class Column(Struct, frozen=True):
    """A column.

    Attributes:
        type: as in `data/registry_tables.toml`.
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


def _read_tables() -> tuple[RegistryTable, ...]:
    rows = read_table("registry_tables.toml", dict[str, list[dict[str, Any]]])["table"]
    return tuple(RegistryTable(row["name"], row["of"], tuple(Column(*each) for each in row["columns"])) for row in rows)


TABLES = _read_tables()
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
    declared: Row = {"name": None, "version": None, "requires_python": None, "requires_torch": []}
    if container is not None:
        declared = {name: getattr(container, name) for name in declared}
    return _clean(
        {
            "path": path,
            **declared,
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
