"""A package that ships several builds of a module: on which releases of torch it works, all of it together."""

from __future__ import annotations

from collections.abc import Iterable

from abiscan.model.finding import Severity
from abiscan.model.report import ArtifactReport
from abiscan.target.declared import without_build


def covered(members: Iterable[tuple[str, frozenset[str]]]) -> tuple[frozenset[str], bool]:
    """The releases on which a package works, and whether it ships builds for several releases to choose from: builds of
    one module that load on other releases than each other (`libx_torch24.so`, `libx_torch25.so`), or members that have
    no release in common. Else all must load.

    Args:
        members: the module that each is a build of (`without_build`), with the releases that it loads on: at least one.
    """
    builds: dict[str, set[frozenset[str]]] = {}
    for module, releases in members:
        builds.setdefault(module, set()).add(releases)
    if not builds:
        return frozenset(), False
    each = [frozenset[str]().union(*found) for found in builds.values()]
    together = frozenset.intersection(*each)
    return together or frozenset.union(*each), not together or any(len(found) > 1 for found in builds.values())


def verified_releases(members: Iterable[ArtifactReport]) -> frozenset[str] | None:
    """The releases that an advice may name: those on which one build of each module of a package loads, with the CUDA
    that the release's build ships and with the layouts that the file was compiled with: none where a member loads on
    no release. None where it is of no member known on which it loads."""
    modules: dict[str, set[str]] = {}
    known = False
    for member in members:
        if member.loads_on is not None and member.replaced_by is None:
            known = True
            wrong = {release for release, severity in member.drifting if severity is Severity.ERROR}
            module = without_build(member.member or member.path, member.provenance.cuda)
            modules.setdefault(module, set()).update(set(member.loads_on) - wrong)
    if not known:
        return None
    return frozenset(set.intersection(*modules.values())) if modules else frozenset()
