"""Names of Python modules in texts."""

from __future__ import annotations

from abiscan.diagnosis.text.text_facts import pattern_of


def is_compiled_module(module: str) -> bool:
    """Whether a dotted name is of a form that compiled modules have, such as `pkg._C`."""
    return pattern_of("compiled_module").fullmatch(module) is not None
