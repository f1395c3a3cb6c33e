"""The subjects of a text, for known facts and without files; facts of files and imports as literal values."""

from __future__ import annotations

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.readings.answer_text import answer
from abiscan.diagnosis.readings.read_text import read_text
from abiscan.model.facts import Import, SharedObject, SymbolBinding, SymbolType, VersionNeed, Visibility
from abiscan.model.imports import CheckedImport, DemangledBy, Owner, Status
from abiscan.model.subject import Subject


def explain(text: str, knowledge: Knowledge, needed_by: str | None = None) -> tuple[Subject, ...]:
    """Explain every subject of a text."""
    return answer(read_text(text), knowledge, needed_by)


def shared_object(
    path: str, needed: tuple[str, ...] = (), machine: str = "x86_64", imports: tuple[Import, ...] = ()
) -> SharedObject:
    """A file with these facts and no others."""
    return SharedObject(path, 1, machine, 64, None, needed, None, None, None, imports, (), (), ())


def imported(name: str, version: VersionNeed | None = None) -> Import:
    """A reference to a function."""
    return Import(name, SymbolBinding.GLOBAL, SymbolType.FUNC, Visibility.DEFAULT, version, True, 1)


def checked(
    symbol: Import, owner: Owner, status: Status = Status.MISSING, provider: str | None = None
) -> CheckedImport:
    """Its resolution."""
    return CheckedImport(symbol, None, DemangledBy.NONE, owner, status, provider)
