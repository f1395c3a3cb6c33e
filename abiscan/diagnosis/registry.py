"""The table of causes: which modules are asked about a missing name, in which order. A new cause is a new row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from abiscan.diagnosis.causes import (
    built_for,
    extension_source,
    gpu_builds,
    inlined_calls,
    linking,
    python_abi,
    signatures,
    stable_shims,
    string_abi,
    system_libraries,
    template_mangling,
    vendor_libraries,
    visibility,
)
from abiscan.diagnosis.missing_name import Inquiry
from abiscan.diagnosis.ranking import Candidate, Candidates, ranked

# Of two causes with one score the row that stands first wins.
CAUSES: Final[tuple[Callable[[Inquiry], Candidates], ...]] = (
    system_libraries.causes,
    python_abi.causes,
    stable_shims.causes,
    template_mangling.causes,
    string_abi.causes,
    gpu_builds.causes,
    signatures.causes,
    visibility.causes,
    linking.causes,
    built_for.causes,
    vendor_libraries.causes,
    extension_source.causes,
    inlined_calls.causes,
)

# Causes beyond this many are noise to who reads them.
_TOLD = 5


def judge(inquiry: Inquiry) -> tuple[Candidate, ...]:
    """The causes of a missing name, best first."""
    return ranked(candidate for causes in CAUSES for candidate in causes(inquiry))[:_TOLD]
