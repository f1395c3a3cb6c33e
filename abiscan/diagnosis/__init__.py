"""A missing import or an error message -> causes, evidence, fixes.

`diagnose` answers for a file whose imports were bound, `explain` for a text: a symbol, an error message, a whole log.
Both judge each
name by the modules in `causes.CAUSES`, against what a `Knowledge` says of the target, the releases and the machine.
"""

from __future__ import annotations

from abiscan.diagnosis.explain import explain
from abiscan.diagnosis.files import Diagnosis, diagnose
from abiscan.diagnosis.knowledge import Environment, Knowledge, Releases
from abiscan.diagnosis.summaries import summary

__all__ = [
    "Diagnosis",
    "Environment",
    "Knowledge",
    "Releases",
    "diagnose",
    "explain",
    "summary",
]
