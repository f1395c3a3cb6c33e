"""Check the file against every known release of torch."""

from __future__ import annotations

from collections.abc import Callable

from abiscan.analysis.file_record import FileRecord
from abiscan.environment.python_names import exported_by
from abiscan.environment.python_names import exports as python_exports
from abiscan.loader.torch_needs import torch_needs
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import LoaderStop
from abiscan.model.release import ReleaseVerdict
from abiscan.releases import Build
from abiscan.releases.matrix import judge


def check_releases(record: FileRecord) -> None:
    """Collect what only a build of torch can provide, and look it up in every build.

    A file that concerns no torch, and that needs none of its package that does, has no matrix.
    """
    absent, context = record.absent, record.context
    needs = torch_needs(
        record.binary,
        record.imports,
        record.siblings,
        (*absent.missing, *absent.of_dependents),
        record.dependents,
    )
    record.torch_needs = needs
    record.concerns_torch = bool(needs.names or needs.libraries)
    record.matrix = None
    if record.concerns_torch or needs.siblings:
        # The interpreter of the installed torch serves it; for releases the table of CPythons does.
        on_releases = context.options.matrix or (record.torch is not None and not record.torch.installed)
        otherwise = _other_failure(record) if on_releases else None
        record.matrix = judge(needs, context.index, reasons=context.options.matrix, otherwise=otherwise)
    record.cell = _cell(record)


def _cell(record: FileRecord) -> ReleaseVerdict | None:
    """The outcome on the very build that the file is checked against; None where the index has none, or where torch's
    own names are undecided."""
    torch, matrix = record.torch, record.matrix
    if matrix is None or torch is None or torch.build is None:
        return None
    if any(each.owner is Owner.TORCH and each.status is Status.UNDECIDED for each in record.imports):
        return None
    return next((verdict for verdict in matrix.verdicts if verdict.build == torch.build), None)


def _other_failure(record: FileRecord) -> Callable[[Build], str] | None:
    """Build -> why the file fails there for what is not torch's, in a word; empty where it does not: no glibc loads it,
    or a CPython that it is declared for beside that release lacks a name."""
    if isinstance(record.problem, LoaderStop):
        return lambda _build: "damaged"
    target = record.target
    names = [b.name for b in record.imports if b.owner is Owner.PYTHON and b.status is not Status.WEAK]

    def failure(build: Build) -> str:
        for version in target.pythons_beside(build.torch) if names else ():
            exported = python_exports(version)
            if exported is not None and not all(map(exported, names)):
                return f"CPython {version}"
        possible = target.possible_beside(build.torch) if names else ()
        if possible and any(not set(possible) & set(exported_by(name)) for name in names):
            return "CPython"
        return ""

    return failure
