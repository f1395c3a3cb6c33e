"""A missing import or an error message -> causes, evidence, fixes.

`diagnose` answers for a file whose imports were bound, `explain` for a text: a symbol, an error message, a whole log.
Both ask the modules of `causes.MODULES` about each name, with what a `Knowledge` says of the target, the releases and
the machine. What they need is imported when they are called: a scan that finds nothing missing needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from abiscan.diagnosis.knowledge import Environment, Knowledge

if TYPE_CHECKING:
    from abiscan.diagnosis.file_causes import Diagnosis
    from abiscan.model.facts import SharedObject
    from abiscan.model.imports import CheckedImport
    from abiscan.model.subject import Subject

__all__ = ["Environment", "Knowledge", "diagnose", "explain"]


def diagnose(
    file: SharedObject,
    imports: Sequence[CheckedImport],
    knowledge: Knowledge,
    *,
    libraries: Sequence[str] = (),
    here: bool = True,
    distribution: tuple[str | None, str | None] = (None, None),
    nowhere: bool = False,
) -> Diagnosis:
    """Find causes for imports that did not bind, and for needed libraries that were not found.

    Args:
        file: the facts of the file that needs them.
        imports: any of its imports; those that are resolved or weak are handed back as they are.
        knowledge: what is known of the target, the releases and the machine.
        libraries: sonames of needed libraries that were not found.
        here: the file is to be loaded on this machine: a library of others from which no import comes is a cause by
            itself. Torch's own always are.
        distribution: name and version of what ships the file, by its metadata, for the commands of fixes.
        nowhere: no known build of the target's version loads the file, so that another variant of it would not help:
            what is to be fixed for each of them leads.
    """
    from abiscan.diagnosis import file_causes

    return file_causes.diagnose(
        file, imports, knowledge, libraries=libraries, here=here, distribution=distribution, nowhere=nowhere
    )


def explain(
    text: str,
    knowledge: Knowledge,
    needed_by: str | None = None,
    *,
    file_facts: Callable[[str], SharedObject | None] | None = None,
) -> tuple[Subject, ...]:
    """Answer every subject that a text mentions.

    Args:
        text: a symbol (mangled or demangled), a library's name, a symbol version, an error message, or a whole log.
        knowledge: what is known of the target, the releases and the machine.
        needed_by: the file whose error it was; it counts where the text names none.
        file_facts: reads the file that a message names; None to go by its name alone.

    Returns:
        Subjects in the order of the text, each once; empty where the text mentions none.
    """
    from abiscan.diagnosis.messages.answers import answer
    from abiscan.diagnosis.messages.read_text import read_text

    return answer(read_text(text), knowledge, needed_by, file_facts=file_facts)
