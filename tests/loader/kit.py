"""The environment that runs the tests, for the loader model."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping

from abiscan.environment.installed_torch import InstalledTorch, find_torches, read_torch
from abiscan.environment.python import PythonEnvironment, read_environment
from abiscan.loader import Loader, LoaderSettings

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
