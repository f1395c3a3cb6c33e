"""Finds causes, evidence and fixes for missing imports and error messages.

`diagnose` is for a file with resolved imports, `explain` for a text: a symbol, an error message, a whole log. Both run
the modules of `causes.MODULES` for each name, with a `Knowledge` of the target, the releases and the machine. Modules
are imported when called: a scan without missing symbols needs none of them."""

from __future__ import annotations

from collections.abc import Sequence
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
    each_import: bool = True,
) -> Diagnosis:
    """Find causes for unresolved imports and for missing libraries.

    Args:
        file: facts of the file that needs them.
        imports: any of its imports; resolved and weak ones are returned unchanged.
        knowledge: known facts about the target, the releases and the machine.
        libraries: sonames of needed libraries that were not found.
        here: the file is to be loaded on this machine, so that a missing library is a cause even without missing
            imports. Libraries of torch always are.
        distribution: name and version of the package, from its metadata, for commands of fixes.
        each_import: whether the causes of each import are needed, and not only those of the file.
    """
    from abiscan.diagnosis import file_causes

    return file_causes.diagnose(
        file,
        imports,
        knowledge,
        libraries=libraries,
        here=here,
        distribution=distribution,
        each_import=each_import,
    )


def explain(
    text: str,
    knowledge: Knowledge,
    needed_by: str | None = None,
) -> tuple[Subject, ...]:
    """Explain every subject in a text.

    Args:
        text: a symbol (mangled or demangled), a library name, a symbol version, an error message, or a whole log.
        knowledge: known facts about the target, the releases and the machine.
        needed_by: the file with the error, if the text names none.

    Returns:
        Subjects in the order of the text, without duplicates; empty if there are none.
    """
    from abiscan.diagnosis.readings.answer_text import answer
    from abiscan.diagnosis.readings.read_text import read_text

    return answer(read_text(text), knowledge, needed_by)
