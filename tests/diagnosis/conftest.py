"""The shipped release index, and `Knowledge` of a released build from it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.releases import ReleaseIndex, open_index
from abiscan.releases.exports import ReleasedExports


@pytest.fixture(scope="session")
def index() -> ReleaseIndex:
    """The index of the package."""
    return open_index(earlier=True)


@pytest.fixture(scope="session")
def nothing(index: ReleaseIndex) -> Knowledge:
    """The index without a torch."""
    return Knowledge(releases=index)


@pytest.fixture(scope="session")
def released(index: ReleaseIndex) -> Callable[[str], Knowledge]:
    """Knowledge of a released build, by version."""

    def make(version: str) -> Knowledge:
        build = index.resolve(version)
        target = TorchBuild(
            TorchKind.RELEASE,
            build.torch,
            build.variant,
            build.cuda,
            build.hip,
            build.cxx11_abi,
            None,
            None,
            build.machine,
        )
        return Knowledge(target=target, exports=ReleasedExports(index, build), releases=index)

    return make
