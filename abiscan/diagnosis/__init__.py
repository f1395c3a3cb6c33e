"""A missing import or an error message -> causes, evidence, fixes.

`diagnose` answers for a file whose imports were bound, `explain` for a text: a symbol, an error message, a whole log.
Both judge each name by the modules in `causes.CAUSES`, against what a `Knowledge` says of the target, the releases and
the machine.
"""

from __future__ import annotations

from collections.abc import Callable

from abiscan.diagnosis.file_causes import Diagnosis, diagnose
from abiscan.diagnosis.knowledge import Environment, Knowledge, Releases
from abiscan.diagnosis.summaries import summary
from abiscan.model.facts import SharedObject
from abiscan.model.subject import Subject

__all__ = [
    "Diagnosis",
    "Environment",
    "Knowledge",
    "Releases",
    "diagnose",
    "explain",
    "summary",
]


def explain(
    text: str,
    knowledge: Knowledge,
    needed_by: str | None = None,
    *,
    file_facts: Callable[[str], SharedObject | None] | None = None,
) -> tuple[Subject, ...]:
    """Answer every subject that a text mentions (`answers.explain` has the details).

    Args:
        text: a symbol (mangled or demangled), a library's name, a symbol version, an error message, or a whole log.
        knowledge: what is known of the target, the releases and the machine.
        needed_by: the file whose error it was; it counts where the text names none.
        file_facts: reads the file that a message names; None to go by its name alone.

    Returns:
        Subjects in the order of the text, each once; empty where the text mentions none.
    """
    # Reading messages is half of this package's code, and a scan needs none of it.
    from abiscan.diagnosis.messages import answers

    return answers.explain(text, knowledge, needed_by, file_facts=file_facts)
