"""The table of causes: which modules are asked about a missing name, in which order. A new cause is a new row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from abiscan.diagnosis import (
    gpu_builds,
    inlined_calls,
    linking,
    mangling,
    own_names,
    python_abi,
    shims,
    signatures,
    string_abi,
    system_libraries,
    vendor_libraries,
    visibility,
    windows,
)
from abiscan.diagnosis.candidate import Candidate, Candidates, ranked
from abiscan.diagnosis.inquiry import Inquiry

# Of two causes with one score the row that stands first wins.
CAUSES: Final[tuple[Callable[[Inquiry], Candidates], ...]] = (
    system_libraries.causes,
    python_abi.causes,
    shims.causes,
    mangling.causes,
    string_abi.causes,
    gpu_builds.causes,
    signatures.causes,
    visibility.causes,
    linking.causes,
    windows.causes,
    vendor_libraries.causes,
    own_names.causes,
    inlined_calls.causes,
)

# Causes beyond this many are noise to who reads them.
_TOLD = 5


def judge(inquiry: Inquiry) -> tuple[Candidate, ...]:
    """The causes of a missing name, best first."""
    return ranked(candidate for causes in CAUSES for candidate in causes(inquiry))[:_TOLD]
