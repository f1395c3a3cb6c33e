"""Dependency text within the limits; text over a limit is rejected before packaging reads it."""

from __future__ import annotations

import time

import pytest

from abiscan.model import limits
from abiscan.model.dependency_specifiers import (
    InvalidDependency,
    admits,
    find_excess,
    find_excess_of_requirements,
    holds,
    read_requirement,
    read_specifiers,
)

_BEYOND = (
    "torch; " + "(" * 1000 + "extra == 'x'" + ")" * 1000,
    "torch>=" + "1" * 5000,
    "torch; " + " or ".join(["extra == 'x'"] * 200_000),
    "torch" + ",".join([">=1"] * 2000),
    "torch" + " " * 100_000,
)


@pytest.mark.parametrize("text", _BEYOND, ids=["parentheses", "digits", "markers", "versions", "length"])
def test_what_exceeds_a_limit_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    assert find_excess(text)
    assert find_excess_of_requirements([text])
    with pytest.raises(InvalidDependency, match=r"more than|limit: "):
        read_requirement(text)
    assert time.process_time() - began < 1


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
