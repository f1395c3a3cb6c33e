"""Causes that an answer of the message catalogue computes from facts of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from abiscan.diagnosis.causes.built_for import by_label, by_release
from abiscan.diagnosis.fixes import package_commands
from abiscan.diagnosis.fixes.build_commands import build
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model import versions
from abiscan.model.cause import CauseId

# Without the message of the compiler, another reason is possible.
_SCORE = 0.6


def _known_failures(missing: MissingName) -> Candidates:
    """The failures that the catalogue knows of the package that the text names, for the target's torch."""
    package = package_commands.find_package(missing, missing.log.project or missing.name)
    if package is None:
        return
    at = versions.order(missing.target_version)
    fix = build(package, missing) or "\n".join(package_commands.install(package, missing))
    for failure in package.known_failures:
        first = versions.order(failure.torch)
        if at is None or first is None or at >= first:
            yield Candidate(CauseId(failure.cause), _SCORE, (failure.because,), fix)


COMPUTED_CAUSES: Final[Mapping[str, Callable[[MissingName], Candidates]]] = {
    "built-for-label": by_label,
    "built-for-release": by_release,
    "known-failure": _known_failures,
}
