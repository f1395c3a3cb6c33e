"""The CPython versions for which each torch release has wheels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from abiscan.model.python_version import PythonVersion
from abiscan.model.versions import order

# CPython (major, minor) -> first and last release with wheels for it on the package index (None: no limit). Other
# releases cannot be installed with a wheel for that Python.
_RELEASES: Mapping[PythonVersion, tuple[str | None, str | None]] = {
    PythonVersion(3, 5): (None, "1.5.1"),
    PythonVersion(3, 6): (None, "1.10.2"),
    PythonVersion(3, 7): (None, "1.13.1"),
    PythonVersion(3, 8): ("1.4.0", "2.4.1"),
    PythonVersion(3, 9): ("1.7.1", "2.8.0"),
    PythonVersion(3, 10): ("1.11.0", "2.14.1"),
    PythonVersion(3, 11): ("1.13.0", None),
    PythonVersion(3, 12): ("2.2.0", None),
    PythonVersion(3, 13): ("2.5.0", None),
    PythonVersion(3, 14): ("2.9.0", None),
}
# torch 1.4.0 is the last release with wheels for CPython 2.7 (release notes of PyTorch 1.4).
_OF_PYTHON_2 = (None, "1.4.0")
# CPython -> first release with wheels for it on Windows and macOS, if that is a later one.
_FIRST_WITHOUT_LINUX: Mapping[PythonVersion, str] = {PythonVersion(3, 11): "2.0.0", PythonVersion(3, 13): "2.6.0"}


def with_wheels(release: str, *, everywhere: bool = False) -> tuple[PythonVersion, ...]:
    """The CPythons of the table for which a release has wheels, oldest first.

    Args:
        everywhere: on Windows and macOS, too.
    """
    found = tuple(python for python in _RELEASES if installable((release,), python))
    return tuple(each for each in found if _is_everywhere(release, each)) if everywhere else found


def _is_everywhere(release: str, python: PythonVersion) -> bool:
    first, here = order(_FIRST_WITHOUT_LINUX.get(python, "0")), order(release)
    return first is None or here is None or here >= first


def installable(known: Sequence[str], python: PythonVersion) -> tuple[str, ...]:
    """The known releases (oldest first) with wheels for a CPython: none for a CPython 3 older than the table, all for
    one that is not in the table."""
    if python.major > 2 and python < min(_RELEASES):
        return ()
    first, last = _RELEASES.get(python, (None, None)) if python.major > 2 else _OF_PYTHON_2
    begins, ends = first and order(first), last and order(last)
    return tuple(
        release
        for release in known
        if (at := order(release)) is None or ((not begins or at >= begins) and (not ends or at <= ends))
    )
