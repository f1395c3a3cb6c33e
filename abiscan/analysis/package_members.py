"""The shared objects of one package, as evidence for each of them: a package is made for one torch."""

from __future__ import annotations

import functools
from itertools import islice
from typing import TYPE_CHECKING

from abiscan.errors import AbiscanError
from abiscan.model.facts import SymbolBinding
from abiscan.model.imports import Owner
from abiscan.model.limits import MIB
from abiscan.model.report import ArtifactKind
from abiscan.ownership.names import owner_of
from abiscan.target.build_names import release_in_name
from abiscan.wheel.container_facts import ContainerKind

if TYPE_CHECKING:
    from abiscan.inputs.artifact import Artifact, Group
    from abiscan.releases import ReleaseIndex
    from abiscan.releases.assertions import Assertion
    from abiscan.releases.layout_table import LayoutTable
    from abiscan.rules.computed.layout_drift import CompiledAgainst

# Number of members that are considered: a few identify the release, and a package may have thousands.
_MEMBERS = 24
# Total size in bytes of the other members that texts are read of.
_MOST_READ = 32 * MIB
_PACKAGES = frozenset((ContainerKind.WHEEL, ContainerKind.CONDA, ContainerKind.INSTALLED))


def _members_of(group: Group) -> list[Artifact] | None:
    """The first shared objects of a package, without those that are named after a release. None if the files are not a
    package."""
    if group.facts.kind not in _PACKAGES:
        return None
    objects = (a for a in group if a.kind is ArtifactKind.SHARED_OBJECT and release_in_name(a.package_path) is None)
    return list(islice(objects, _MEMBERS))


# The files of a package are scanned one after the other: the last result is enough, here and below.
@functools.lru_cache(maxsize=1)
def exported_to_all(group: Group, index: ReleaseIndex, machine: str) -> tuple[str, ...]:
    """The releases that export every torch import of all files of a package. Empty if there is none, and for files that
    are not a package or are made for different releases."""
    members = _members_of(group)
    if members is None:
        return ()
    builds = index.builds(machine)
    mask = (1 << len(builds)) - 1
    for artifact in members:
        try:
            binary = artifact.open_tables()
            names = [
                each.name
                for each in binary.imports
                if each.binding is not SymbolBinding.WEAK and owner_of(each.name) is Owner.TORCH
            ]
        except AbiscanError:
            continue  # What cannot be read is reported by its own scan.
        if binary.machine == machine:
            # A name that no release exports is exported by another member.
            for history in index.lookup(names, machine).values():
                mask &= history.mask
    return tuple(dict.fromkeys(build.torch for at, build in enumerate(builds) if mask >> at & 1))


@functools.lru_cache(maxsize=1)
def asserted_beside(group: Group, table: LayoutTable, machine: str) -> CompiledAgainst | None:
    """The releases with all assertions of the files of a package in their headers. None as in `headers_of`, and for
    files that are not a package."""
    from abiscan.analysis.compiled_against import headers_of
    from abiscan.releases.assertions import MARK, assertions_in

    members = _members_of(group)
    if members is None:
        return None
    found: list[Assertion] = []
    left = _MOST_READ
    for artifact in sorted(members, key=lambda each: each.size):
        left -= artifact.size
        if left < 0:
            break
        try:
            binary = artifact.open()
            if binary.machine == machine and any(owner_of(each.name) is Owner.TORCH for each in binary.imports):
                found += assertions_in(binary.strings_with(MARK))
        except AbiscanError:
            continue  # What cannot be read is reported by its own scan.
    return headers_of(found, table, who="a file of its package")
