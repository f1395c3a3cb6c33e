"""The JSON of `diff`, `env`, `compat` and `migrate`: `$defs/diff`, `environment`, `compat` and `migration` of the
schema. The rules of `json_report` apply."""

from __future__ import annotations

from typing import Any

from abiscan.model.compat_report import CompatReport, Exclusion
from abiscan.model.compatibility import BuildOfTorch, Compared, Compatibility, Floor
from abiscan.model.diff_report import Change, DiffReport
from abiscan.model.environment_report import (
    EnvironmentFix,
    EnvironmentReport,
    FixConflict,
    PackageOutcome,
    PackageReport,
    Problem,
)
from abiscan.model.migration_plan import FileRewrites, MigrationPlan, PlanFile, Replacement
from abiscan.report.json_report import document, plain, text

# See `json_report._FIELDS`.
_FIELDS: dict[type, tuple[str, ...]] = {
    Change: ("aspect", "effect", "regresses", "text", "files", "removed", "added"),
    Compared: ("path", "name", "version", "files", "compatibility"),
    Compatibility: ("machines", "torch", "pythons", "gpus", "device_code", "floors", "cuda", "undecided"),
    BuildOfTorch: ("torch", "variant", "compatible", "reason"),
    Floor: ("part", "version", "required_by"),
    PackageReport: (
        *("name", "version", "files", "torch_files", "now", "after", "action", "step", "requires_torch", "loads_on"),
        "command",
    ),
    PackageOutcome: ("state", "failing", "reason", "allowed", "for_another", "without_driver"),
    Problem: ("kind", "text", "command"),
    EnvironmentFix: ("torch", "command", "replaced", "kept", "undecided", "conflicts"),
    FixConflict: ("package", "text", "command"),
    Replacement: ("kind", "use", "header", "since", "names", "files", "sites", "total"),
    PlanFile: ("path", "stable", "rewrite", "inlined", "none", "unknown", "places"),
    FileRewrites: ("path", "rules"),
    Exclusion: ("input", "aspect", "excluded", "text"),
}


def _plain(value: Any) -> Any:
    return plain(value, _FIELDS)


def diff(value: DiffReport) -> str:
    """The result of `diff` (`$defs/diff` of the schema)."""
    return document(
        value.version,
        {
            "regressed": value.regressed,
            "old": _plain(value.old),
            "new": _plain(value.new),
            "changes": _plain(value.changes),
            "names": {text(name): text(told) for name, told in value.names.items()},
            "undecided": _plain(value.undecided),
        },
    )


def compat(value: CompatReport) -> str:
    """The result of `compat` (`$defs/compat` of the schema)."""
    return document(
        value.version,
        {
            "conflicts": _plain(value.conflicts),
            "common": _plain(value.common),
            "inputs": _plain(value.inputs),
            "exclusions": _plain(value.exclusions),
            "notes": _plain(value.notes),
            "undecided": _plain(value.undecided),
        },
    )


def environment(value: EnvironmentReport) -> str:
    """The result of `env` (`$defs/environment` of the schema)."""
    return document(
        value.version,
        {
            "root": _plain(value.root),
            "python": text(value.python),
            "torch": _plain(value.torch),
            "after": _plain(value.after),
            "fails": value.fails,
            "packages": _plain(value.packages),
            "pure_python": value.pure_python,
            "problems": _plain(value.problems),
            "errors": _plain(value.errors),
            **({} if value.fix is None else {"fix": _plain(value.fix)}),
        },
    )


def migration(value: MigrationPlan) -> str:
    """The result of `migrate` (`$defs/migration` of the schema)."""
    return document(
        value.version,
        {
            "input": text(value.input),
            "done": value.done,
            "minimum": value.minimum,
            "stable": {text(name): since or None for name, since in value.stable.items()},
            "replacements": _plain(value.replacements),
            "files": _plain(value.files),
            "names": {text(name): text(told) for name, told in value.readable.items()},
            "rewrites": _plain(value.rewrites),
            "errors": _plain(value.errors),
        },
    )
