"""Which releases of torch have wheels for which CPython."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from abiscan.model.python_version import PythonVersion

# CPython (major, minor) -> the first and last release with wheels for it on the package index (None: from the first, or
# to the newest). An installer never puts another release beside a wheel of that Python.
_RELEASES: Mapping[PythonVersion, tuple[str | None, str | None]] = {
    PythonVersion(3, 7): (None, "1.13.1"),
    PythonVersion(3, 8): (None, "2.4.1"),
    PythonVersion(3, 9): (None, "2.8.0"),
    PythonVersion(3, 10): (None, "2.14.1"),
    PythonVersion(3, 11): ("1.13.0", None),
    PythonVersion(3, 12): ("2.2.0", None),
    PythonVersion(3, 13): ("2.5.0", None),
    PythonVersion(3, 14): ("2.9.0", None),
}


def installable(known: Sequence[str], python: PythonVersion) -> tuple[str, ...]:
    """Those of the known releases (oldest first) that have wheels for a CPython: none for one older than the table's,
    all for one that the table lacks."""
    if python < min(_RELEASES):
        return ()
    first, last = _RELEASES.get(python, (None, None))
    start = known.index(first) if first in known else 0
    end = known.index(last) + 1 if last in known else len(known)
    return tuple(known[start:end])
