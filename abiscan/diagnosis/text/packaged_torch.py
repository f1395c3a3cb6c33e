"""Detects in a text a torch that is no release on the package index: from source, of conda-forge, of a distribution, of
NVIDIA, or a nightly."""

from __future__ import annotations

from typing import Final

from abiscan.diagnosis.text.source_builds import find_source_build
from abiscan.diagnosis.text.text_facts import shown

CONTAINER: Final = "container"
"""The packager of the torch in NVIDIA's containers."""
_PACKAGERS: Final = ("conda-forge", "distribution", CONTAINER)


def find_other_build(text: str) -> tuple[str, str] | None:
    """Who built the torch of a text, if it is no release on the package index (`source`, `conda-forge`, `distribution`,
    `container`, `nightly` or `NVIDIA`), and the words that say so; linear in its length."""
    said = find_source_build(text)
    return ("source", said) if said is not None else next(shown("torch_origin", text), None)


def packager_of(text: str) -> str:
    """Who packaged the torch of a text: `conda-forge`, `distribution` or `container`; empty for another torch."""
    return next((origin for origin, _ in shown("torch_origin", text) if origin in _PACKAGERS), "")
