"""Package indexes of PyTorch, one for each variant of a build."""

from __future__ import annotations

import re
from typing import Final

INDEXES: Final = "https://download.pytorch.org/whl/"
"""The wheels of PyTorch, one folder a variant."""
_LABEL_OF_INDEX: Final = r"cpu|xpu|cu\d+|rocm\d\.\d(\.\d)?"


def index_of_version(version: str) -> str | None:
    """The index of a torch by its version with label; see `index_of_label`."""
    public, _, label = version.partition("+")
    return index_of_label(label, nightly=".dev" in public)


def index_of_label(label: str, *, nightly: bool = False) -> str | None:
    """The index of a torch by the label of its version; None for a label that other builds have, too."""
    return f"{INDEXES}{'nightly/' * nightly}{label}" if re.fullmatch(_LABEL_OF_INDEX, label) else None
