"""Functions that rows of the message catalogue name: the public functions of a module, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

Values = Mapping[str, str]
"""Captured values of a message by name."""


def functions_of(*modules: ModuleType) -> dict[str, Callable[..., Any]]:
    """The public functions that are defined in some modules, by name."""
    return {
        name: each
        for module in modules
        for name, each in vars(module).items()
        if isinstance(each, FunctionType) and each.__module__ == module.__name__ and not name.startswith("_")
    }
