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
    "built_for",
    "stated_release",
    "distribution_variant",
    "library_versions",
    "vendor_libraries",
    "extension_source",
    "inlined_calls",
)
"""The modules that are run for a missing name, in order; each has a function `causes`."""
