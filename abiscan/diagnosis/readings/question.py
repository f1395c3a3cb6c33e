"""The facts for the answers about one text, and the causes of an answer in their final form."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from abiscan.diagnosis.fixes.extension_fixes import use_another_system, without_build_first
from abiscan.diagnosis.fixes.installer_commands import for_installer
from abiscan.diagnosis.fixes.wheel_rows import is_on_windows
from abiscan.diagnosis.fixes.windows_commands import for_windows
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate
from abiscan.diagnosis.readings.read_text import ReadText
from abiscan.diagnosis.reference import ReferringFile
from abiscan.mangling import Demangler
from abiscan.model.cause import Cause
from abiscan.model.facts import SharedObject

FileFacts = Callable[[str], SharedObject | None]
"""Path in a message -> facts of the file, if it can be read."""


class Question(Struct, frozen=True):
    """A text, and what is known beside it.

    Attributes:
        needed_by: the file that the whole text is about, if it names none.
        file_facts: facts of a file by its name, if the file is here.
        unfound: libraries that `ldd` did not find.
    """

    read: ReadText
    knowledge: Knowledge
    needed_by: str | None
    file_facts: FileFacts | None
    demangler: Demangler = field(default_factory=Demangler)
    unfound: tuple[str, ...] = ()

    def referring_file(self, needed_by: str | None) -> ReferringFile:
        """The file in a message or the text, with its facts if it can be read."""
        path = needed_by or self.needed_by
        facts = self.file_facts(path) if self.file_facts is not None and path is not None else None
        return ReferringFile(path or "", facts)


def final_causes(candidates: Iterable[Candidate], missing: MissingName) -> tuple[Cause, ...]:
    """The causes of a subject, with commands for the shell of the platform and the program that installs packages."""
    candidates = (replace(each, fix=use_another_system(each.fix_text, missing)) for each in candidates)
    if missing.log.only_wheel:
        candidates = (replace(each, fix=without_build_first(each.fix_text)) for each in candidates)
    if is_on_windows(missing):
        candidates = (replace(each, fix=for_windows(each.fix_text, missing.log.python_folder)) for each in candidates)
    if installer := missing.log.installer:
        candidates = (replace(each, fix=for_installer(each.fix_text, installer)) for each in candidates)
    return tuple(candidate.as_cause() for candidate in candidates)
