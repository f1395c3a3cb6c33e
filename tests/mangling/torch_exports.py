"""The names that the installed torch exports, for tests; torch itself is not imported."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

from abiscan.elf import open_elf

_TORCH = importlib.util.find_spec("torch")
assert _TORCH is not None
assert _TORCH.origin is not None
LIBRARIES = Path(_TORCH.origin).parent / "lib"


@functools.cache
def exported(library: str) -> tuple[str, ...]:
    """Every export of one library of torch, sorted."""
    with open_elf(LIBRARIES / library) as elf:
        return tuple(sorted({symbol.name for symbol in elf.exports()}))
