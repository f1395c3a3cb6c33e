"""The modelled process and a real one. Oracle: `dl_iterate_phdr`."""

from __future__ import annotations

import os
import sys

import pytest

from abiscan.loader.process import build_process
from abiscan.loader.search import LoaderSettings
from tests.loader import kit
from tests.loader.loaded import loaded_objects


@pytest.mark.parametrize("mode", [pytest.param("torch", marks=pytest.mark.torch), "plain"])
def test_the_same_objects_are_loaded(mode: str) -> None:
    builder = build_process(LoaderSettings("/"), kit.environment(), kit.torch() if mode == "torch" else None)
    assert builder is not None
    modelled = [item.name for item in builder.build(modules=True).namespace][1:]
    real = loaded_objects(sys.executable, mode)
    assert {os.path.realpath(name) for name in modelled} == {os.path.realpath(name) for name in real}


@pytest.mark.torch
def test_without_modules_nothing_but_they_and_theirs_is_missing() -> None:
    builder = build_process(LoaderSettings("/"), kit.environment(), kit.torch())
    assert builder is not None
    quick = {item.name for item in builder.build(modules=False).namespace}
    full = {item.name for item in builder.build(modules=True).namespace}
    assert quick < full
    assert {"libtorch_python.so", "libc10.so", "libtorch_cpu.so"} <= {os.path.basename(name) for name in quick}
    assert not any("lib-dynload" in name or "numpy" in name for name in quick)


@pytest.mark.torch
def test_the_global_scope_is_the_executable_and_the_global_dependencies_of_torch() -> None:
    builder = build_process(LoaderSettings("/"), kit.environment(), kit.torch())
    assert builder is not None
    process = builder.build(modules=False)
    names = [os.path.basename(item.name) for item in process.namespace.scope]
    assert process.namespace.scope[0] is process.main
    assert "libc.so.6" in names
    assert "libtorch_global_deps.so" in names
    assert "libtorch_cpu.so" not in names
