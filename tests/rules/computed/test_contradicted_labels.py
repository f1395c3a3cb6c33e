"""Labels with sonames and std::string of a file, as literal values from real projects."""

from __future__ import annotations

import pytest

from abiscan.ownership.gpu_libraries import find_toolkit
from abiscan.rules import rule
from abiscan.rules.computed.contradicted_labels import LabelSubject, find_contradictions
from abiscan.target.declared import declared_by
from abiscan.wheel.metadata import ContainerFacts, ContainerKind


@pytest.mark.parametrize(
    ("version", "place", "needed", "new", "hits"),
    [
        ("1.0+cu121", "x/_C.so", "libcudart.so.12", None, 0),
        ("1.0+cu121", "x/_C.so", "libcudart.so.11.0", None, 1),
        ("1.0+cu130", "x/_C.so", "libcudart.so.13", None, 0),
        # Sonames with other numbers than CUDA releases are no evidence.
        ("1.0+cu130", "x/_C.so", "libcusparse.so.12", None, 0),
        ("1.0+rocm6.2", "x/_C.so", "libamdhip64.so.6", None, 0),
        ("1.0+rocm6.2", "x/_C.so", "libcudart.so.12", None, 1),
        ("1.0+cu128", "x/_C.so", "libamdhip64.so.6", None, 1),
        # A folder or file for one of several releases in a wheel.
        ("1.0", "x/libx_cuda118.so", "libcudart.so.12", None, 1),
        ("1.0", "x/libx_cuda118.so", "libcudart.so.11.0", None, 0),
        ("1.0+cu121", "x/libx_cuda118.so", "libcudart.so.11.0", None, 0),
        # Wheel names of flash-attn.
        ("2.7.4+cu12torch2.5cxx11abiFALSE", "f.so", "libcudart.so.12", False, 0),
        ("2.7.4+cu12torch2.5cxx11abiFALSE", "f.so", "libcudart.so.12", True, 1),
        ("2.7.4+cu12torch2.5cxx11abiTRUE", "f.so", "libcudart.so.11.0", False, 2),
        ("2.7.4+cu12torch2.5cxx11abiTRUE", "f.so", "libcudart.so.12", None, 0),
        ("1.0+cpu", "x/_C.so", "libc.so.6", True, 0),
    ],
)
def test_labels_that_contradict_the_file(version: str, place: str, needed: str, new: bool | None, hits: int) -> None:
    container = ContainerFacts("x.whl", ContainerKind.WHEEL, name="x", version=version)
    gpu = declared_by(container, place, "x86_64").gpu
    subject = LabelSubject("x", gpu, version, find_toolkit([needed]), new)
    assert len(list(find_contradictions(rule("label-contradicted"), subject))) == hits
