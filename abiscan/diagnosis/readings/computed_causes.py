"""Table of causes that an answer of the message catalogue computes from facts of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from abiscan.diagnosis.causes.built_for import by_label, by_release
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidates
from abiscan.diagnosis.readings.known_failures import of_package

COMPUTED_CAUSES: Final[Mapping[str, Callable[[MissingName], Candidates]]] = {
    "built-for-label": by_label,
    "built-for-release": by_release,
    "known-failure": of_package,
}
