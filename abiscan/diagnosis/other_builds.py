"""Builds of torch that are not releases on the package index: from source, of a container, nightlies."""

from __future__ import annotations

import re
from typing import Final

from abiscan.model import versions
from abiscan.model.target import TorchBuild

SOURCE_BUILD: Final = "source build"
"""The variant of a torch source build whose version has the number of a release."""
_PACKAGED: Final = r"(?:conda-forge|distribution|container) build"


def packaged_build(packager: str) -> str:
    """The same of a torch of conda-forge, a distribution or a container of NVIDIA, which has no wheels on the pages of
    extensions either."""
    return f"{packager} build"


# Local version labels and pre-releases: NVIDIA containers (`2.2.0a0+81ea7a4`, `+nv24.1`), source builds
# (`+git1234567`), nightlies.
_OTHER_BUILD = rf"(?i)\d(?:a|b|rc)\d|dev\d|nv\d|git(?:[0-9a-f]{{6,}}|unknown)|{SOURCE_BUILD}|{_PACKAGED}"
# Variants of releases, without their digits.
_OF_RELEASES = frozenset(("cpu", "cu", "rocm", "xpu"))
# setup.py of torch: version.txt has `2.1.0a0`. Without PYTORCH_BUILD_VERSION it adds the commit, or `gitUnknown`
# without git, or nothing. The label of an installed torch may be missing here.
_FROM_SOURCE = rf"(?i)\d\.\d+a0(?!\d)|\+git(?:[0-9a-f]{{6,40}}|unknown)|\+(?:{SOURCE_BUILD}|{_PACKAGED})"


def is_other_build(target: TorchBuild) -> bool:
    """Whether the version is that of no release."""
    if not versions.is_release(target.version):
        return True
    if _is_named_as_release(target):
        return False
    return re.search(_OTHER_BUILD, f"{target.version}+{target.variant}") is not None


def _is_named_as_release(target: TorchBuild) -> bool:
    return target.version.replace(".", "").isdigit() and (target.variant or "").rstrip("0123456789.") in _OF_RELEASES


def is_packaged(target: TorchBuild) -> bool:
    """Whether it is the torch of conda-forge, a distribution or a container of NVIDIA."""
    return re.fullmatch(_PACKAGED, target.variant) is not None


def built_from_source(target: TorchBuild, released: str | None = None) -> bool:
    """Whether only a build from a checkout has such a version or, with PYTORCH_BUILD_VERSION, such a commit.

    Args:
        released: commit of the released builds of this version, if known.
    """
    if not _is_named_as_release(target) and re.search(_FROM_SOURCE, f"{target.version}+{target.variant}"):
        return True
    commit = target.git_revision or ""
    return released is not None and commit != released and re.fullmatch(r"[0-9a-f]{40}", commit) is not None
