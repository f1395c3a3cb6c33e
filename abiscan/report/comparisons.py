"""The formats of `diff`, `env`, `compat` and `migrate`."""

from __future__ import annotations

import importlib

from abiscan.model.compat_report import CompatReport
from abiscan.model.compatibility import BuildOfTorch, Compatibility
from abiscan.model.diff_report import Change, DiffReport
from abiscan.model.environment_report import (
    EnvironmentReport,
    PackageOutcome,
    PackageReport,
)
from abiscan.model.migration_plan import MigrationPlan
from abiscan.report import sheet
from abiscan.report.escape import safe_json, safe_markup, safe_text
from abiscan.report.json_report import document, plain
from abiscan.report.style import Style

FORMS = ("text", "json", "markdown", "html")

Answer = DiffReport | CompatReport | EnvironmentReport | MigrationPlan
# Type of the result -> module that makes its sheet.
_SHEETS = {
    DiffReport: "abiscan.report.diff_sheet",
    EnvironmentReport: "abiscan.report.environment_sheet",
    MigrationPlan: "abiscan.report.migration_sheet",
    CompatReport: "abiscan.report.compat_sheet",
}
# The JSON of a result and its parts (`$defs` of the schema): see `json_report._FIELDS`.
_FIELDS: dict[type, tuple[str, ...]] = {
    DiffReport: ("regressed", "old", "new", "changes", "names", "undecided"),
    CompatReport: ("conflicts", "common", "inputs", "exclusions", "notes", "undecided"),
    EnvironmentReport: (
        *("root", "python", "torch", "after", "fails", "packages", "pure_python", "problems", "errors", "fix"),
    ),
    MigrationPlan: (*("input", "done", "minimum", "stable", "replacements", "files", "names", "rewrites", "errors"),),
    Change: ("aspect", "effect", "regresses", "text", "files", "removed", "added"),
    Compatibility: ("machines", "torch", "pythons", "gpus", "device_code", "floors", "cuda", "undecided"),
    BuildOfTorch: ("torch", "variant", "compatible", "reason"),
    PackageReport: (
        *("name", "version", "files", "torch_files", "now", "after", "action", "step", "requires_torch", "loads_on"),
        "command",
    ),
    PackageOutcome: ("state", "failing", "reason", "allowed", "for_another", "without_driver"),
}


def render(answer: Answer, form: str, style: Style) -> str:
    """A result in one of `FORMS`, ending in a newline."""
    if form == "json":
        return safe_json(_json(answer))
    made: sheet.Sheet = importlib.import_module(_SHEETS[type(answer)]).sheet(answer)
    if form == "html":
        from abiscan.report.html.sheet_page import page

        return safe_markup(page(made))
    return safe_text(sheet.markdown(made) if form == "markdown" else sheet.text(made, style))


def _json(answer: Answer) -> str:
    members = plain(answer, _FIELDS)
    if isinstance(answer, EnvironmentReport) and answer.fix is None:
        del members["fix"]  # not asked for
    elif isinstance(answer, MigrationPlan):
        members["stable"] = {name: since or None for name, since in members["stable"].items()}
    return document(answer.version, members)
