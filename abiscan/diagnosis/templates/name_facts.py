"""Facts of a missing name that need no message: of its file, the target and the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from abiscan.diagnosis.fixes import extension_fixes, torch_fixes
from abiscan.diagnosis.fixes.libtorch_programs import find_program
from abiscan.diagnosis.missing_name import MissingName

Facts = Mapping[str, Callable[[Mapping[str, str], MissingName], str | bool | None]]
"""Functions of captured values and the missing name, by the name of the fact. Their result is its value, or whether it
holds; None if it is unknown."""
FactOfName = Callable[[MissingName], str | bool | None]


def _program_kind(missing: MissingName) -> str | None:
    program = find_program(missing)
    return None if program is None else program.id


_OF_NAME: Final[Mapping[str, FactOfName]] = {
    "shown_name": lambda missing: missing.shown,
    "exported_text": lambda missing: missing.exported_text,
    "needing_file": lambda missing: missing.file.file_name,
    # In a sentence: `torch 2.6.0 (cu124)`.
    "target": lambda missing: None if missing.target is None else missing.target_label,
    "target_label": lambda missing: missing.target_label,
    "target_version": lambda missing: missing.target_version,
    "target_cuda": lambda missing: missing.target_cuda,
    # If it is a CUDA build.
    "target_torch": lambda missing: missing.target_cuda and missing.target_label,
    # For pip: `torch==2.6.0`, or `torch` if it is unknown.
    "pinned_torch": lambda missing: "torch" if missing.target is None else f"torch=={missing.target.version}",
    "torch_from_source": lambda missing: missing.knowledge.target_from_source,
    # The interpreter: `3.12`.
    "python": lambda missing: str(missing.environment.python or ""),
    "torch_in_lib64": lambda missing: missing.log.torch_in_lib64,
    "python_prerelease": lambda missing: missing.log.python_prerelease,
    # The commands that build the file of the error from source.
    "rebuild_file": extension_fixes.rebuild,
    # The commands that install torch's GPU build, or the extension for its CPU build.
    "install_gpu_build": torch_fixes.gpu_build,
    "install_xpu_build": partial(torch_fixes.build_for, "XPU"),
    # Programs without Python, as `packages.toml` has them: `rust`, `go`.
    "program_kind": _program_kind,
    "project_release": lambda missing: missing.log.project_release,
    "is_nightly": lambda missing: missing.log.is_nightly,
}


def facts_of_name(table: Mapping[str, FactOfName]) -> Facts:
    """Facts that need no captured values."""
    return {name: _of_name(read) for name, read in table.items()}


def _of_name(read: FactOfName) -> Callable[[Mapping[str, str], MissingName], str | bool | None]:
    return lambda _values, missing: read(missing)


NAME_FACTS: Final[Facts] = facts_of_name(_OF_NAME)
