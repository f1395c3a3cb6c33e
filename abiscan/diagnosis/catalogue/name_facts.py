"""Facts of the message catalogue about a missing name and the file that needs it."""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.missing_name import MissingName


def shown_name(_values: Values, missing: MissingName) -> str:
    """The readable name."""
    return missing.shown


def exported_text(_values: Values, missing: MissingName) -> str:
    """A sentence on the releases that export it."""
    return missing.exported_text


def needing_file(_values: Values, missing: MissingName) -> str:
    """The name of the file that needs it."""
    return missing.file.file_name


def rebuild_file(_values: Values, missing: MissingName) -> str:
    """The commands that build this file from source."""
    return fixes.rebuild(missing)


def target_label(_values: Values, missing: MissingName) -> str:
    """The target in a sentence, or `the installed torch`."""
    return missing.target_label


def pinned_torch(_values: Values, missing: MissingName) -> str:
    """The target's torch for pip: `torch==2.6.0`, or `torch` if it is unknown."""
    return "torch" if missing.target is None else f"torch=={missing.target.version}"
