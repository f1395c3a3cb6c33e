"""The environments in which the markers of requirements are asked (dependency specifiers specification, "Environment
Markers"): those that a wheel is for, of which this one is none."""

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
