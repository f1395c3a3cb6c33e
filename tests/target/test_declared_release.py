"""The torch that a file is checked against: the installed one if is_for_environment, else the declared one."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from abiscan.environment.installed_torch import InstalledTorch
from abiscan.environment.python import PythonEnvironment
from abiscan.errors import UnknownBuild
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TargetSource
from abiscan.releases import open_index
from abiscan.target.declared import declared_by
from abiscan.target.declared_release import find_declared_release, is_for_environment
from abiscan.wheel.container_facts import ContainerFacts, ContainerKind

INDEX = open_index()
CP311 = ("cp311-cp311-manylinux_2_28_x86_64",)
PYTHON = PythonEnvironment("/e/bin/python3.11", "/e/bin/python", PythonVersion(3, 11), "/e", (), None)
TORCH = InstalledTorch(
    "/e/torch", "/e/torch/lib", (), None, "2.13.0+cpu", "2.13.0", "cpu", None, None, None, True, "x86_64", PYTHON
)


def facts(*requires: str, tags: tuple[str, ...] = CP311, version: str = "1.0", name: str = "x") -> ContainerFacts:
    return ContainerFacts("x.whl", ContainerKind.WHEEL, name, version, tags, tags, requires)


@pytest.mark.parametrize(
    ("container", "place", "wheel", "named"),
    [
        (facts("torch>=2.10"), "x/_C.so", True, True),
        (facts("torch==2.13.0"), "x/_C.so", True, True),
        (facts(), "x/_C.so", True, True),
        (facts("torch==2.8.0"), "x/_C.so", False, True),
        (facts(tags=("cp312-cp312-linux_x86_64",)), "x/_C.so", False, True),
        (facts(tags=("cp39-abi3-linux_x86_64",)), "x/_C.abi3.so", True, True),
        (facts(), "x/torch-2.9/x.so", False, False),
        (facts(), "x/torch-2.13/x.so", True, True),
    ],
)
def test_what_belongs_to_the_installed_torch(container: ContainerFacts, place: str, wheel: bool, named: bool) -> None:
    declared = declared_by(container, place, "x86_64")
    assert is_for_environment(declared, TORCH, PYTHON, "x86_64", named=False) is wheel
    assert is_for_environment(declared, TORCH, PYTHON, "x86_64", named=True) is named


def test_a_single_file_is_checked_against_the_installed_torch() -> None:
    """dgl's libdgl_sparse_pytorch_2.0.0.so, opened in an environment with another torch."""
    declared = declared_by(facts(tags=()), "libdgl_sparse_pytorch_2.0.0.so", "x86_64")
    assert declared.torch is not None
    assert is_for_environment(declared, TORCH, PYTHON, "x86_64", named=True, alone=True)
    assert not is_for_environment(declared, TORCH, PYTHON, "x86_64", named=True)


def test_a_file_of_another_architecture_belongs_to_no_torch_here() -> None:
    assert not is_for_environment(declared_by(facts(), "x.so", "aarch64"), TORCH, PYTHON, "aarch64", named=True)


def test_the_newest_release_that_is_declared() -> None:
    choice = find_declared_release(declared_by(facts("torch>=2.4,<2.9"), "x.so", "x86_64"), INDEX, "x86_64")
    assert choice.build is not None
    assert choice.build.torch == "2.8.0"
    assert choice.part.source is TargetSource.REQUIREMENT
    assert choice.part.detected_from == "Requires-Dist: torch<2.9,>=2.4"
    assert choice.note == ""


def test_of_several_releases_an_installer_takes_one_with_wheels_for_the_python() -> None:
    """torch 2.9 and later have no wheels for CPython 3.9."""
    old = facts("torch>=2.0", tags=("cp39-cp39-manylinux_2_28_x86_64",))
    choice = find_declared_release(declared_by(old, "x.so", "x86_64"), INDEX, "x86_64")
    assert choice.build is not None
    assert choice.build.torch == "2.8.0"


def test_nothing_declared_is_the_newest_known_release() -> None:
    choice = find_declared_release(declared_by(facts(tags=()), "x.so", "x86_64"), INDEX, "x86_64")
    assert choice.build == INDEX.newest("x86_64")
    assert choice.part.source is TargetSource.NEWEST_KNOWN


def test_an_unknown_release_is_reported_and_not_replaced() -> None:
    choice = find_declared_release(declared_by(facts("torch==1.9.0"), "x.so", "x86_64"), INDEX, "x86_64")
    assert choice.build is None
    assert "no known release of torch satisfies it" in choice.note


def test_a_variant_that_the_index_does_not_hold_is_named() -> None:
    choice = find_declared_release(declared_by(facts("torch==2.6.0+cu118"), "x.so", "x86_64"), INDEX, "x86_64")
    assert choice.build is not None
    assert choice.build.torch == "2.6.0"
    assert "no 2.6.0+cu118" in choice.note


@pytest.mark.parametrize("name", ["torchcodec-xpu", "torchcodec-rocm", "torchcodec-npu"])
def test_a_build_for_an_accelerator_that_the_index_does_not_hold_is_not_checked(name: str) -> None:
    """`abiscan releases`: the builds in the shipped index are for CUDA."""
    declared = declared_by(facts(name=name), "x.so", "x86_64")
    assert not is_for_environment(declared, TORCH, PYTHON, "x86_64", named=False)
    choice = find_declared_release(declared, INDEX, "x86_64")
    assert choice.build is None
    assert choice.other_gpu is not None
    assert "the release index has none, so it was not checked" in choice.note
    xpu = replace(TORCH, version="2.13.0+xpu", variant="xpu")
    assert is_for_environment(declared, xpu, PYTHON, "x86_64", named=False) is name.endswith("xpu")


def test_an_architecture_without_builds() -> None:
    with pytest.raises(UnknownBuild):
        find_declared_release(declared_by(facts(), "x.so", "riscv64"), INDEX, "riscv64")
