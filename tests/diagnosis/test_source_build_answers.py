"""Which installed torch is a source build. `data/source_builds.toml` has the answers for texts."""

from __future__ import annotations

import pytest

from abiscan.analysis.scan_options import ScanOptions
from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.other_builds import built_from_source
from abiscan.diagnosis.package_commands import install
from abiscan.diagnosis.reference import Reference, ReferringFile
from abiscan.loader import LoaderSettings
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.releases.index import ReleaseIndex

_OPTIONS = ScanOptions(None, None, LoaderSettings("/"))


@pytest.mark.parametrize(
    ("version", "variant", "expected"),
    [
        ("2.13.0a0", "cpu", True),
        ("2.13.0a0", "git7bcf7da", True),
        ("2.13.0", "cpu", False),
        ("2.14.0.dev20260101", "cu130", False),
        ("2.13.0a01", "cpu", False),
    ],
)
def test_the_version_of_version_txt_is_that_of_a_source_build(version: str, variant: str, expected: bool) -> None:
    """Oracle: setup.py and version.txt of torch 2.13.0: `2.13.0a0`, with or without a label."""
    torch = TorchBuild(TorchKind.INSTALLED, version, variant, None, None, True, "/v/torch", None)
    assert built_from_source(torch) is expected
    file = ReferringFile(distribution="torch-scatter")
    ways = install(packages_by_name()["torch-scatter"], MissingName(Reference(""), Knowledge(target=torch), file))
    assert not expected or ("--no-binary torch-scatter torch-scatter" in ways[0] and "data.pyg.org" not in ways[0])


def test_a_release_number_with_another_commit_is_a_source_build(index: ReleaseIndex) -> None:
    """Oracle: torch/version.py of each released wheel, in the index. PYTORCH_BUILD_VERSION sets the version."""
    (released,) = {build.git_revision for build in index.builds("x86_64") if build.torch == "2.13.0"}
    for commit, expected in ((released, False), ("7bcf7da3" * 5, True), ("Unknown", False), (None, False)):
        torch = TorchBuild(
            TorchKind.INSTALLED, "2.13.0", "cpu", None, None, True, "/v/torch", None, git_revision=commit
        )
        assert Knowledge(target=torch, releases=index).target_from_source is expected
        assert not Knowledge(target=torch).target_from_source
