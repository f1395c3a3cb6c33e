"""Find the environment that the file is checked against."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord


def resolve_target(record: FileRecord) -> None:
    """Call the resolver of the run.

    Raises:
        UnknownBuild: `--torch` does not name a known torch.
    """
    record.target = record.context.target.resolve(record.artifact, record.facts.machine, lambda: record.is_module)
