"""The real loader in environments of CUDA torches, whose `import torch` opens other libraries in each release.

`pytest -m loader_truth_cuda -s`, after `python -m tests.corpus.fetch` and `python -m tests.truth.torches`. Needs
neither a GPU nor a driver.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from abiscan.environment.installed_torch import find_torches, read_torch
from abiscan.environment.python import read_environment
from abiscan.loader import LoaderSettings
from abiscan.loader.process import build_process
from tests.corpus import fetch
from tests.loader.loaded import loaded_objects
from tests.truth.compare import compare, predict
from tests.truth.oracle import ask
from tests.truth.torches import TORCHES, torch_python

pytestmark = [pytest.mark.loader_truth_cuda, pytest.mark.parametrize("version", TORCHES)]


def _judge(files: list[Path], version: str, at_least: int) -> None:
    python = torch_python(version)
    result = compare(ask(files, python=python, torch=True), predict(files, python=python))
    print(f"\n{version}: {result}")
    assert result.compared >= at_least, "too few files to say anything"
    assert not result.wrong, f"{len(result.wrong)} outcomes differ from the loader's"
    assert not result.text, f"{len(result.text)} are told in other words"


def test_the_same_objects_are_loaded(version: str) -> None:
    """Libraries of packages in loading order; modules of the standard library depend on other imports."""
    python = torch_python(version)
    environment = read_environment(str(python))
    torch = read_torch(find_torches(environment)[0], environment)
    assert torch.cuda is not None, f"{python} has a torch without CUDA"
    builder = build_process(LoaderSettings("/"), environment, torch)
    assert builder is not None
    modelled = [item.name for item in builder.build(modules=True).namespace][1:]
    real = loaded_objects(python, "torch")
    assert _of_packages(modelled, environment.prefix) == _of_packages(real, environment.prefix)
    assert _system_libraries(modelled, environment.prefix) == _system_libraries(real, environment.prefix)


def _of_packages(names: list[str], prefix: str) -> list[str]:
    return [os.path.realpath(name) for name in names if name.startswith(prefix)]


def _system_libraries(names: list[str], prefix: str) -> set[str]:
    """Without modules of the standard library: it does not matter which are imported, but what they need does."""
    return {os.path.realpath(name) for name in names if not name.startswith(prefix) and "/lib-dynload/" not in name}


def test_the_corpus(version: str) -> None:
    _judge(list(fetch.shared_objects(fetch.corpus_dir() / "unpacked")), version, 1000)


def test_the_environment_itself(version: str) -> None:
    """The libraries of torch, CUDA and Triton, each opened by its path."""
    site = Path(read_environment(str(torch_python(version))).site_packages[0])
    _judge(list(fetch.shared_objects(site)), version, 40)
