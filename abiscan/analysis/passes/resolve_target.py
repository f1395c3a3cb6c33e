"""Find the environment that the file is checked against."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord


def resolve_target(record: FileRecord) -> None:
    """Ask the run's resolver.

    Raises:
        UnknownBuild: `--torch` names no torch.
    """
    record.target = record.context.target.resolve(record.artifact, record.facts.machine)
