"""The environment that runs the tests, for the loader model."""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Mapping

import pytest

from abiscan.environment.installed_torch import InstalledTorch, find_torches, read_torch
from abiscan.environment.python import PythonEnvironment, read_environment
from abiscan.loader import Loader, LoaderSettings

# For tests that compare files for x86_64 with the loader of this machine.
needs_glibc = pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
    reason="the files are for x86_64 and glibc",
)
# Variables of a user's shell that affect the loader.
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_BIND_NOW", "LD_AUDIT", "GLIBC_TUNABLES", "LD_DEBUG")


@functools.cache
def environment() -> PythonEnvironment:
    return read_environment(sys.executable)


@functools.cache
def torch() -> InstalledTorch:
    return read_torch(find_torches(environment())[0], environment())


def clean_environ(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of this process without those of the loader, plus `env`."""
    return {name: value for name, value in os.environ.items() if name not in _LOADER_VARIABLES} | dict(env or {})


def loader(env: Mapping[str, str] | None = None, *, with_torch: bool = True) -> Loader:
    return Loader(LoaderSettings.of(env or {}, "/"), environment(), torch() if with_torch else None)
