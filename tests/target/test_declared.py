"""The declared target environment of a file. Oracles: packaging for tags and requirements, PEP 425 and PEP 3149 for
tags and suffixes, and labels and folders of published wheels."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TargetSource
from abiscan.target.build_names import release_in_name, without_build
from abiscan.target.declared import declared_by
from abiscan.target.unread_metadata import unknown_of, unread_requirements
from abiscan.wheel.container_facts import ContainerFacts, ContainerKind
from tests.tables import table_rows


def facts(*requires: str, tags: tuple[str, ...] = (), version: str = "1.0", name: str = "x") -> ContainerFacts:
    return ContainerFacts("x.whl", ContainerKind.WHEEL, name, version, tags, tags, requires)


@table_rows
def test_a_release_in_a_path(place: str, release: str | None) -> None:
    assert release_in_name(place) == release


@table_rows
def test_builds_of_one_module(one: str, other: str, cuda: str | None, alike: bool) -> None:
    assert (without_build(one, cuda) == without_build(other, cuda)) is alike


@pytest.mark.parametrize(
    ("container", "place", "admits", "refuses", "source"),
    [
        (facts("torch==2.8.0"), "x/_C.so", "2.8.0", "2.8.1", TargetSource.REQUIREMENT),
        (facts("torch (>=2.4,<2.6)"), "x/_C.so", "2.5.1", "2.6.0", TargetSource.REQUIREMENT),
        (facts("torch==2.6.0+cu124"), "x/_C.so", "2.6.0+cu124", "2.7.0", TargetSource.REQUIREMENT),
        (facts(version="2.1.2+pt24cu121"), "x/_C.so", "2.4.1", "2.5.0", TargetSource.VERSION_LABEL),
        (facts(version="2.7.4+cu12torch2.5cxx11abifalse"), "x/_C.so", "2.5.1", "2.4.0", TargetSource.VERSION_LABEL),
        (facts("torch>=2.1"), "x/torch-2.9/x.so", "2.9.1", "2.8.0", TargetSource.FOLDER),
        (facts("torch>=2.1", version="2.1.2+pt24cu121"), "x/_C.so", "2.4.1", "2.5.0", TargetSource.VERSION_LABEL),
        (facts(name="nvfuser_cu121_torch25"), "x/_C.so", "2.5.1", "2.6.0", TargetSource.VERSION_LABEL),
        # deepmd-kit 3.1.0.
        (facts('torch==2.7.0.*; extra == "torch"'), "x/_C.so", "2.7.0", "2.7.1", TargetSource.REQUIREMENT),
        # deepmd-kit 3.2.0.
        (
            facts('torch==2.11.0.*; extra == "torch"', 'torch==2.11.0; extra == "torch"', 'torch>=2; extra == "x"'),
            "x/_C.so",
            "2.11.0",
            "2.12.0",
            TargetSource.REQUIREMENT,
        ),
        # One extra; it admits none of the releases that its bounds name.
        (facts("torch<2.9,>2.6; extra == 't'"), "x/_C.so", "2.8.0", "2.9.0", TargetSource.REQUIREMENT),
        (facts("torch>=2.8", "torch==2.7.0; extra == 'x'"), "x/_C.so", "2.8.0", "2.7.0", TargetSource.REQUIREMENT),
    ],
)
def test_the_torch_that_is_declared(
    container: ContainerFacts, place: str, admits: str, refuses: str, source: TargetSource
) -> None:
    torch = declared_by(container, place, "x86_64").torch
    assert torch is not None
    assert torch.source is source
    assert torch.admits(admits)
    assert not torch.admits(refuses)


def test_extras_that_require_different_releases_declare_none() -> None:
    both = facts("torch==2.1.0; extra == 'cu118'", "torch==2.3.0; extra == 'cu121'")
    assert declared_by(both, "x.so", "x86_64").torch is None


@pytest.mark.parametrize(
    ("container", "text"),
    [
        (facts(name="torchcodec-xpu"), "XPU"),
        (facts(name="torchcodec_rocm"), "ROCm"),
        (facts(name="torchcodec-npu"), "NPU"),
        (facts("torch==2.8.0", name="torch-npu"), None),
        (facts("torch==2.8.0+xpu"), "XPU"),
        (facts("torch==2.8.0+rocm6.4"), "ROCm"),
        (facts("torch==2.8.0+cpu"), None),
        (facts(version="1.0+rocm6.4"), "ROCm 6"),
        (facts(name="xpudrivers"), None),
    ],
)
def test_the_accelerator_that_a_wheel_names(container: ContainerFacts, text: str | None) -> None:
    gpu = declared_by(container, "x.so", "x86_64").gpu
    assert (None if gpu is None else gpu.text) == text


@pytest.mark.parametrize("version", ["1.0+pt24\u0663cu121", "1.0+pt2\u0664", "1.0+torch2.\u0664"])
def test_digits_of_other_scripts_name_no_release(version: str) -> None:
    """PEP 440 has ASCII digits; found by fuzzing."""
    declared = declared_by(facts(version=version), "x.so", "x86_64")
    assert declared.torch is None or declared.torch.specifiers == ("==2.4.*",)


def test_the_variant_of_a_label() -> None:
    assert declared_by(facts(version="2.1.2+pt24cu121"), "x.so", "x86_64").torch.variant == "cu121"  # type: ignore[union-attr]
    assert declared_by(facts("torch==2.6.0+cpu"), "x.so", "x86_64").torch.variant == "cpu"  # type: ignore[union-attr]


def test_requirements_that_do_not_count_here() -> None:
    """Markers are evaluated for Linux, the file's architecture and its own Python."""
    only_arm = facts("torch==2.4.0; platform_machine == 'aarch64'", "torch==2.8.0; platform_machine == 'x86_64'")
    assert declared_by(only_arm, "x.so", "x86_64").torch.specifiers == ("==2.8.0",)  # type: ignore[union-attr]
    old = facts("torch==2.4.0; python_version < '3.10'", tags=("cp311-cp311-linux_x86_64",))
    assert declared_by(old, "x.so", "x86_64").torch is None
    extra = facts("torch==2.4.0; extra == 'gpu' and platform_machine == 'aarch64'")
    assert declared_by(extra, "x.so", "x86_64").torch is None
    assert declared_by(extra, "x.so", "aarch64").torch is not None
    # For any Python: the newest that Requires-Python allows, whichever runs this.
    both = facts("torch==2.4.0; python_version < '3.10'", "torch==2.8.0; python_version >= '3.10'")
    assert declared_by(both, "x.so", "x86_64").torch.specifiers == ("==2.8.0",)  # type: ignore[union-attr]
    older = replace(both, requires_python="<3.10")
    assert declared_by(older, "x.so", "x86_64").torch.specifiers == ("==2.4.0",)  # type: ignore[union-attr]
    never = replace(both, requires_python="<3")
    assert declared_by(never, "x.so", "x86_64").torch.specifiers == ("==2.8.0",)  # type: ignore[union-attr]


