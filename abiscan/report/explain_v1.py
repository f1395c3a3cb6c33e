"""`abiscan explain -f json`: `$defs/explain` of the report's schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from abiscan import __version__
from abiscan.model.subject import Subject
from abiscan.report import json_v1


def render(subjects: Sequence[Subject]) -> str:
    """The subjects as one JSON document, ending in a newline."""
    return json_v1.explain(subjects, __version__)


def render_cause(about: Mapping[str, str]) -> str:
    """One cause by its id: no subject was asked about."""
    return json_v1.explain((), __version__, cause=about)
