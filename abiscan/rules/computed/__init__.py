"""Rules with findings that are computed by code: tables of rule id -> function, by kind of subject.

Their texts and severities are in `catalogue`, with `computed = true`; a test compares both. Functions are imported when
their table is read, since a plain scan needs none of them."""

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


def class_rules() -> Mapping[str, Callable[[Rule, DriftSubject], Iterable[Finding]]]:
    """Over the classes of a shared object that derive from classes of torch."""
    from abiscan.rules.computed.vtable_drift import find_drift

    return {"vtable-drift": find_drift}


def loader_rules() -> Mapping[str, Callable[..., Iterator[Finding]]]:
    """Over the loader prediction of a shared object."""
    from abiscan.rules.computed.loader_refuses import find_refusal

    return {"loader-refuses": find_refusal}


def gpu_rules() -> Mapping[str, Callable[..., Iterator[Finding]]]:
    """Over the device code of a shared object and the GPUs of `--gpu`."""
    from abiscan.rules.computed.no_kernel_image import find_no_image

    return {"no-kernel-image": find_no_image}


def driver_rules() -> Mapping[str, Callable[..., Iterator[Finding]]]:
    """The same, with the NVIDIA driver of `--driver`."""
    from abiscan.rules.computed.older_driver import find_newer_cuda, find_newer_ptx

    return {"ptx-newer-than-driver": find_newer_ptx, "cuda-newer-than-driver": find_newer_cuda}


def provenance_rules() -> Mapping[str, Callable[[Rule, Iterable[ProvenanceFact], str], Iterator[Finding]]]:
    """Over the provenance of a shared object: its facts and its module key."""
    from abiscan.rules.computed import build_provenance_rules as provenance

    return {
        "mixed-std-string": provenance.find_mixed_strings,
        "executable-stack": provenance.find_executable_stack,
        "bundled-runtime": provenance.find_bundled_runtimes,
        "build-run-path": provenance.find_build_run_path,
        "relative-run-path": provenance.find_relative_run_path,
    }


def label_rules() -> Mapping[str, Callable[[Rule, LabelSubject], Iterator[Finding]]]:
    """Over the labels of a shared object and the facts that contradict them."""
    from abiscan.rules.computed.contradicted_labels import find_contradictions

    return {"label-contradicted": find_contradictions}


def layout_rules() -> Mapping[str, Callable[[Rule, LayoutSubject], Iterable[Finding]]]:
    """Over the torch classes that a shared object shares."""
    from abiscan.rules.computed.layout_drift import find_layout_drift

    return {"layout-drift": find_layout_drift}


def python_source_rules() -> Mapping[str, Callable[[Rule, str, str, str], Iterable[Finding]]]:
    """Over the text of a Python module: text, path and name in fingerprints."""
    from abiscan.rules.computed.generated_kernel import match_kernels

    return {"generated-kernel": match_kernels}
