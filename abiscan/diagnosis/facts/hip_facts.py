"""Facts of the message catalogue about packages that are built with HIP, for GPUs of AMD."""

from __future__ import annotations

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.facts.package_facts import built_project, hip_project
from abiscan.diagnosis.fixes import extension_fixes, package_commands
from abiscan.diagnosis.fixes.build_commands import wheels_for_rocm
from abiscan.diagnosis.fixes.hip_sources import hip_note, is_for_hip, with_gpu_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import AMD


def rocm_wheels(values: Values, missing: MissingName) -> str | None:
    """Where wheels of the package for ROCm are, if the GPU is AMD's."""
    package = package_commands.find_package(missing, built_project(values, missing))
    return None if package is None else wheels_for_rocm((package,), missing)


def hip_rebuild(values: Values, missing: MissingName) -> str | None:
    """The builds of the package of the message that compile with HIP; None if no such source is known."""
    if hip_project(values, missing) is None:
        return None
    there = missing if is_for_hip(missing) else with_gpu_of(AMD, missing)
    project, named = built_project(values, missing), missing.log.projects
    # A file in the message may be of another package than those that the text names.
    return extension_fixes.rebuild(there, project, named if project in named else ())


def compiles_with_hip(values: Values, missing: MissingName) -> str | None:
    """A sentence: with which HIP the release of the package in the text compiles; None without a release or for any
    HIP."""
    name = hip_project(values, missing) or ""
    release = missing.log.project_release or missing.log.asked_releases.get(name, "")
    note = hip_note(name, release) if release else None
    return None if note is None else f"{note.partition('. ')[0]}."
