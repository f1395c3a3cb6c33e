"""unusable-file: a program on macOS was linked beside a libtorch for another processor, which the linker skips."""

from __future__ import annotations

from abiscan.diagnosis.fixes.libtorch_programs import FIRST_FOR_ARM, find_program, use_libtorch
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidates
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.model import versions


def causes(missing: MissingName) -> Candidates:
    """For a program of a Mac with a processor of Apple, and a symbol of releases with archives for Intel."""
    ranges, known = missing.exported_in, missing.knowledge
    program = find_program(missing) if missing.macho and known.log.is_apple_silicon and missing.is_torch_name else None
    if program is None or not ranges or (versions.order(ranges.last) or ())[:2] >= FIRST_FOR_ARM:
        return
    commands = {"libtorch": use_libtorch(missing, program, known.loads_on or ranges)}
    yield from row_causes("libtorch-for-intel", missing, commands=commands)
