"""List the operators that an AOTInductor model calls by name."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.pass_results import CalledOperators
from abiscan.provenance.called_operators import called_operators


def list_called_operators(record: FileRecord) -> None:
    """Read the `.json` beside the model."""
    exports = None if record.torch is None else record.torch.exports
    files = record.context.options.settings.files
    record.called = CalledOperators(*called_operators(record.artifact, record.binary, exports, files))
