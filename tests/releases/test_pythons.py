"""Releases of torch with wheels for each CPython: tags of the wheels on the package index, 2026-11-22, for Linux on
x86-64, without free-threaded ones."""

from __future__ import annotations

import pytest

from abiscan.model.python_version import PythonVersion
from abiscan.releases import open_index
from abiscan.releases.pythons import installable

WHEELS = {
    "1.0.0": ("3.5", "3.6", "3.7"),
    "1.4.0": ("3.5", "3.6", "3.7", "3.8"),
    "1.5.1": ("3.5", "3.6", "3.7", "3.8"),
    "1.6.0": ("3.6", "3.7", "3.8"),
    "1.7.1": ("3.6", "3.7", "3.8", "3.9"),
    "1.10.2": ("3.6", "3.7", "3.8", "3.9"),
    "1.12.1": ("3.7", "3.8", "3.9", "3.10"),
    "1.13.0": ("3.7", "3.8", "3.9", "3.10", "3.11"),
    "1.13.1": ("3.7", "3.8", "3.9", "3.10", "3.11"),
    "2.0.1": ("3.8", "3.9", "3.10", "3.11"),
    "2.1.2": ("3.8", "3.9", "3.10", "3.11"),
    "2.2.0": ("3.8", "3.9", "3.10", "3.11", "3.12"),
    "2.4.1": ("3.8", "3.9", "3.10", "3.11", "3.12"),
    "2.5.0": ("3.9", "3.10", "3.11", "3.12", "3.13"),
    "2.6.0": ("3.9", "3.10", "3.11", "3.12", "3.13"),
    "2.8.0": ("3.9", "3.10", "3.11", "3.12", "3.13"),
    "2.9.0": ("3.10", "3.11", "3.12", "3.13", "3.14"),
    "2.13.0": ("3.10", "3.11", "3.12", "3.13", "3.14"),
    "2.14.1": ("3.10", "3.11", "3.12", "3.13", "3.14"),
    "2.15.0": ("3.11", "3.12", "3.13", "3.14"),
}


@pytest.mark.parametrize("release", WHEELS)
def test_the_pythons_of_a_release_are_those_of_its_wheels(release: str) -> None:
    known = tuple(dict.fromkeys(build.torch for build in open_index(earlier=True).builds("x86_64")))
    pythons = [PythonVersion(3, minor) for minor in range(4, 15)]
    assert tuple(str(python) for python in pythons if release in installable(known, python)) == WHEELS[release]
