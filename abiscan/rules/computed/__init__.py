"""The rules whose findings code computes: each rule's id beside its function, in one table for each thing looked at.

Their texts and severities stand in `catalogue` like those of all rules, with `computed = true`; a test holds these
tables against that. A function is imported when its table is asked for, since a plain scan needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from abiscan.model.finding import Finding
from abiscan.rules.rule import Rule

if TYPE_CHECKING:
    from abiscan.model.provenance import ProvenanceFact
    from abiscan.rules.computed.contradicted_labels import LabelSubject
    from abiscan.rules.computed.layout_drift import LayoutSubject
    from abiscan.rules.computed.vtable_drift import DriftSubject
    from abiscan.rules.computed.wheel_subject import Wheel, WheelFinding


def class_rules() -> Mapping[str, Callable[[Rule, DriftSubject], Iterable[Finding]]]:
    """Over the classes of a shared object that derive from torch's."""
    from abiscan.rules.computed.vtable_drift import find_drift

    return {"vtable-drift": find_drift}


def loader_rules() -> Mapping[str, Callable[..., Iterator[Finding]]]:
    """Over what the loader of this machine would do with a shared object."""
    from abiscan.rules.computed.loader_refuses import find_refusal

    return {"loader-refuses": find_refusal}


def gpu_rules() -> Mapping[str, Callable[..., Iterator[Finding]]]:
    """Over the device code of a shared object and the GPUs that a run names."""
    from abiscan.rules.computed.no_kernel_image import find_no_image

    return {"no-kernel-image": find_no_image}


def driver_rules() -> Mapping[str, Callable[..., Iterator[Finding]]]:
    """The same, where a run names NVIDIA's driver beside them."""
    from abiscan.rules.computed.older_driver import find_newer_cuda, find_newer_ptx

    return {"ptx-newer-than-driver": find_newer_ptx, "cuda-newer-than-driver": find_newer_cuda}


def provenance_rules() -> Mapping[str, Callable[[Rule, Iterable[ProvenanceFact], str], Iterator[Finding]]]:
    """Over what a shared object tells of its making: the facts, and its identity over rebuilds."""
    from abiscan.rules.computed import build_provenance_rules as provenance

    return {
        "mixed-std-string": provenance.find_mixed_strings,
        "executable-stack": provenance.find_executable_stack,
        "bundled-runtime": provenance.find_bundled_runtimes,
        "build-run-path": provenance.find_build_run_path,
        "relative-run-path": provenance.find_relative_run_path,
    }


def label_rules() -> Mapping[str, Callable[[Rule, LabelSubject], Iterator[Finding]]]:
    """Over what a shared object is called, and what it tells itself."""
    from abiscan.rules.computed.contradicted_labels import find_contradictions

    return {"label-contradicted": find_contradictions}


def layout_rules() -> Mapping[str, Callable[[Rule, LayoutSubject], Iterable[Finding]]]:
    """Over the records of torch that a shared object shares with it."""
    from abiscan.rules.computed.layout_drift import find_layout_drift

    return {"layout-drift": find_layout_drift}


def python_source_rules() -> Mapping[str, Callable[[Rule, str, str, str], Iterable[Finding]]]:
    """Over the text of a Python module: the text, its path, and what fingerprints call it."""
    from abiscan.rules.computed.generated_kernel import match_kernels

    return {"generated-kernel": match_kernels}


def wheel_rules() -> Mapping[str, Callable[[Rule, Wheel], Iterator[WheelFinding]]]:
    """Over a wheel and the reports of its members, in the order in which reports list their findings."""
    from abiscan.rules.computed.wheel_metadata_rules import WHEEL_RULES

    return WHEEL_RULES
