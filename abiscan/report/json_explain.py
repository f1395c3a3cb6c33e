"""`abiscan explain -f json`: `$defs/explain` of the report's schema."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from abiscan import __version__
from abiscan.model.cause_page import CausePage
from abiscan.model.finding import RuleInfo
from abiscan.model.subject import Subject
from abiscan.report import json_report


def render(subjects: Sequence[Subject], near: Sequence[str] = ()) -> str:
    """The subjects as one JSON document, ending in a newline. `near`: similar ids, if the text is none."""
    return json_report.explain(subjects, __version__, near=near)


def render_cause(page: CausePage) -> str:
    """One cause by its id, without a subject."""
    return json_report.explain((), __version__, cause=page)


def render_rules(infos: Sequence[RuleInfo]) -> str:
    """The rules with one id, in the same document."""
    return json_report.explain((), __version__, rules=[asdict(info) for info in infos])
