"""Environment markers of requirements (dependency specifiers specification, "Environment Markers"): whether one holds
in the environment that a wheel is for, which is not this one."""

from __future__ import annotations

from collections.abc import Mapping

from abiscan.model.python_version import PythonVersion

_LINUX = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
    "extra": "",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
}


def marker_environment(machine: str, python: PythonVersion) -> Mapping[str, str]:
    """What markers are asked about on Linux with that architecture (`x86_64`; empty where it is not known) and
    CPython."""
    version = f"{python.major}.{python.minor}"
    known = {**_LINUX, "python_version": version, "python_full_version": f"{version}.0"}
    return known | {"platform_machine": machine} if machine else known


def holds(marker: str, environment: Mapping[str, str]) -> bool:
    """Whether a requirement counts there; one whose marker is formed wrongly, or asks what is not known, does."""
    if not marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        return Marker(marker).evaluate(dict(environment))
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
        return True
