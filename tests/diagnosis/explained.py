"""The subjects of a text, for known facts and without files."""

from __future__ import annotations

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.readings.answer_text import answer
from abiscan.diagnosis.readings.read_text import read_text
from abiscan.model.subject import Subject


def explain(text: str, knowledge: Knowledge, needed_by: str | None = None) -> tuple[Subject, ...]:
    """Explain every subject of a text."""
    return answer(read_text(text), knowledge, needed_by)
