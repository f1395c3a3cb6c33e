"""Which std::string the builds of a torch have, where the build that is loaded was not read."""

from __future__ import annotations

from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.other_builds import is_other_build
from abiscan.diagnosis.release_position import Position


def is_stated_unlike_release(missing: MissingName) -> bool:
    """Whether a text or `--torch` names a build of torch that has another std::string than the builds of its release on
    the package index: `2.6.0+cu126`. The torch that is loaded may be one of those."""
    named = bool(missing.log.torch) or missing.knowledge.labelled
    return named and not missing.knowledge.exact and is_unlike_its_release(missing)


def is_unlike_its_release(missing: MissingName) -> bool:
    """Whether the target is known to have a string ABI that no build of its version on the package index has."""
    target = missing.target
    if target is None or target.cxx11_abi is None:
        return False
    abis = {build.cxx11_abi for build in missing.knowledge.released_builds(target.version)}
    return bool(abis) and target.cxx11_abi not in abis


def may_be_another_build(missing: MissingName, mine: str) -> bool:
    """Whether the release of the target's version exports a symbol with the old ABI, and the build itself was not
    read."""
    unread = not missing.knowledge.exact and missing.reference.status is None
    is_release = not missing.knowledge.target_from_source  # the ABI of a source build is from its text
    return mine == "old" and unread and is_release and missing.position is Position.INSIDE


def last_release_with_old_string(missing: MissingName) -> str:
    """The last release on the package index with the old string ABI, of the known builds."""
    releases = missing.knowledge.releases
    builds = () if releases is None else releases.builds(missing.knowledge.machine)
    return next((build.torch for build in reversed(builds) if build.cxx11_abi is False and not build.user), "")


def is_before_new_string(missing: MissingName) -> bool:
    """Whether the target is a release before the index; all of these have the old string ABI on the package index."""
    return (
        missing.target is not None and missing.knowledge.target_is_before_index and not is_other_build(missing.target)
    )


def may_have_new_string(missing: MissingName) -> bool:
    """Whether the target is a source build with unknown string ABI."""
    return missing.knowledge.target_cxx11_abi is None and missing.knowledge.target_from_source
