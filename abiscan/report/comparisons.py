"""The formats of `diff`, `env`, `compat` and `migrate`."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from msgspec import Struct

from abiscan.report import json_comparisons, sheet
from abiscan.report.escape import safe_json, safe_markup, safe_text
from abiscan.report.style import Style

# Type of the result -> module that makes its sheet, and function of `json_comparisons`.
_ANSWERS = {
    "DiffReport": ("abiscan.report.diff_sheet", "diff"),
    "EnvironmentReport": ("abiscan.report.environment_sheet", "environment"),
    "MigrationPlan": ("abiscan.report.migration_sheet", "migration"),
    "CompatReport": ("abiscan.report.compat_sheet", "compat"),
}
FORMS = ("text", "json", "markdown", "html")


def render(answer: Struct, form: str, style: Style) -> str:
    """A result in one of `FORMS`, ending in a newline."""
    module, as_json = _ANSWERS[type(answer).__name__]
    if form == "json":
        written: str = getattr(json_comparisons, as_json)(answer)
        return safe_json(written)
    make: Callable[[Struct], sheet.Sheet] = importlib.import_module(module).sheet
    made = make(answer)
    if form == "html":
        from abiscan.report.html.sheet_page import page

        return safe_markup(page(made))
    return safe_text(sheet.markdown(made) if form == "markdown" else sheet.text(made, style))
