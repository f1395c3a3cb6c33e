"""The JSON of `diff`, `env`, `together` and `stable`: the schema's `$defs/difference`, `environment`, `together` and
`stable_plan`. What `json_v1` says of the report holds here."""

from __future__ import annotations

from typing import Any

from abiscan.model.compat_report import CompatReport, Exclusion
from abiscan.model.compatibility import BuildOfTorch, Compared, Compatibility, Floor
from abiscan.model.diff_report import Change, DiffReport
from abiscan.model.environment_report import EnvironmentReport, PackageOutcome, PackageReport, Problem
from abiscan.model.migration_plan import MigrationPlan, PlanFile, Replacement
from abiscan.report.json_v1 import document, plain, text

# As `json_v1._FIELDS`.
_FIELDS: dict[type, tuple[str, ...]] = {
    Change: ("aspect", "effect", "shrinks", "text", "files", "removed", "added"),
    Compared: ("path", "name", "version", "files", "reach"),
    Compatibility: ("machines", "torch", "pythons", "gpus", "device_code", "floors", "cuda", "undecided"),
    BuildOfTorch: ("torch", "variant", "works", "reason"),
    Floor: ("part", "version", "because"),
    PackageReport: (
        *("name", "version", "files", "torch_files", "now", "after", "action", "step", "requires_torch", "loads_on"),
    ),
    PackageOutcome: ("state", "failing", "why", "allowed", "for_another", "without_driver"),
    Problem: ("kind", "text"),
    Replacement: ("kind", "use", "header", "since", "names", "files", "sites", "total"),
    PlanFile: ("path", "stable", "rewrite", "goes", "none"),
    Exclusion: ("target", "aspect", "excluded", "text"),
}


def _plain(value: Any) -> Any:
    return plain(value, _FIELDS)


def difference(value: DiffReport) -> str:
    """The answer of `diff` (`$defs/difference` of the schema)."""
    return document(
        value.version,
        {
            "shrank": value.shrank,
            "old": _plain(value.old),
            "new": _plain(value.new),
            "changes": _plain(value.changes),
            "names": {text(name): text(told) for name, told in value.names.items()},
            "undecided": _plain(value.undecided),
        },
    )


def together(value: CompatReport) -> str:
    """The answer of `together` (`$defs/together` of the schema)."""
    return document(
        value.version,
        {
            "conflicts": _plain(value.conflicts),
            "common": _plain(value.common),
            "targets": _plain(value.targets),
            "exclusions": _plain(value.exclusions),
            "notes": _plain(value.notes),
            "undecided": _plain(value.undecided),
        },
    )


def environment(value: EnvironmentReport) -> str:
    """The answer of `env` (`$defs/environment` of the schema)."""
    return document(
        value.version,
        {
            "root": _plain(value.root),
            "python": text(value.python),
            "torch": _plain(value.torch),
            "after": _plain(value.after),
            "fails": value.fails,
            "packages": _plain(value.packages),
            "pure": value.pure,
            "problems": _plain(value.problems),
            "errors": _plain(value.errors),
        },
    )


def stable_plan(value: MigrationPlan) -> str:
    """The answer of `stable` (`$defs/stable_plan` of the schema)."""
    return document(
        value.version,
        {
            "target": text(value.target),
            "done": value.done,
            "minimum": value.minimum,
            "stable": {text(name): since or None for name, since in value.stable.items()},
            "replacements": _plain(value.replacements),
            "files": _plain(value.files),
            "names": {text(name): text(told) for name, told in value.readable.items()},
            "errors": _plain(value.errors),
        },
    )
