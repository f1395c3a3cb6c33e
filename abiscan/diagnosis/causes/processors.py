"""unusable-file: a program on macOS was linked beside a libtorch for another processor, which the linker skips."""

from __future__ import annotations

from abiscan.diagnosis.libtorch_programs import find_program, use_libtorch
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.versions import ReleaseRanges

# The first release with an archive of libtorch for Apple's processors (https://github.com/pytorch/test-infra/pull/4851).
_FIRST_FOR_ARM = (2, 2)


def causes(missing: MissingName) -> Candidates:
    """For a program of a Mac with a processor of Apple, and a symbol of releases with archives for Intel."""
    ranges, known = missing.exported_in, missing.knowledge
    program = find_program(missing) if missing.macho and known.log.is_apple_silicon and missing.is_torch_name else None
    if program is None or not ranges or (versions.order(ranges.last) or ())[:2] >= _FIRST_FOR_ARM:
        return
    evidence = (
        "The archives of libtorch for macOS are for Intel up to torch 2.1; the processor is Apple's.",
        "ld skips a library for another processor with a warning: the program is then linked without it.",
        missing.exported_text,
    )
    fix = use_libtorch(missing, program, known.loads_on or ranges or ReleaseRanges())
    yield Candidate(CauseId.UNUSABLE_FILE, 0.72, evidence, fix)
