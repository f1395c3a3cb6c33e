"""Modules of causes, one per topic."""

from __future__ import annotations

from typing import Final

MODULES: Final = (
    "system_libraries",
    "python_abi",
    "stable_shims",
    "template_mangling",
    "string_abi",
    "gpu_builds",
    "signatures",
    "visibility",
    "linking",
    "processors",
    "built_for",
    "distribution_variant",
    "library_versions",
    "vendor_libraries",
    "extension_source",
    "inlined_calls",
)
"""The modules that are run for a missing name, in order; each has a function `causes`."""

NOT_OF_TORCH: Final = frozenset(
    {"system_libraries", "python_abi", "stable_shims", "library_versions", "extension_source"}
)
"""The modules that have no cause for a C++ symbol of torch without a symbol version. They are not imported for it."""