def test_an_invalid_requirement_is_reported() -> None:
    container = facts("torch>=two")
    assert declared_by(container, "x.so", "x86_64").torch is None
    assert list(unread_requirements(container)) == ["not read, invalid: Requires-Dist: torch>=two"]
    assert not list(unread_requirements(facts("torch>=2", "torchvision>=two")))
    assert len(list(unread_requirements(facts(*(f"torch>=x{number}" for number in range(1000)))))) < 10


@table_rows
def test_a_direct_reference_to_a_wheel_declares_its_release(url: str, specifiers: tuple[str, ...] | None) -> None:
    """Dependency specifiers specification, "URL reqs"; binary distribution format, "File name convention"."""
    container = facts(f"torch @ {url}")
    torch = declared_by(container, "x.so", "x86_64").torch
    assert (None if torch is None else torch.specifiers) == specifiers
    assert len(list(unknown_of(container))) == (specifiers is None)


@table_rows
def test_the_pythons_that_are_declared(tags: tuple[str, ...], place: str, texts: list[str]) -> None:
    assert [p.text for p in declared_by(facts(tags=tags), place, "x86_64").pythons] == texts


def test_the_name_of_a_file_without_pyinit_declares_no_python() -> None:
    """torchao 0.18.0: `nm -D` has no PyInit_ function, and CPython 3.11 opens the file by its path."""
    container, place = facts(tags=("cp310-abi3-linux_x86_64",)), "torchao/_C_mxfp8.cpython-310-x86_64-linux-gnu.so"
    for is_module, text in ((True, "3.10"), (False, ">=3.10")):
        (python,) = declared_by(container, place, "x86_64", lambda: is_module).pythons  # noqa: B023
        assert python.text == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # Labels in wheels of PyTorch, AMD and torch-scatter, and files of bitsandbytes.
        *(
            ("libx_rocm62.so", "ROCm 6"),
            ("libx_rocm6.2.so", "ROCm 6"),
            ("rocm700/x.so", "ROCm 7"),
            ("hip6/x.so", "ROCm 6"),
        ),
        *(("libx_cuda118.so", "CUDA 11"), ("_C_cu12.so", "CUDA 12"), ("x_cu130.so", "CUDA 13"), ("librocmx.so", None)),
    ],
)
def test_the_gpu_libraries_that_a_name_tells(name: str, text: str | None) -> None:
    gpu = declared_by(facts(), name, "x86_64").gpu
    assert (None if gpu is None else gpu.text) == text


def test_the_stable_abi_is_not_that_of_free_threaded_builds() -> None:
    (python,) = declared_by(facts(tags=("cp39-abi3-linux_x86_64",)), "x.abi3.so", "x86_64").pythons
    assert python.admits(PythonVersion(3, 13))
    assert not python.admits(PythonVersion(3, 13, True))
    assert not python.admits(PythonVersion(3, 8))


@pytest.mark.parametrize(
    ("tag", "known"),
    [
        *((tag, True) for tag in ("cp27-cp27mu", "cp36-cp36m", "cp39-abi3", "cp311-none", "cp314-cp314t", "py3-none")),
        *((tag, False) for tag in ("xy99-xy99", "cp399-cp399t", "cp399-abi3", "pp310-pypy310_pp73")),
    ],
)
def test_the_tag_of_an_unknown_python_is_reported(tag: str, known: bool) -> None:
    """Tags in the form of PEP 425 and packaging.tags; cp399 is a future release, pp310 another Python."""
    container = facts(tags=(f"{tag}-manylinux_2_28_x86_64",))
    said = list(unknown_of(container))
    assert len(said) == (not known)
    assert all(f"the tag {tag} names a Python whose exports are not in the table of CPythons" in each for each in said)


def test_a_dotted_version_is_not_a_tag() -> None:
    """k2-1.23.4-py3.9-none-any.whl: a dot separates the tags of a compressed set (PEP 425)."""
    container = ContainerFacts("k.whl", ContainerKind.WHEEL, "k", "1", ("py3-none-any", "9-none-any"), (), ())
    assert list(unknown_of(container)) == [
        "its Python tag py3.9 is not valid: a dot separates two tags, and 9 is not a Python version"
    ]
