"""Dependency text within the limits; text over a limit is rejected before packaging reads it."""

from __future__ import annotations

import itertools

import pytest
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from abiscan.model import limits
from abiscan.model.dependency_specifiers import (
    InvalidDependency,
    admits,
    find_excess,
    find_excess_of_requirements,
    holds,
    read_requirement,
    read_specifiers,
    torch_specifier,
)
from tests.processor_time import at_most

_BEYOND = (
    "torch; " + "(" * 1000 + "extra == 'x'" + ")" * 1000,
    "torch>=" + "1" * 5000,
    "torch; " + " or ".join(["extra == 'x'"] * 200_000),
    "torch" + ",".join([">=1"] * 2000),
    "torch" + " " * 100_000,
)


@pytest.mark.parametrize("text", _BEYOND, ids=["parentheses", "digits", "markers", "versions", "length"])
def test_what_exceeds_a_limit_is_refused_at_once(text: str) -> None:
    with at_most(1):
        assert find_excess(text)
        assert find_excess_of_requirements([text])
        with pytest.raises(InvalidDependency, match=r"more than|limit: "):
            read_requirement(text)


@pytest.mark.parametrize("text", ["torch>=two", "torch; (", "torch[", "", "torch; python_version >= '3' and", "\0"])
def test_invalid_requirements_are_rejected(text: str) -> None:
    with pytest.raises(InvalidDependency):
        read_requirement(text)


def test_the_requirements_of_a_package_are_counted_together() -> None:
    assert not find_excess_of_requirements(["numpy>=1"] * limits.MAX_REQUIREMENTS)
    assert "requirements" in find_excess_of_requirements(["numpy>=1"] * (limits.MAX_REQUIREMENTS + 1))
    few = ["torch>=2,<3"] * (limits.MAX_COMPARISONS // 2)
    assert not find_excess_of_requirements(few)
    assert "on torch" in find_excess_of_requirements([*few, "torch>=2"])


def test_a_specifier_admits_versions() -> None:
    """Version specifiers specification: an invalid version satisfies only `===`."""
    assert admits(">=2.4,<2.6", ["2.5.0"])
    assert admits(">=2.4", ["1.0", "2.5.0a0"])
    assert not admits(">=2.4", ["junk", "1" * 5000, ""])
    assert not admits(">=2.4", [])
    with pytest.raises(InvalidDependency):
        read_specifiers("two")


def test_a_marker_that_asks_what_is_not_known_holds() -> None:
    assert holds("", {})
    assert holds("sys_platform == 'linux'", {"sys_platform": "linux"})
    assert not holds("sys_platform == 'win32'", {"sys_platform": "linux"})
    for marker in ("nonsense", "(" * 1000, "python_version >= '3' and"):
        assert holds(marker, {})


_RELEASES = ("0", "1.13.1", "2", "2.0", "2.4", "2.4.0", "2.4.1", "2.4.1.0", "2.10.0")
_SPECIFIERS = [f"{each}{release}" for each in ("==", "!=", ">=", "<=", ">", "<") for release in _RELEASES]
_PREFIXES = ("==2.4.*", "== 2.0.*", "==2.*", "==0.*", "==2.4.0.*,<2.4.1", "==2.10.*,!=2.10.0", "==999999.*")
_OF_PACKAGING = ("!=2.4.*", "~=2.4", "==2.4.1+cu118", "===2.4.1", ">=2.4a0", ">=2.4,>2.4", ">=2.4,", "")


def test_releases_are_compared_as_packaging_does() -> None:
    """Most comparisons are made without packaging, which takes long to import."""
    labelled = ("2.4.1+cu118", "2.10.0+cxx11.abi", "2.5.0a0+git1234567", "2.4.1.post1", "2.4.0.dev20240501", "nothing")
    pairs = (f"{one} , {other}" for one, other in itertools.product(_SPECIFIERS[::4], _SPECIFIERS[::5]))
    for specifier in (*_SPECIFIERS, *_PREFIXES, *_OF_PACKAGING, *pairs):
        parsed = SpecifierSet(specifier)
        for version in (*_RELEASES, *labelled, "999999.1"):
            assert admits(specifier, (version,)) is parsed.contains(version, prereleases=True), (specifier, version)


@pytest.mark.parametrize(
    "form", ["torch{}", "torch ({})", "Torch >= 2.1,{} ", "torch[extra]{}", "torch-x{}", "torch{})"]
)
def test_a_requirement_on_torch_is_read_as_packaging_does(form: str) -> None:
    for specifier in (
        *_SPECIFIERS,
        *_PREFIXES,
        *_OF_PACKAGING,
        "<2.9, !=2.4.0",
        "; extra == 'x'",
        " @ https://host/x.whl",
    ):
        text = form.format(specifier)
        found = torch_specifier(text)
        try:
            expected = str(Requirement(text).specifier)
        except InvalidRequirement:
            expected = None
        assert found in (None, expected), text
    assert torch_specifier("torch (<2.15, >=2.3)") == "<2.15,>=2.3"
    assert torch_specifier("torch" + " " * 100_000) is None
