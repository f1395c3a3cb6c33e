"""Why the builds of a package of the catalogue fail, for texts that have only the end of a build."""

from __future__ import annotations

from abiscan.diagnosis.fixes import package_commands
from abiscan.diagnosis.fixes.build_commands import build
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model import versions
from abiscan.model.cause import CauseId

# Without the message of the compiler, another reason is possible.
_SCORE = 0.6


def of_package(missing: MissingName) -> Candidates:
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
