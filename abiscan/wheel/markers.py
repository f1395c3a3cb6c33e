"""Environments for evaluating the markers of requirements (dependency specifiers specification, "Environment Markers"):
those that a wheel targets, not the current one."""

from __future__ import annotations

from collections.abc import Mapping

from abiscan.model.platforms import OperatingSystem, platform_of
from abiscan.model.python_version import PythonVersion

_SYSTEMS = {
    OperatingSystem.LINUX: {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    OperatingSystem.WINDOWS: {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
    OperatingSystem.MACOS: {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
}
_CPYTHON = {"extra": "", "implementation_name": "cpython", "platform_python_implementation": "CPython"}


def marker_environment(machine: str, python: PythonVersion) -> Mapping[str, str]:
    """Return the variables of markers for CPython on a platform (`x86_64`, `win_amd64`; empty for Linux with an unknown
    architecture)."""
    platform = platform_of(machine)
    version = f"{python.major}.{python.minor}"
    known = {**_SYSTEMS[platform.system], **_CPYTHON, "python_version": version, "python_full_version": f"{version}.0"}
    return known | {"platform_machine": platform.python_machine} if machine else known
